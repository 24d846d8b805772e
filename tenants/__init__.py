"""Who is asking, and the one door to what belongs to a tenant."""
