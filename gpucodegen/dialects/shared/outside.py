"""Operations that something outside of the program runs: they happen in its order.

What prints or ends a call, and what this package does not know: the functions of a
caller run it.  Such operations need the host, and keep their places among each other.
"""

from __future__ import annotations

from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.operation import Operation

CALLS = frozenset({"func.call", "func.call_indirect"})
"""Operations that do what another function does, which may lie outside too."""
_NAMES = frozenset({"cf.assert", "gcg.handle", "gpu.printf", "vector.print"})
_DIALECTS = frozenset({"check"})


def runs_outside(op: Operation) -> bool:
    """Whether the operation is run by a function that is no part of the program.

    >>> [runs_outside(Operation(n)) for n in ("vector.print", "my.op", "arith.addi")]
    [True, True, False]
    """
    return op.name in _NAMES or op.dialect in _DIALECTS or lookup(op.name) is None
