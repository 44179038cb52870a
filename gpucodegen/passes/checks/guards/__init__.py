"""Checks of the accesses that are not proven to stay inside their buffers.

- `conditions`: conditions on index values
- `leaves`: whether an operation leaves its buffer
- `views`: whether a view does
- `checks`: what becomes of such an access
- `guard`: guards around accesses
- `shapes`: extents on which operations must agree
- `loop_steps`: steps of loops that must be positive
"""
