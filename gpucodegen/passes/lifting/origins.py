"""Which buffers a memref may show cells of, wherever it is made.

Comes in: functions. Goes out: per memref that is neither allocated nor an argument,
those that it is made of. Code that is lifted alone, such as a nest of one block, finds
there what it cannot see: views, choices and calls in other blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpucodegen.dialects.allocations import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.lifting.accesses import is_memref
from gpucodegen.passes.lifting.choices import chosen, given

Origins = Mapping[Value, frozenset[Value]]


def origins(functions: Iterable[Operation]) -> Origins:
    """The memrefs that each one is made of; a call may result in any global."""
    found: dict[Value, frozenset[Value]] = {}
    globals_: dict[str, Value] = {}
    called: list[Value] = []
    for op in (op for function in functions for op in function.walk()):
        made = list(filter(is_memref, op.results))
        if op.name == "memref.get_global":
            first = globals_.setdefault(str(op.attributes.get("name")), op.result)
            found[op.result] = frozenset({first})
        elif made and op.name not in ALLOCATIONS:
            found.update(dict.fromkeys(made, frozenset(filter(is_memref, op.operands))))
            called += made if op.name == "func.call" else []
        found.update(dict.fromkeys(chosen(op), frozenset(filter(is_memref, given(op)))))
    anything = frozenset(globals_.values())
    return {**found, **{value: found[value] | anything for value in called}}


def behind(value: Value, known: Origins) -> set[Value]:
    """A memref with all that it is made of.

    >>> from gpucodegen.ir.types import F32, MemRefType
    >>> base, view, part = (Value(MemRefType((8,), F32), name) for name in "abc")
    >>> found = behind(part, {view: frozenset({base}), part: frozenset({view})})
    >>> sorted(v.name for v in found)
    ['a', 'b', 'c']
    """
    reached, open_ = {value}, [value]
    while open_:
        new = known.get(open_.pop(), frozenset()) - reached
        reached |= new
        open_ += new
    return reached
