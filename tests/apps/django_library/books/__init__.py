"""Books and who has borrowed them."""
