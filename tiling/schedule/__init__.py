"""New orders of a nest, and the loops that run them."""
