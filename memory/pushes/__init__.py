"""Pushes to a repository, taken as changes at the subjects of the files in them."""
