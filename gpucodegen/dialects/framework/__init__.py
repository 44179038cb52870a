"""How operations are defined: syntax, constraints, kinds of attributes, printing."""
