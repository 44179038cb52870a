"""``min`` and ``max`` of integers as instructions.

Numba's own are Python functions: each kernel that has one compiles it first, through
all passes of Numba and of LLVM.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from numba.core import imputils, types, typing
from numba.core.typing import templates

CODE: Any = imputils.Registry("extremes")
TYPES: Any = templates.Registry()


def provide(target: str) -> None:
    """Let a target of Numba's prefer these."""
    for function, relation in ((min, "<"), (max, ">")):
        _type(function, target)
        _build(function, relation)


def _type(function: Any, target: str) -> None:
    class Extreme(templates.AbstractTemplate):
        key = function
        metadata = {"target": target}  # noqa: RUF012 - Numba reads it from the class

        def generic(self, args: Any, kws: Any) -> Any:
            if kws or len(args) < 2 or any(arg != types.int64 for arg in args):
                return None
            return typing.signature(types.int64, *args)

    TYPES.register_global(function)(Extreme)


def _build(function: Any, relation: str) -> None:
    @CODE.lower(function, types.VarArg(types.int64))
    def extreme(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        def better(first: Any, second: Any) -> Any:
            chosen = builder.icmp_signed(relation, second, first)
            return builder.select(chosen, second, first)

        return reduce(better, args)
