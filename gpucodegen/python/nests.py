"""Loops over the elements of an array, for results that no expression describes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.ir.operation import Value, single_block
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.arrays import Extents
from gpucodegen.python.range_checks import Block
from gpucodegen.python.range_flags import after_loop, before_loop
from gpucodegen.python.scalars import NATURAL, Scalar, known

Body = Callable[[OperationList, Sequence[Scalar]], None]
Counting = Callable[[OperationList, Sequence[Scalar], Scalar], Scalar]


def nest(
    b: OperationList, extents: Extents, body: Body, first: Sequence[Scalar] = ()
) -> None:
    """``scf.for`` loops over all positions; ``first``: where each loop starts."""

    def counting(inner: OperationList, at: Sequence[Scalar], count: Scalar) -> Scalar:
        body(inner, at)
        return count

    starts = list(first) or [known(0)] * len(extents)
    _loops(b, list(zip(starts, extents, strict=True)), [], None, counting)


def counted(b: OperationList, extents: Extents, body: Counting) -> Scalar:
    """As `nest`, in order and with a number that each position hands to the next."""
    ends = [(known(0), extent) for extent in extents]
    found = _loops(b, ends, [], known(0), body)
    assert found is not None
    return found


def _loops(
    b: OperationList,
    ends: Sequence[tuple[Scalar, Scalar]],
    at: Sequence[Scalar],
    count: Scalar | None,
    body: Counting,
) -> Scalar | None:
    if not ends:
        found = body(b, at, known(0) if count is None else count)
        return None if count is None else found
    first, last = ends[0]
    bounds = [first.ssa(b), last.ssa(b), known(1).ssa(b)]
    iv = Value(INDEX, "i", b.location)
    passed = [] if count is None else [count.ssa(b)]
    own = [Value(INDEX, "count", b.location) for _ in passed]
    inner = Block(b.location, outer=b, role="loop", variable=iv, own=(iv, *own))
    inner.ends = first, last, known(1)
    inside = Scalar(int, own[0], limits=NATURAL) if own else None
    here = Scalar(int, iv, limits=NATURAL)
    found = _loops(inner, ends[1:], [*at, here], inside, body)
    inner.add("scf.yield", [] if found is None else [found.ssa(inner)])
    flags = before_loop(b, inner)
    region = single_block(inner.operations, (iv, *own))
    made = b.add("scf.for", (*bounds, *passed), [INDEX for _ in passed], {}, [region])
    after_loop(b, flags)
    return Scalar(int, made[0], limits=NATURAL) if made else None
