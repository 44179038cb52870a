"""From the syntax tree of a function to operations.

- `ways`: jumps written as branches
- `liveness`: which variables are read later
- `context`: variables, the open block, errors at a line
- `indexing`: subscripts, read and written
- `operators`: operators, and the truth of numbers
- `functions`: functions of NumPy, of ``math`` and of Python, a row each
- `calls`: what is called, with which arguments
- `expressions`: the value of an expression
- `joins`: values of a variable that meet
- `statements`: assignments and branches
- `loops`: loops
- `units`: a function with those that it calls, as a module
"""
