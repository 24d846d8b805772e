"""The machine's side of conflicts: judging what may disagree, and sweeping for it."""
