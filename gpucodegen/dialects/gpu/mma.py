"""Table and verifier rules of ``gpu.subgroup_mma``: matrix fragments of a warp."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint, require
from gpucodegen.dialects.framework.declare import like, op, pure
from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.gpu.syntax import modern, word
from gpucodegen.dialects.vector.memory import has_unit_stride
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    F16,
    F32,
    F64,
    DialectType,
    FloatType,
    IntegerType,
    MemRefType,
    Type,
)

_TEXT = re.compile(r'gpu\.mma_matrix<\s*(\d+)x(\d+)x(\w+)\s*,\s*"(\w+)"\s*>')
_FLOATS = {ty.name: ty for ty in (F16, F32, F64)}


class Matrix(NamedTuple):
    """``!gpu.mma_matrix<16x8xf16, "AOp">``."""

    rows: int
    columns: int
    element: str
    role: str


def matrix(ty: Type) -> Matrix:
    """Extents, element and role of a matrix type."""
    match = _TEXT.fullmatch(str(ty).removeprefix("!"))
    if match is None:
        return Matrix(0, 0, "", "")
    return Matrix(int(match[1]), int(match[2]), match[3], match[4])


def element(types: Types, attributes: Mapping[str, Attribute]) -> Sequence[Type] | None:
    """Inference of the element type of the matrix ``res``."""
    del attributes
    known = types.get("res")
    name = matrix(known[0]).element if known else ""
    if name[:1] == "f":
        return [_FLOATS.get(name, FloatType(name))]
    sign, _, width = name.rpartition("i")
    return [IntegerType(int(width), sign)] if width.isdigit() else None


def check_load(o: Operation) -> None:
    """A fragment of role A, B or C may be loaded."""
    _check_adjacent(o, o.operands[0].type)
    _check_role(o, o.results[0].type, ("AOp", "BOp", "COp"))


def check_store(o: Operation) -> None:
    """Only a fragment of role C may be stored."""
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
    """The fragments have roles A, B and C and extents that fit a product."""
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


_ELEMENTWISE = (
    "addf mulf subf maxf minf divf addi muli subi divs divu negatef negates extf truncf"
).split()
_MATRIX = TypeConstraint(
    "!gpu.mma_matrix<..>",
    lambda ty: isinstance(ty, DialectType) and ty.text.startswith("gpu.mma_matrix<"),
)
_LAYOUT = {"leadDimension": kinds.INDEX_INT, "transpose": kinds.UNIT}
_HOW = "(`leadDimension` $leadDimension^)? (`transpose` $transpose^)? attr-dict"

OPERATIONS = (
    op(
        "gpu.subgroup_mma_load_matrix",
        "srcMemref indices:index* -> res",
        f"$srcMemref `[` $indices `]` {_HOW} `:` type($srcMemref) `->` type($res)",
        attributes=_LAYOUT,
        types={"srcMemref": constraints.MEMREF, "res": _MATRIX},
        checks=[check_load],
    ),
    op(
        "gpu.subgroup_mma_store_matrix",
        "src dstMemref indices:index*",
        f"$src `,` $dstMemref `[` $indices `]` {_HOW}"
        " `:` type($src) `,` type($dstMemref)",
        attributes=_LAYOUT,
        types={"src": _MATRIX, "dstMemref": constraints.MEMREF},
        checks=[check_store],
    ),
    pure(
        "gpu.subgroup_mma_compute",
        "opA opB opC -> res",
        "$opA `,` $opB `,` $opC (`a_transpose` $a_transpose^)?"
        " (`b_transpose` $b_transpose^)? attr-dict"
        " `:` type($opA) `,` type($opB) `->` type($res)",
        attributes={"a_transpose": kinds.UNIT, "b_transpose": kinds.UNIT},
        infer={"opC": like("res")},
        types={"opA": _MATRIX, "opB": _MATRIX, "opC": _MATRIX, "res": _MATRIX},
        checks=[check_compute],
    ),
    pure(
        "gpu.subgroup_mma_constant_matrix",
        "value -> res",
        "$value attr-dict `:` type($res)",
        infer={"value": element},
        types={"res": _MATRIX},
    ),
    pure(
        "gpu.subgroup_mma_elementwise",
        "args* -> res",
        "$opType $args attr-dict `:` functional-type(operands, results)",
        attributes={"opType": word("mma_element_wise", _ELEMENTWISE)},
        types={"args": _MATRIX, "res": _MATRIX},
        adapt=modern("opType", "mma_element_wise"),
    ),
    pure(
        "gpu.subgroup_mma_extract_thread_local",
        "matrix indices:index* -> res",
        "$matrix `[` $indices `]` attr-dict `:` type($matrix) `->` type($res)",
        types={"matrix": _MATRIX},
    ),
    pure(
        "gpu.subgroup_mma_insert_thread_local",
        "value matrix indices:index* -> res",
        "$value `,` $matrix `[` $indices `]` attr-dict"
        " `:` type($value) `,` type($matrix) `->` type($res)",
        types={"matrix": _MATRIX, "res": _MATRIX},
    ),
)
