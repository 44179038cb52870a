"""What programs call that they do not define, as MLIR's runner offers it.

- `given`: the operands of one call
- `printing`: values as text, in the format of MLIR's runner
- `prints`: operations and functions that print
- `checks`: operations that compare, and end the call where something is wrong
- `routines`: all of these by name, clocks too
"""
