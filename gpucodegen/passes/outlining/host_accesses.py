"""Loops of a host program that access device memory element by element.

Each such load or store is a transfer of its own between host and device.  A loop that
launches a kernel in each iteration may read a number that decides on the next one, so
accesses beside a launch are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen.ir.attributes import SymbolRefAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.work import HostLoop, host_loop
from gpucodegen.passes.outlining.cpu_outliner import (
    has_dynamic_allocation,
    needs_host,
)
from gpucodegen.records import dataclass

LOADS = frozenset({"affine.load", "memref.load"})
STORES = frozenset({"affine.store", "memref.store"})
LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for", "scf.while"})


@dataclass(frozen=True, slots=True)
class ElementAccesses:
    """An outermost loop of the host, and its loads and stores of single elements.

    ``arrays`` are the names of their buffers.  ``keeper``: the operation that keeps the
    loop on the host, or the function that it calls.
    """

    loop: HostLoop
    loads: int
    stores: int
    arrays: tuple[str, ...]
    keeper: str

    @property
    def action(self) -> str:
        """The accesses in words.

        >>> from gpucodegen.ir.locations import UNKNOWN
        >>> ElementAccesses(("i", UNKNOWN), 1, 0, ("A",), "").action
        'loads single elements of A'
        """
        verbs = [("loads", self.loads), ("stores", self.stores)]
        doing = " and ".join(verb for verb, count in verbs if count)
        return f"{doing} single elements of {', '.join(self.arrays)}"

    @property
    def reason(self) -> str:
        """The operation that keeps the loop on the host, in words."""
        if self.keeper:
            return f"'{self.keeper}' in it runs on the host"
        return "it has branches or values that kernels do not have"


def element_accesses(function: Operation) -> Iterator[ElementAccesses]:
    """The loops of a mapped function that access memory element by element."""
    yield from _within(function.nested)


def _within(operations: Sequence[Operation]) -> Iterator[ElementAccesses]:
    for op in operations:
        if op.name in LOOPS:
            found = list(_accesses(op))
            if found:
                yield _summary(op, found)
            continue
        yield from _within(op.nested)


def _accesses(loop: Operation) -> Iterator[Operation]:
    """Accesses whose innermost loop launches no kernel."""
    inner: list[Operation] = []
    own: list[Operation] = []
    launches = False
    stack = [*loop.nested]
    while stack:
        op = stack.pop(0)
        if op.name in LOOPS:
            inner.append(op)
            continue
        launches |= op.name == "gpu.launch_func"
        if op.name in LOADS or op.name in STORES:
            own.append(op)
        stack[:0] = op.nested
    if not launches:
        yield from own
    for nested in inner:
        yield from _accesses(nested)


def _summary(loop: Operation, accesses: Sequence[Operation]) -> ElementAccesses:
    loads = sum(op.name in LOADS for op in accesses)
    buffers = [op.operands[op.name in STORES] for op in accesses]
    names = dict.fromkeys(buffer.name or "a buffer" for buffer in buffers)
    keepers = (_named(o) for o in loop.walk() if needs_host(o) or _is_dynamic(o))
    count = len(accesses) - loads
    given = host_loop(loop), loads, count, tuple(names)
    return ElementAccesses(*given, next(keepers, ""))


def _is_dynamic(op: Operation) -> bool:
    return not op.regions and has_dynamic_allocation(op)


def _named(op: Operation) -> str:
    """The callee of a call, else the operation's name."""
    callee = op.attributes.get("callee")
    return callee.path[-1] if isinstance(callee, SymbolRefAttr) else op.name
