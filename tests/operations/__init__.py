"""One smallest example for every operation, and where it runs: docs/operations.md.

- `texts/`: the examples, one file for each dialect
- `examples`: reading them, and those that the tables of scalars and linalg give
- `arguments`: numbers for their functions
- `execution`: what happens to one on a target
- `outcomes.txt`: what did not run when all were run last; all else runs
- `reasons.txt`: why
- `page`: docs/operations.md from all this

``python -m tests.operations`` runs every example, and writes the table and the page.

A chunk of ``texts/`` begins with the operations that it shows::

    // ----- math.sin math.cos
    (%x: memref<4xf32>) -> f32
    %r = $op %y : f32

Without ``func.func`` it is the body of a function whose signature its first line is,
and ``%r``, ``%s`` are what that returns; ``$op`` stands for each of the names in turn,
and ``$name`` for what follows its dialect.
"""

from __future__ import annotations
