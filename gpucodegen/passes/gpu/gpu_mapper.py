"""GPU mapping: each nest becomes one kernel or a host loop around kernels.

* a contraction: shared-memory tiles (`contraction.gpu`);
* a nest that uses fast memory or asynchronous copies: one block per iteration of its
  parallel outer loops, its inner parallel loops over the threads (`block_program`);
* parallel outer loops: one thread per iteration, the innermost along x;
* a sequential loop around parallel ones: the loop stays on the host;
* a loop around a call or an unknown operation: the loop stays outside;
* anything else: one thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.gpu import kernel as gpu
from gpucodegen.passes.contraction.gpu.axes import Groups, extent
from gpucodegen.passes.contraction.gpu.forms import paying_contraction
from gpucodegen.passes.contraction.recognition.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.cpu.cpu_outliner import needs_host
from gpucodegen.passes.cpu.vector_runs import needs_kernel
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.operation_list import IndexLike
from gpucodegen.passes.gpu.blocks.program import block_program
from gpucodegen.passes.gpu.blocks.transfer_spans import needs_block, spans
from gpucodegen.passes.gpu.gpu_launch import KernelBody, free_values, launched, outline
from gpucodegen.passes.gpu.mapped_loops import LOOPS
from gpucodegen.passes.gpu.thread_mapping import parallel_chain, thread_per_iteration
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.machine.gpu.candidates import Candidate
from gpucodegen.tiling.machine.gpu.plan import plan_contraction


@dataclass(slots=True)
class GpuMapper:
    """Maps one function; collects its kernels, and the nests that are contractions."""

    module: str
    definitions: Mapping[Value, Operation]
    plan: Candidate | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    contractions: bool = True
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
            return self._launch(kernel)
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
        return self._launch(KernelBody(kernel.operations, (gx, gy, gz), (x, y, z)))

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

    def _analysed(self, op: Operation, context: Sequence[Operation]) -> NestAnalysis:
        return analyse([op], context, self.surroundings)

    def _nest(self, op: Operation, context: Sequence[Operation]) -> list[Operation]:
        analysis = self._analysed(op, context)
        if needs_block(op):
            kernel = block_program([op], analysis, context, self.surroundings)
            return self._launch(kernel)
        if op.name == "affine.for":
            nests = distribute(op, analysis)
            found = [paying_contraction(nest) for nest in nests]
            if self.contractions and any(found):
                return [
                    o
                    for nest, one in zip(nests, found, strict=True)
                    for o in self._piece(
                        nest,
                        one,
                        analysis if nest is op else self._analysed(nest, context),
                        context,
                    )
                ]
        return self._generic(op, analysis, context)

    def _piece(
        self,
        nest: Operation,
        found: tuple[Contraction, Groups] | None,
        analysis: NestAnalysis,
        context: Sequence[Operation],
    ) -> list[Operation]:
        if found is None or not only_accumulates(analysis.dependences):
            return self._generic(nest, analysis, context)
        self.contracted.append(nest)
        contraction, groups = found
        sizes = map(extent, (groups.rows, groups.columns, groups.batch))
        plan = self.plan or plan_contraction(*sizes)
        return self._launch(gpu.lower(contraction, groups, plan))

    def _generic(
        self, op: Operation, analysis: NestAnalysis, context: Sequence[Operation]
    ) -> list[Operation]:
        chain = parallel_chain(op, analysis)
        if chain:
            return self._launch(thread_per_iteration(chain))
        if self._stays_on_host(op, analysis):
            inner = self.operations(op.body.operations, context)
            return [op.with_body(inner)]
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
        launch = self._launch(KernelBody(body, (Index.of(1),) * 3, (1, 1, 1)))
        return [*before.operations, *launch, *after.operations]

    def _stays_on_host(self, op: Operation, analysis: NestAnalysis) -> bool:
        """A sequential loop around parallel ones."""
        return (
            op.name == "affine.for"
            and not op.results
            and any(
                analysis.is_parallel(inner) or inner.name == "affine.parallel"
                for inner in op.walk()
                if inner is not op and inner.name in LOOPS
            )
        )

    def _launch(self, kernel: KernelBody) -> list[Operation]:
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
