"""The agents' door: the same operations over the Model Context Protocol, a process of its own."""
