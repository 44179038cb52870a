"""Translation of PTX instructions to Python text, one module per kind."""
