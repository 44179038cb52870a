"""Framework for operation tables: syntax, constraints, attribute kinds, printing."""
