"""Reference interpreter: executes a module as written, one operation at a time.

It shares no code with the code generator's lowering, so it serves as the oracle of
tests.
"""
