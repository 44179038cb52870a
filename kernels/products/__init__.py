"""Matrix products, Einstein summation and attention."""
