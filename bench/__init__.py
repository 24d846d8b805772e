"""Programs that measure, each against a floor of its own, in the same run."""
