"""Long scans in parts: three nests, so that the parts of a few rows fill the device.

for part, row:  P[part, row] = the terms of the part
for row:        t = initial;  for part: P[part, row] = t, and t OP= what was there
for part, row:  t = P[part, row];  the iterations of the part
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.blocks.rows.free_reductions import Reduction
from gpucodegen.passes.gpu.blocks.rows.reduce import combination
from gpucodegen.passes.gpu.blocks.rows.scans import Scan
from gpucodegen.passes.gpu.kinds.reductions.program import RowProgram
from gpucodegen.passes.gpu.kinds.reductions.splits import Parts


def scan_in_parts(
    program: RowProgram, scan: Scan, parts: int, *, across: bool
) -> list[Operation] | None:
    """Operations of the host in place of a program whose only structure is a scan.

    None if an extent is open, or if something else of the program has to keep its place
    before or behind the iterations.
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
    """The parts, each from what is left of it on."""
    number = Value(INDEX, "part")

    def body(i: Builder, known: dict[Value, Value], at: Sequence[Value]) -> None:
        cut.prepare(i, known)
        start = [i.load(buffer, cut.place(number, at)) for buffer in buffers]
        cut.terms(i, cut.reduction.loops, start, number, known)

    return cut.around(body, number)
