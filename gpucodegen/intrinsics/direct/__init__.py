"""Repeated calls of a kernel as machine code, which reads the arrays itself.

`layout` says what lies where in a record of a call and in the objects of Python and
NumPy, `python` are the functions of the interpreter, `launch` is the call.
"""
