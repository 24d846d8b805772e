"""How far a memory can be relied on, derived from stored facts."""
