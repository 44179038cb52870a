"""What enters and leaves a program: numbers and buffers only.

- `carriers`: vectors and tensors in buffers, and back
- `outside_calls`: what prints, checks or is run by a function of the caller
"""

from __future__ import annotations
