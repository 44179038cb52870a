"""Split reductions and scans: few long rows are cut into parts that fill the device.

Two nests reduce:

    for part, row:  P[part, row] = terms at positions of the part
    for row:        s = initial;  for part: s OP= P[part, row];  remaining operations

Parts act as additional rows of the first nest.  The part is the last dimension of the
buffer where the second nest reads along it.  Three nests scan:

    for part, row:  P[part, row] = the terms of the part
    for row:        t = initial;  for part: P[part, row] = t, and t OP= its old value
    for part, row:  t = P[part, row];  the iterations of the part
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.blocks.scans import Scan
from gpucodegen.passes.gpu.blocks.thread_reductions import (
    Reduction,
    combination,
    extent,
    made_for,
    neutral,
)
from gpucodegen.passes.gpu.nest_mapping import trip_count
from gpucodegen.passes.gpu.reduction_problems import RowProgram
from gpucodegen.records import dataclass

_Body = Callable[[Builder, dict[Value, Value], Sequence[Value]], None]
"""Builds a row, given the variables of the loops around it and its position."""
CHUNK = 1024
"""Alignment of parts of rows in elements, which keeps vectors aligned."""


def in_parts(
    program: RowProgram, reduction: Reduction, parts: int, *, across: bool
) -> list[Operation] | None:
    """Host operations in place of the program; None for dynamic extents."""
    cut = Parts.of(program, reduction, parts, across=across)
    return cut and cut.operations()


@dataclass(frozen=True, slots=True)
class _CutLoop:
    """A loop in ``count`` pieces of ``size`` trips, the last of which may be shorter.

    ``after``: pieces of the inner loops, which a part's number counts first.
    """

    extent: int
    size: int
    count: int
    after: int


def _cuts(extents: Sequence[int], parts: int, aligned: int) -> list[_CutLoop]:
    """Outer loops in single iterations as far as the number of parts permits."""
    sizes: list[tuple[int, int]] = []
    for at, whole in enumerate(extents):
        pieces = min(parts, max(whole, 1))
        size = -(-whole // pieces)
        if at == len(extents) - 1 and size > aligned:
            size = -(-size // aligned) * aligned
        count = max(1, -(-whole // max(size, 1)))
        sizes.append((size, count))
        parts = max(1, parts // count)
    cuts: list[_CutLoop] = []
    after = 1
    for whole, (size, count) in reversed([*zip(extents, sizes, strict=True)]):
        cuts.insert(0, _CutLoop(whole, size, count, after))
        after *= count
    return cuts


@dataclass(frozen=True, slots=True)
class Parts:
    """The cut loops of a reduction, and the resulting nests."""

    program: RowProgram
    reduction: Reduction
    cuts: Sequence[_CutLoop]
    rows: tuple[int, ...]
    across: bool

    @staticmethod
    def of(
        program: RowProgram, reduction: Reduction, parts: int, *, across: bool
    ) -> Parts | None:
        """About ``parts`` parts of each row; None for dynamic extents."""
        counts = [trip_count(loop).constant for loop in program.chain]
        rows = [count for count in counts if count is not None]
        extents = [extent(op) for op in reduction.loops]
        known = [n for n in extents if n is not None]
        if len(rows) < len(counts) or len(known) < len(extents):
            return None
        cuts = _cuts(known, parts, 1 if across else CHUNK)
        return Parts(program, reduction, cuts, tuple(rows), across)

    @property
    def parts(self) -> int:
        return self.cuts[0].after * self.cuts[0].count

    def operations(self) -> list[Operation]:
        """Host operations: the nest of the parts, and the combining one."""
        return self.launched(lambda b: [self.first(b), self._second(b)])

    def launched(
        self, nests: Callable[[Sequence[Value]], Sequence[Operation]]
    ) -> list[Operation]:
        """The mapping of nests that use the buffers of all parts."""
        b = Builder(self.program.nest.op.location)
        shape = (self.parts, *self.rows) if self.across else (*self.rows, self.parts)
        buffers = [
            b.allocate("memref.alloc", MemRefType(shape, a.before.type), "parts")
            for a in self.reduction.totals
        ]
        before = list(b.operations)
        mapper = self.program.nest.mapper
        mapper.define(before)
        host = mapper.operations(nests(buffers), before)
        after = Builder(b.location)
        for buffer in buffers:
            after.add("memref.dealloc", (buffer,))
        return [*before, *host, *after.operations]

    def place(self, part: Value, positions: Sequence[Value]) -> list[Value]:
        """The indices of a part of a row in its buffer."""
        return [part, *positions] if self.across else [*positions, part]

    def first(self, buffers: Sequence[Value]) -> Operation:
        """The nest of the parts: their loop is the outermost one, or the innermost."""
        part = Value(INDEX, "part")

        def body(i: Builder, known: dict[Value, Value], at: Sequence[Value]) -> None:
            self.prepare(i, known)
            start = [neutral(i, a) for a in self.reduction.totals]
            totals = self.terms(i, self.reduction.loops, start, part, known)
            for buffer, total in zip(buffers, totals, strict=True):
                i.store(total, buffer, self.place(part, at))

        return self.around(body, part)

    def prepare(self, b: Builder, known: dict[Value, Value]) -> None:
        """Append the preceding operations that the iterations use."""
        loop, before = self.reduction.loops[0], self.program.body
        needed = made_for(before[: before.index(loop)], loop)
        b.operations += [clone(op, known) for op in needed]

    def terms(
        self,
        b: Builder,
        loops: Sequence[Operation],
        totals: Sequence[Value],
        part: Value,
        known: dict[Value, Value],
    ) -> Sequence[Value]:
        """The totals after the iterations of a part."""
        if not loops:
            mapping = dict(known)
            befores = (a.before for a in self.reduction.totals)
            mapping.update(zip(befores, totals, strict=True))
            b.operations += [clone(op, mapping) for op in self.reduction.body]
            return [mapping[a.after] for a in self.reduction.totals]
        op, *inner = loops
        loop = affine.For(op)
        cut = self.cuts[self.reduction.loops.index(op)]
        lower, upper = loop.constant_bounds or (0, 0)
        starts, ends = [Index.of(lower)], [Index.of(upper)]
        if cut.count > 1:
            piece = Index.of(part) // cut.after if cut.after > 1 else Index.of(part)
            piece = piece if cut is self.cuts[0] else piece % cut.count
            step = cut.size * loop.step
            starts = [compact(piece * step + lower)]
            is_whole = cut.count * cut.size == cut.extent
            ends = [starts[0] + step, *([] if is_whole else ends)]

        def body(i: Builder, iv: Value, values: Sequence[Value]) -> Sequence[Value]:
            here = {**known, loop.iv: iv}
            return self.terms(i, inner, values, part, here)

        hint = loop.iv.name
        return b.carried_loop(starts, ends, totals, body, step=loop.step, hint=hint)

    def _second(self, buffers: Sequence[Value]) -> Operation:
        """The nest that combines the parts and runs the remaining operations."""

        def body(i: Builder, known: dict[Value, Value], at: Sequence[Value]) -> None:
            for op in self.program.body:
                if op is not self.reduction.loops[0]:
                    i.operations.append(clone(op, known))
                    continue
                start = [known.get(v, v) for v in self.reduction.initial]
                totals = self._combined(i, buffers, at, start)
                known.update(zip(self.reduction.results, totals, strict=True))

        return self.around(body, None)

    def _combined(
        self,
        b: Builder,
        buffers: Sequence[Value],
        at: Sequence[Value],
        start: Sequence[Value],
    ) -> Sequence[Value]:
        def body(i: Builder, part: Value, values: Sequence[Value]) -> list[Value]:
            made: list[Value] = []
            for a, buffer, old in zip(
                self.reduction.totals, buffers, values, strict=True
            ):
                term, new = i.load(buffer, self.place(part, at)), old.renewed()
                i.operations.append(combination(a, old, term, new))
                made.append(new)
            return made

        return b.carried_loop(0, self.parts, start, body, hint="part")

    def around(
        self,
        body: _Body,
        part: Value | None,
    ) -> Operation:
        """The parallel loops around a body, with the loop of parts if given."""
        b = Builder(self.program.nest.op.location)
        chain = list(self.program.chain)
        location = b.location

        def loop(iv: Value, extent_: int, inside: Sequence[Operation]) -> Operation:
            return affine.for_(
                AffineMap.constant(0),
                (),
                AffineMap.constant(extent_),
                (),
                body=list(inside),
                iv=iv,
                location=location,
            )

        positions = [Value(INDEX, one.iv.name) for one in chain]
        ivs: dict[Value, Value] = {}
        for one, position in zip(chain, positions, strict=True):
            ivs[one.iv] = b.index(one.lower + Index.of(position) * one.step)
        body(b, ivs, positions)
        loops = [*zip(positions, self.rows, strict=True)]
        if part is not None:
            loops.insert(0 if self.across else len(loops), (part, self.parts))
        inside = b.operations
        for iv, count in reversed(loops or [(Value(INDEX, "once"), 1)]):
            inside = [loop(iv, count, inside)]
        return inside[0]


def scan_in_parts(
    program: RowProgram, scan: Scan, parts: int, *, across: bool
) -> list[Operation] | None:
    """Host operations in place of a program whose only structure is a scan.

    None for dynamic extents, or if another operation of the program has to stay before
    or after the iterations.
    """
    loop = scan.loop
    others = [op for op in program.body if op is not loop]
    conflicts = program.analysis.conflicts
    found = [*conflicts([loop], others), *conflicts(others, [loop])]
    arrays = (d.model.array(d.source.access.array) for d in found)
    if not all(array.register for array in arrays):
        return None
    cut = Parts.of(program, Reduction((loop,), scan.totals, True), parts, across=across)
    if cut is None or cut.parts == 1:
        return None
    terms = loop.with_body((*scan.makers, loop.body.operations[-1]))
    at = program.body.index(loop)
    body = (*program.body[:at], terms, *program.body[at + 1 :])
    first = replace(
        cut,
        program=replace(program, body=body),
        reduction=Reduction((terms,), scan.totals, True),
    )
    return cut.launched(
        lambda b: [first.first(b), _starts(cut, b), _iterations(cut, b)]
    )


def _starts(cut: Parts, buffers: Sequence[Value]) -> Operation:
    """The program with a scan of the parts in place of that of all iterations."""
    reduction = cut.reduction

    def body(i: Builder, known: dict[Value, Value], at: Sequence[Value]) -> None:
        def part(j: Builder, number: Value, values: Sequence[Value]) -> list[Value]:
            made: list[Value] = []
            for a, buffer, old in zip(reduction.totals, buffers, values, strict=True):
                place, new = cut.place(number, at), old.renewed()
                term = j.load(buffer, place)
                j.store(old, buffer, place)
                j.operations.append(combination(a, old, term, new))
                made.append(new)
            return made

        for op in cut.program.body:
            if op is not reduction.loops[0]:
                i.operations.append(clone(op, known))
                continue
            start = [known.get(v, v) for v in reduction.initial]
            ends = i.carried_loop(0, cut.parts, start, part, hint="part")
            known.update(zip(reduction.results, ends, strict=True))

    return cut.around(body, None)


def _iterations(cut: Parts, buffers: Sequence[Value]) -> Operation:
    """The second pass over the parts, each from its initial total."""
    number = Value(INDEX, "part")

    def body(i: Builder, known: dict[Value, Value], at: Sequence[Value]) -> None:
        cut.prepare(i, known)
        start = [i.load(buffer, cut.place(number, at)) for buffer in buffers]
        cut.terms(i, cut.reduction.loops, start, number, known)

    return cut.around(body, number)
