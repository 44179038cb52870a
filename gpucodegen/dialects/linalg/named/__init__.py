"""The named structured operations: maps, loops and scalar bodies, as tables.

- `bodies`: scalar bodies
- `tables`: all operations, as one table
- `definitions`: maps, loops and body of each
- `winograd`: the matrices of its convolutions
"""

from __future__ import annotations
