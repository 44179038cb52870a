"""Rules of the matrices of a subgroup: their roles and extents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.vector.memory.checks import has_unit_stride
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import F16, F32, F64, FloatType, IntegerType, MemRefType, Type

_TEXT = re.compile(r'gpu\.mma_matrix<\s*(\d+)x(\d+)x(\w+)\s*,\s*"(\w+)"\s*>')
_FLOATS = {ty.name: ty for ty in (F16, F32, F64)}


class Matrix(NamedTuple):
    """``!gpu.mma_matrix<16x8xf16, "AOp">``."""

    rows: int
    columns: int
    element: str
    role: str


def matrix(ty: Type) -> Matrix:
    """The parts of a matrix type."""
    match = _TEXT.fullmatch(str(ty).removeprefix("!"))
    if match is None:
        return Matrix(0, 0, "", "")
    return Matrix(int(match[1]), int(match[2]), match[3], match[4])


def element(types: Types, attributes: Mapping[str, Attribute]) -> Sequence[Type] | None:
    """The element of the matrix ``res``."""
    del attributes
    known = types.get("res")
    name = matrix(known[0]).element if known else ""
    if name[:1] == "f":
        return [_FLOATS.get(name, FloatType(name))]
    sign, _, width = name.rpartition("i")
    return [IntegerType(int(width), sign)] if width.isdigit() else None


def check_load(o: Operation) -> None:
    """What is loaded is a factor or an accumulator."""
    _check_adjacent(o, o.operands[0].type)
    _check_role(o, o.results[0].type, ("AOp", "BOp", "COp"))


def check_store(o: Operation) -> None:
    """What is stored is an accumulator."""
    _check_adjacent(o, o.operands[1].type)
    _check_role(o, o.operands[0].type, ("COp",))


def _check_adjacent(o: Operation, ty: Type) -> None:
    if isinstance(ty, MemRefType):
        require(
            has_unit_stride(ty),
            o,
            f"the elements of a row of {ty} are not adjacent",
            "Use a memref whose last stride is 1",
        )


def _check_role(o: Operation, ty: Type, roles: Sequence[str]) -> None:
    require(
        matrix(ty).role in roles,
        o,
        f"{ty} is none of {', '.join(roles)}",
        f'Write "{roles[-1]}" as its role',
    )


def check_compute(o: Operation) -> None:
    """Rows times columns, of roles A, B and C."""
    a, b, c = (matrix(v.type) for v in o.operands)
    require(
        (a.role, b.role, c.role) == ("AOp", "BOp", "COp"),
        o,
        "the operands are not a left and a right factor and an accumulator",
        'Use matrices of roles "AOp", "BOp" and "COp"',
    )
    require(
        (a.rows, a.columns, b.columns) == (c.rows, b.rows, c.columns),
        o,
        f"{a.rows} x {a.columns} times {b.rows} x {b.columns} is not"
        f" {c.rows} x {c.columns}",
        "Make the extents agree",
    )
