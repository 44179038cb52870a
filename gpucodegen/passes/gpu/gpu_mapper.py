"""GPU mapping: what is in a function becomes launches of kernels, and a host program.

A nest becomes what the first of `kinds.KINDS` makes of it:

* memory that a block shares, or asynchronous copies: a program of whole blocks;
* a contraction: tiles in shared memory (`contraction.gpu`);
* parallel outer loops: one thread per iteration, the innermost along x;
* a time loop around stencils: several steps in one launch, where that pays;
* another sequential loop around parallel ones: the loop stays on the host;
* anything else: one thread.

A loop around a call or an unknown operation stays outside of kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.cpu.cpu_outliner import needs_host
from gpucodegen.passes.cpu.vector_runs import needs_kernel
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.operation_list import IndexLike
from gpucodegen.passes.gpu.blocks.program import block_program
from gpucodegen.passes.gpu.blocks.transfer_spans import spans
from gpucodegen.passes.gpu.gpu_launch import KernelBody, free_values, launched, outline
from gpucodegen.passes.gpu.kinds import KINDS
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.mapped_loops import LOOPS
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.machine.gpu.candidates import Candidate


@dataclass(slots=True)
class GpuMapper:
    """Maps one function; collects its kernels, and the nests that are contractions."""

    module: str
    definitions: Mapping[Value, Operation]
    plan: Candidate | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    contractions: bool = True
    time_tiles: bool = True
    kernels: list[Operation] = field(default_factory=list[Operation])
    contracted: list[Operation] = field(default_factory=list[Operation])

    def operations(
        self, operations: Sequence[Operation], context: Sequence[Operation] = ()
    ) -> list[Operation]:
        """Host operations in place of a straight list of operations."""
        mapped: list[Operation] = []
        before, run = list(context), list[Operation]()
        groups = spans(operations)
        for at, (op, *others) in enumerate(groups):
            made = {value for member in run for value in member.results}
            if not others and needs_kernel(op, made):
                run.append(op)
            elif not others and has_no_effect(op) and made.isdisjoint(op.operands):
                mapped.append(op)
            else:
                mapped += self._close(run, groups[at:])
                mapped += self._group([op, *others], before)
                run = []
            before += (op, *others)
        return mapped + self._close(run, ())

    def _close(
        self, run: Sequence[Operation], rest: Sequence[Sequence[Operation]]
    ) -> list[Operation]:
        """One thread for a run of operations on vectors."""
        used = free_values([op for group in rest for op in group])
        results = [v for op in run for v in op.results if v in used]
        return self._single_thread(run, results) if run else []

    def _group(
        self, group: Sequence[Operation], context: Sequence[Operation]
    ) -> list[Operation]:
        op, *others = group
        if others:
            analysis = analyse(group, context, self.surroundings)
            kernel = block_program(group, analysis, context, self.surroundings)
            return self.launch(kernel)
        if op.name == "gpu.launch":
            return self._written(op)
        if op.name in LOOPS and not _needs_host(op):
            return self._nest(op, context)
        if op.name in LOOPS or op.name in _AROUND_NESTS or _holds_launch(op):
            return [self._branches(op, context)]
        return [op]

    def _written(self, op: Operation) -> list[Operation]:
        """A launch that the program writes itself; its constants may be outside."""
        kernel = launched(op)
        sizes = [self._extent(size) for size in (*kernel.grid, *kernel.block)]
        gx, gy, gz, x, y, z = sizes
        return self.launch(KernelBody(kernel.operations, (gx, gy, gz), (x, y, z)))

    def _extent(self, size: IndexLike) -> Index:
        """A size as a number if it is a constant of the host."""
        index = Index.of(size)
        made = [self.definitions.get(value) for value in index.values]
        value = made[0].attributes.get("value") if len(made) == 1 and made[0] else None
        return Index.of(value.value) if isinstance(value, IntegerAttr) else index

    def _branches(self, op: Operation, context: Sequence[Operation]) -> Operation:
        regions = tuple(
            type(region)(
                tuple(
                    block.with_operations(self.operations(block.operations, context))
                    for block in region.blocks
                )
            )
            for region in op.regions
        )
        return op.with_(regions=regions)

    def _nest(self, op: Operation, context: Sequence[Operation]) -> list[Operation]:
        nest = Nest(op, context, self)
        for kind in KINDS:
            mapped = kind(nest)
            if mapped is not None:
                return mapped
        return self._single_thread([op], op.results)

    def _single_thread(
        self, operations: Sequence[Operation], results: Sequence[Value]
    ) -> list[Operation]:
        """One thread runs all; its results leave through buffers of one element."""
        location = operations[0].location
        before, inside, after = (Builder(location) for _ in range(3))
        for value in results:
            box = before.allocate(
                "memref.alloc", MemRefType((), value.type), value.name
            )
            inside.store(value, box, [])
            load = Operation("memref.load", (box,), (value,), location=location)
            after.operations.append(load)
            after.add("memref.dealloc", (box,))
        body = (*operations, *inside.operations)
        launch = self.launch(KernelBody(body, (Index.of(1),) * 3, (1, 1, 1)))
        return [*before.operations, *launch, *after.operations]

    def launch(self, kernel: KernelBody) -> list[Operation]:
        """Outline a kernel; the operations of the host that launch it."""
        name = f"{self.module}_k{len(self.kernels)}"
        function, host = outline(
            kernel,
            f"{self.module}_kernels",
            name,
            self.definitions,
            self.surroundings.aliases.groups,
        )
        self.kernels.append(function)
        return host


def _needs_host(op: Operation) -> bool:
    """Whether something in a nest cannot run in a kernel: its loops stay outside."""
    return any(map(needs_host, op.walk()))


def _holds_launch(op: Operation) -> bool:
    return any(inner.name == "gpu.launch" for inner in op.walk())


_AROUND_NESTS = frozenset({"affine.if", "scf.execute_region"})
