"""What happens when one memory takes another's place."""
