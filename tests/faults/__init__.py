"""Everything is killed while people write: nothing is lost, and nothing happens twice."""
