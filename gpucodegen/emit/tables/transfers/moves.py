"""One transfer as expressions: where its ends begin, and its elements in runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from gpucodegen.dialects.nvgpu.copy_kinds import CopyPlan, Rows, plan_copy
from gpucodegen.dialects.shared.transfers import (
    End,
    ends_of,
    has_strided_source,
    lengths_of,
)
from gpucodegen.emit.kernel.context import Emitter
from gpucodegen.emit.kernel.kinds import stored_bytes
from gpucodegen.emit.tables.memory.addressing import Descriptor, row_major
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.text.fragments import Text
from gpucodegen.ir.affine.expressions import AffineExpr, Const
from gpucodegen.ir.operation import Operation

SIDES = ("source", "target")
_SIDE_BY_SIDE = (Const(1), Const(1))


@dataclass(frozen=True, slots=True)
class Move:
    """What a ``dma_start`` moves.

    ``buffers`` and ``offsets`` are those of source, target and tag.  ``runs``: stride
    and run of source and target, as `gpucodegen.intrinsics.cuda.memory.dma_start` takes
    them.  ``spaces``: the memories of both.
    """

    buffers: tuple[Descriptor, ...]
    offsets: tuple[AffineExpr, ...]
    count: AffineExpr
    runs: tuple[tuple[AffineExpr, ...], ...]
    spaces: tuple[str, str]

    @staticmethod
    def of(e: Emitter, op: Operation) -> Move:
        """That of a start."""
        ends = ends_of(op)
        buffers = tuple(buffer_of(e, op, end.memref) for end in ends)
        pairs = zip(buffers, ends, strict=True)
        offsets = (b.at(indices_of(e, end)) for b, end in pairs)
        count, *stride = map(e.index, lengths_of(op))
        runs = [_one_run(buffer) for buffer in buffers[:2]]
        if stride:
            side = 0 if has_strided_source(ends[0].memref, ends[1].memref) else 1
            runs[side] = tuple(stride)
        source, target = (_space_name(e, b.pointer) for b in buffers[:2])
        return Move(buffers, tuple(offsets), count, tuple(runs), (source, target))

    @property
    def dtype(self) -> str:
        """That of the elements."""
        return self.buffers[0].dtype

    @property
    def row(self) -> AffineExpr | None:
        """How many elements lie side by side at both ends; None: that differs."""
        rows = {run for stride, run in self.runs if (stride, run) != _SIDE_BY_SIDE}
        return (rows or {self.count}).pop() if len(rows) < 2 else None

    def row_bytes(self) -> int:
        """Those of a row, 0 where they are no known number."""
        row = self.row
        size = stored_bytes(self.dtype)
        return row.value * size if isinstance(row, Const) else 0

    def plan(self, e: Emitter, refusal: str | None) -> CopyPlan:
        """Asynchronous or not: decided by what divides each address and length.

        ``refusal``: why it is no bulk copy; None where the device has none.
        """
        if not e.spelling.in_blocks:
            return CopyPlan("copy", 0, "the CPU copies when it waits")
        size = stored_bytes(self.dtype)
        addresses = zip(SIDES, self.buffers, self.offsets, strict=False)
        multiples = {
            name: gcd(buffer.alignment or size, e.divisor(offset) * size)
            for name, buffer, offset in addresses
        }
        lengths = self._lengths()
        multiples |= {name: e.divisor(expr) * size for name, expr in lengths}
        exact = {name for name, expr in lengths if isinstance(expr, Const)}
        rows = (
            None
            if refusal is None
            else Rows(self.row_bytes(), refusal, e.facts.bulk.least)
        )
        return plan_copy(size, self.spaces, multiples, exact, rows)

    def _lengths(self) -> list[tuple[str, AffineExpr]]:
        """All that have to be multiples of the pieces, by their names."""
        found = [("count", self.count)]
        for side, run in zip(SIDES, self.runs, strict=True):
            if run != _SIDE_BY_SIDE:
                names = (f"stride of the {side}", f"run of the {side}")
                found += zip(names, run, strict=True)
        return found

    def place(self, e: Emitter, end: int) -> tuple[Text, Text]:
        """The pointer of an end and the offset of its first element."""
        offset = e.narrow(e.affine(self.offsets[end]))
        return Text(self.buffers[end].pointer), offset

    def sizes(self, e: Emitter) -> list[Text]:
        """Stride and run of the source, then of the target."""
        return [e.narrow(e.affine(expr)) for run in self.runs for expr in run]


def indices_of(e: Emitter, end: End) -> list[AffineExpr]:
    """The indices of an end as expressions."""
    return e.applied(end.map, end.operands)


def _one_run(buffer: Descriptor) -> tuple[AffineExpr, ...]:
    """Stride and run of consecutive elements along the last dimension."""
    last: AffineExpr = Const(1)
    if buffer.strides and buffer.strides != row_major(buffer.sizes):
        last = buffer.strides[-1]
    return (last, Const(1))


def _space_name(e: Emitter, pointer: str) -> str:
    if pointer in e.facts.shared:
        return "shared"
    return "private" if pointer in e.facts.private else "global"
