"""The people's side of conflicts: what waits for a decision, and how it is decided."""
