"""Cells of the matrices of a subgroup: each lane touches the elements that it holds.

The kernels of this project deal them out as ``mma.sync`` does.  With g = lane // 4,
t = lane % 4 and e elements in 32 bits, a lane has

- of A rows ``8 i + g``, columns ``4 e j + e t + n``; of B the same, turned around
- of C rows ``8 i + g``, columns ``8 j + 2 t + n``, n = 0, 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpucodegen.dialects.gpu.mma import matrix
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType, Type, element_bytes, element_type
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.tiling.model.scop import Access, AccessKind

Whole = Callable[..., list[Access]]
Cell = Callable[..., Access]


def matrix_accesses(
    op: Operation, env: Environment, kind: AccessKind, cell: Cell, whole: Whole
) -> list[Access]:
    """What one lane reads or writes of a matrix in memory.

    Without a known lane, or with rows that are not those of the buffer, it may be any
    cell.
    """
    stores = kind is AccessKind.WRITE
    form = (op.operands[0] if stores else op.results[0]).type
    memref, *indices = op.operands[stores:]
    rows_apart = _row_stride(memref.type)
    leading, texts = op.integer("leadDimension"), env.all_texts(indices)
    if env.lane is None or rows_apart != leading or None in texts[-2:]:
        return whole(env, op, memref, (kind,), must=False)
    (row, column), span = _element(env, form, memref.type)
    if "transpose" in op.attributes:
        row, column = column, row
    *outer, first, second = texts
    cells = (*outer, f"{first} + {row}", f"{second} + {column}")
    found = cell(env, op, memref, cells, kind)
    return [replace(found, span=(*found.span, *span))]


Span = tuple[tuple[str, str], ...]


def _element(env: Environment, ty: Type, memory: Type) -> tuple[tuple[str, str], Span]:
    """Row and column of any element that the lane holds, over the names of a span."""
    rows, columns, _, role = matrix(ty)
    per = max(1, 4 // (element_bytes(element_type(memory)) or 4))
    if role == "BOp":
        rows, columns = columns, rows
    width, each = (8, 2) if role == "COp" else (4 * per, per)
    i, j, n = (env.names.fresh(name) for name in ("row", "column", "part"))
    group, turn = f"floor(({env.lane})/4)", f"(({env.lane}) mod 4)"
    one, other = f"8*{i} + {group}", f"{width}*{j} + {each}*{turn} + {n}"
    span = (i, str(rows // 8)), (j, str(columns // width)), (n, str(each))
    return (other, one) if role == "BOp" else (one, other), span


def _row_stride(ty: Type) -> int | None:
    """Elements between two rows of a buffer without a layout, if that is a number."""
    if isinstance(ty, MemRefType) and ty.layout is None and ty.rank >= 2:
        return ty.shape[-1]
    return None
