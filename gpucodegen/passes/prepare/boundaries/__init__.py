"""What enters and leaves a program: numbers and buffers only.

- `carriers`: vectors and tensors in buffers, and back
- `outside_calls`: what prints, checks or is run by a function of the caller
- `vector_signatures`: functions that take or return vectors
"""

from __future__ import annotations
