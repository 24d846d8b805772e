"""What the judge without a model goes by: words, frames, and nothing that learns."""
