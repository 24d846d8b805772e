"""How the product is put together and run."""
