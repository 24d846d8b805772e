"""A tenant to try things with, and the story that `make demo` tells."""
