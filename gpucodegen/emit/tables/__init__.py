"""Tables of handlers: the Python text of each operation."""
