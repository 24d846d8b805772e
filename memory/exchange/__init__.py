"""Bringing in what agents and teams already know, and taking out what is in sight."""
