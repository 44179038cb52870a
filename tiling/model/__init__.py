"""The polyhedral model: statements, domains and access relations in isl."""
