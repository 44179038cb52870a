"""Repeated calls of a kernel as machine code, which reads the arrays itself.

- `layout`: where a call's record and Python's objects keep things
- `python`: what a call needs of the interpreter
- `launch`: the call
"""
