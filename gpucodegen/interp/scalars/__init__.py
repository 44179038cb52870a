"""Numbers: arith, index, math and complex, on scalars and on each element of arrays."""

from __future__ import annotations
