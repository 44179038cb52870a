"""Instructions as Python text: one table or file per kind of instruction."""
