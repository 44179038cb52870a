"""What is wrong with a program, or with a mapping of it: errors and warnings.

- `access_checks`: Whether a single operation leaves a buffer, from the values it is
  given
- `bounds`: Accesses of every function against the bounds of their buffers
- `buffers`: Accesses that leave their buffer: an error where proven, a warning where
  possible
- `guard_conditions`: Conditions on index values as ``arith`` operations, true where
  an access leaves
- `loop_steps`: Loops whose step is known only at run time: a step that is not
  positive is an error
- `races`: The race proof of every kernel of a module
- `shapes`: Extents that only a call knows, where the program says that they agree
- `supported`: Refuses exchanges of a warp that read lanes which take no part, as
  constants tell
"""

from __future__ import annotations
