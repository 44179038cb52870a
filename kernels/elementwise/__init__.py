"""Elementwise work, and arrays in another order.

- `functions`: what expressions may call
- `expressions`: their grammar
- `fused`: one kernel for an expression
- `movement`: transposes and copies
"""

from __future__ import annotations
