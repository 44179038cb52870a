"""What a host program calls: buffers, launches, transfers.

- `spec`: what emission tells of a kernel
- `scalars`: numbers of Python and NumPy
- `parameters`: what a function says of its arguments
- `buffers`: arrays of any library, checked
- `workspace`: memory that is used again
- `engines`: what is asked of a target
- `transfers`: asynchronous copies
- `views`: extents, strides and views of buffers
- `modules`: generated text as a module
- `host`: what a host program calls
- `loader`: an emitted program made callable
- `collection`: garbage collected after a compilation
"""

from __future__ import annotations
