"""Finding memories: by meaning, by words, by likeness to a new one."""
