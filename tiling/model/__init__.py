"""The polyhedral model: a program part as integer relations, on isl."""
