"""One host function as source.

- `context`: the state of emission, and the tuples of calls
- `callbacks`: operations that the caller's functions run
- `guards`: what is told of accesses that would leave their buffer
- `memory`: allocation, single elements, transfers
- `views`: other shapes over the same memory
- `launch`: a function that is one launch, stated
- `host`: one function
"""

from __future__ import annotations
