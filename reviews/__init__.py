"""Reviews: conflicts as people look at them."""
