"""Whole days, as agents and people live them."""
