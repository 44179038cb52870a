"""Which buffers a memref may show cells of, wherever it is made.

Comes in: functions. Goes out: per memref that is neither allocated nor an argument,
those that it is made of. Code that is lifted alone, such as a nest of one block, finds
there what it cannot see: views, choices and calls in other blocks.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from gpucodegen.dialects.func import named_function
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.values.accesses import is_memref
from gpucodegen.passes.analysis.lifting.values.choices import chosen, given
from gpucodegen.passes.analysis.lifting.values.views import VIEWS

Origins = Mapping[Value, frozenset[Value]]


def origins(functions: Iterable[Operation], defined: Container[str]) -> Origins:
    """The memrefs that each one is made of.

    A call of a ``defined`` function may result in any buffer that the caller has, or
    that a call was given.  What handlers return, which run other functions and
    operations of other dialects, is copied to a buffer of its own.

    >>> from gpucodegen.ir.attributes import SymbolRefAttr
    >>> from gpucodegen.ir.operation import single_block
    >>> from gpucodegen.ir.types import F32, MemRefType
    >>> one, other, own = (Value(MemRefType((8,), F32), name) for name in "abc")
    >>> callee = {"callee": SymbolRefAttr(("make",))}
    >>> body = [Operation("func.call", (), (v,), callee) for v in (one, other)]
    >>> body += [Operation("my.make", (one,), (own,))]
    >>> function = Operation("func.func", regions=(single_block(body),))
    >>> found = origins([function], {"make"})
    >>> found[one] == found[other] == {one, other}, own in found
    (True, False)
    """
    found: dict[Value, frozenset[Value]] = {}
    globals_: dict[str, Value] = {}
    unknown: list[Value] = []
    shared: set[Value] = set()
    for op in (op for function in functions for op in function.walk()):
        made = list(filter(is_memref, op.results))
        if op.name == "memref.get_global":
            first = globals_.setdefault(str(op.attributes.get("name")), op.result)
            found[op.result] = frozenset({first})
        elif op.name == "func.func":
            shared.update(_entered(op))
        elif op.name == "func.call" and named_function(op) in defined:
            shared.update(filter(is_memref, op.operands))
            unknown += made
        elif op.name in VIEWS:
            found |= _made_of(made, op.operands)
        found |= _made_of(chosen(op), given(op))
    anything = frozenset({*unknown, *globals_.values(), *shared})
    return {**found, **dict.fromkeys(unknown, anything)}


def _made_of(made: Iterable[Value], parts: Iterable[Value]) -> Origins:
    """The parts of memrefs; one that is made of none is a buffer of its own."""
    buffers = frozenset(filter(is_memref, parts))
    return dict.fromkeys(made, buffers) if buffers else {}


def _entered(function: Operation) -> Iterator[Value]:
    """The buffers that a function is called with."""
    for block in function.regions[0].blocks[:1] if function.regions else ():
        yield from filter(is_memref, block.arguments)


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
