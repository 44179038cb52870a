"""Sparse literals: the indices lie inside the shape, and each has a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.ir.types import TensorType, VectorType
from gpucodegen.parser.dense import Item, parse_literal

if TYPE_CHECKING:
    from gpucodegen.parser.parser import Parser


def check_sparse(p: Parser) -> None:
    """Read ``sparse<indices, values> : type``; older orders are not looked at."""
    p.advance()
    p.expect("<")
    if p.token in ("tensor", "vector", ">"):
        return
    indices: list[Item] = []
    index_start, index_shape = p.start, parse_literal(p, indices)
    p.expect(",")
    value_start, value_shape = p.start, parse_literal(p, [])
    p.close("<", ">")
    p.expect(":")
    shape = _static_shape(p)
    count = index_shape[0] if index_shape else 1
    if value_shape not in ((), (count,)):
        raise _wrong(p, value_start, f"there are not {count} values for {count} places")
    if index_shape[1:] not in ((), (len(shape),)):
        raise _wrong(p, index_start, f"each place needs {len(shape)} indices")
    _check_inside(p, indices, shape)


def _static_shape(p: Parser) -> tuple[int, ...]:
    start = p.start
    ty = p.type()
    if isinstance(ty, TensorType | VectorType) and None not in ty.shape:
        return tuple(extent or 0 for extent in ty.shape)
    raise _wrong(p, start, f"{ty} is not a vector or tensor of static shape")


def _check_inside(p: Parser, indices: list[Item], shape: tuple[int, ...]) -> None:
    for i, (text, start) in enumerate(indices):
        extent = shape[i % len(shape)] if shape else 1
        if not text.isdigit() or not int(text) < extent:
            raise _wrong(p, start, f"index {text} is outside [0, {extent})")


def _wrong(p: Parser, start: int, problem: str) -> errors.ParseError:
    return errors.InvalidAttribute(
        p.location(start),
        problem=problem,
        hint="Write sparse<[[0, 1], [2, 3]], [1, 2]> : tensor<3x4xi32>",
    )
