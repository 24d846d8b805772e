"""What is remembered: writing, finding, superseding, restoring."""
