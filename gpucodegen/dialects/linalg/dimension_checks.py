"""Rules of linalg.map, reduce, transpose, broadcast and index."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.linalg.checks import check_body, check_results
from gpucodegen.dialects.linalg.named.definitions import numbers
from gpucodegen.dialects.linalg.shapes import fail, shape_of
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type


def check_map(o: Operation) -> None:
    """All operands have the shape of the output."""
    check_results(o, 1)
    check_body(o, 1)
    shape = shape_of(o.operands[-1])
    for position, value in enumerate(o.operands[:-1]):
        if shape_of(value) != shape:
            raise fail(
                o,
                f"input {position} has type {value.type},"
                f" the output {o.operands[-1].type}",
                "Give all operands one shape",
            )


def check_reduce(o: Operation) -> None:
    """Outputs have the dimensions of the inputs that are not reduced."""
    half = len(o.operands) // 2
    if not half or len(o.operands) != 2 * half:
        raise fail(o, f"takes {len(o.operands)} operands", "Pass one output per input")
    check_results(o, half)
    for group in (o.operands[:half], o.operands[half:]):
        if len({shape_of(v) for v in group}) != 1:
            raise fail(
                o, "inputs or outputs differ in shape", "Give each group one shape"
            )
    shape = shape_of(o.operands[0])
    reduced = numbers(o, "dimensions")
    if list(reduced) != sorted(set(reduced)):
        raise fail(
            o, f"dimensions = {list(reduced)} do not ascend", "Sort the dimensions"
        )
    _check_range(o, "dimensions", len(shape))
    kept = tuple(e for i, e in enumerate(shape) if i not in reduced)
    if kept != shape_of(o.operands[half]):
        raise fail(
            o,
            f"leaves extents {_text(kept)},"
            f" but the output has {_text(shape_of(o.operands[half]))}",
            "Give the output the dimensions that are not reduced",
        )
    check_body(o, half)


def _check_range(o: Operation, name: str, rank: int) -> None:
    for entry in numbers(o, name):
        if not 0 <= entry < rank:
            raise errors.OutOfRange(
                o.location, operation=o.name, what=name, value=entry, limit=rank
            )


def _text(shape: tuple[int | None, ...]) -> str:
    return f"[{', '.join('?' if e is None else str(e) for e in shape)}]"


def check_transpose(o: Operation) -> None:
    """``output[i] = input[permutation[i]]``, extents alike."""
    _check_copy(o)
    shape, output = (shape_of(v) for v in o.operands)
    order = numbers(o, "permutation")
    if sorted(order) != list(range(len(shape))):
        raise fail(
            o,
            f"{list(order)} is no permutation of {len(shape)} dimensions",
            "Name every dimension of the input once",
        )
    expected = tuple(shape[i] for i in order)
    if expected != output:
        raise fail(
            o,
            f"gives extents {_text(expected)}, but the output has {_text(output)}",
            "Permute the extents of the output in the same way",
        )


def check_broadcast(o: Operation) -> None:
    """The output without the added dimensions has the shape of the input."""
    _check_copy(o)
    shape, output = (shape_of(v) for v in o.operands)
    added = numbers(o, "dimensions")
    if len(shape) + len(added) != len(output):
        raise fail(
            o,
            f"adds {len(added)} dimensions to rank {len(shape)},"
            f" but the output has rank {len(output)}",
            "Name every dimension of the output that the input does not have",
        )
    _check_range(o, "dimensions", len(output))
    kept = tuple(e for i, e in enumerate(output) if i not in added)
    if kept != shape:
        raise fail(
            o,
            f"keeps extents {_text(kept)}, but the input has {_text(shape)}",
            "Make the shapes agree",
        )


def _check_copy(o: Operation) -> None:
    check_results(o, 1)
    first, last = (element_type(v.type) for v in o.operands)
    if first != last:
        raise fail(
            o, f"copies {first} to {last}", "Use one element type for both operands"
        )


def check_index(o: Operation) -> None:
    """The dimension is not negative."""
    value = o.integer("dim")
    if value < 0:
        raise errors.OutOfRange(
            o.location, operation=o.name, what="dimension", value=value, limit="rank"
        )
