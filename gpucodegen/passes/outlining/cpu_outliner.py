"""CPU outlining: split a function into host operations and CPU kernels.

Consecutive nests become one kernel, with the scalar operations between and before them,
the computations of floats that finish its results, and the scalars and views that only
it uses; allocations move before it, deallocations after it, and small buffers that only
it uses into it.  A scalar that a kernel computes leaves through a buffer of one
element.
A loop that allocates, whatever the size, or asserts is part of a kernel as well: the
kernel reports an allocation or an assertion that fails, and returns.
Python owns and frees the host's buffers.  A kernel frees all that it allocates: no loop
or branch of a kernel yields a memref, so a buffer that the program does not free lives
until its block ends.

A function of several blocks (loops made of branches) becomes one kernel and a host
function that calls it, unless it contains host-only operations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field

from gpucodegen.dialects import memref
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gcg import alias_groups, with_groups
from gpucodegen.dialects.memref import needs_runtime
from gpucodegen.dialects.shared.effects import CALLS, is_external
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.attributes import Attribute, StringAttr, SymbolRefAttr, TypeAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    rewrite_bottom_up,
    single_block,
)
from gpucodegen.ir.types import FloatType, FunctionType, MemRefType
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.lifting.aliases import groups_in
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    has_no_effect,
    in_functions,
    users,
    with_blocks,
    without_dead_code,
)
from gpucodegen.passes.outlining.gpu_launch import isolate
from gpucodegen.passes.outlining.kernel_operations import (
    LOADS,
    SCALAR_DIALECTS,
    VIEWS,
    is_repeatable,
    is_scalar_computation,
    is_step,
    known_bytes,
    made_into_vectors,
    needs_kernel,
    steps_before,
    steps_behind,
)
from gpucodegen.records import dataclass

_CALLS = CALLS | {"gcg.refuse", "gpu.launch", "gpu.launch_func"}
HOST_ONLY = _CALLS | {"memref.dealloc"}
BEFORE = frozenset(
    {"memref.alloc", "memref.alloca", "memref.dim", "memref.get_global", *VIEWS}
)
PURE = frozenset({"affine.apply", "affine.min", "affine.max"})


@dataclass(slots=True)
class CpuOutliner:
    """Outlines the kernels of one function.

    ``is_straight``: the function is a single block, so vectors cannot leave it.
    ``for_vectors``: values that vectors are made of.
    """

    name: str
    is_straight: bool
    definitions: Mapping[Value, Operation]
    uses: Mapping[Value, Sequence[Operation]]
    for_vectors: AbstractSet[Value] = frozenset()
    groups: Mapping[Value, Attribute] = field(default_factory=dict[Value, Attribute])
    kernels: list[Operation] = field(default_factory=list[Operation])

    def operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """Host operations with calls in place of nests."""
        host: list[Operation] = []
        group: list[Operation] = []
        steps: list[Operation] = []
        after: list[Operation] = []
        for op in operations:
            made = {value for member in (*group, *steps) for value in member.results}
            joins = self._joins(op, made, begun=bool(group))
            if joins or is_kernel(op):
                group += [*([] if group else self._led_by(host)), *steps, op]
                steps = []
            elif group and self.is_straight and is_step(op, made):
                steps.append(op)
            elif group and _may_move_before(op, made):
                host.append(op)
            elif group and op.name == "memref.dealloc":
                after.append(op)
            else:
                self._close(host, group, (*steps, *after))
                group, steps, after = [], [], []
                host.append(self._nested(op))
        self._close(host, group, (*steps, *after))
        return host

    def _joins(self, op: Operation, made: AbstractSet[Value], *, begun: bool) -> bool:
        """Whether an operation belongs to the kernel that defines some values.

        So do scalars that become part of a vector, since no vector may leave a kernel.
        In functions of several blocks only users of the kernel's vectors do.
        """
        if not self.is_straight:
            return not made.isdisjoint(op.operands) and needs_kernel(op, made)
        is_number = op.name in LOADS or (has_no_effect(op) and op.dialect == "arith")
        continues = is_number and not self.for_vectors.isdisjoint(op.results)
        return (begun and continues) or needs_kernel(op, made)

    def _led_by(self, host: list[Operation]) -> list[Operation]:
        """The scalar operations at the host's end, which the next kernel takes."""
        if not self.is_straight:
            return []
        stays = {op for op in host if _may_move_before(op, ())}
        taken = steps_before(host, stays)
        host[:] = [op for op in host if op not in taken]
        return taken

    def _nested(self, op: Operation) -> Operation:
        if not op.regions or op.name == "func.func":
            return op
        return with_blocks(op, self.operations)

    def _close(
        self,
        host: list[Operation],
        group: Sequence[Operation],
        after: Sequence[Operation],
    ) -> None:
        """Append a kernel of the group, with its small local buffers."""
        if not group:
            return
        ending = steps_behind(group, after)
        group, after = (*group, *ending), after[len(ending) :]
        last = self._finishing(group, after)
        group, after = (*group, *last), [op for op in after if op not in last]
        inside, _ = self._inside(group)
        inside |= {id(op) for op in after if op.name == "memref.dealloc"}
        values = self._only_for(inside, host)
        own = first_to_fit(op for op in host if set() < self._used(op) <= inside)
        made = {op.result for op in own}
        host[:] = [op for op in host if op not in own and op not in values]
        local = [op.with_(name="memref.alloca") for op in own]
        host += self._call(group, [*local, *values])
        host += [op for op in after if made.isdisjoint(op.operands)]

    def _finishing(
        self, group: Sequence[Operation], after: Sequence[Operation]
    ) -> list[Operation]:
        """Computations of floats behind a kernel that alone use what it computes.

        Their results leave the kernel in place of their operands.
        """
        inside = {id(op) for root in group for op in root.walk()}
        made = {value for op in group for value in op.results}
        taken: list[Operation] = []
        left: set[Value] = set()
        for op in after:
            own = [value for value in op.operands if value in made]
            uses = {id(user) for value in own for user in self.uses.get(value, ())}
            if (
                is_scalar_computation(op)
                and is_step(op, made)
                and all(
                    isinstance(v.type, FloatType) for v in (*op.operands, *op.results)
                )
                and uses <= {*inside, id(op)}
                and left.isdisjoint(op.operands)
            ):
                taken.append(op)
                inside.add(id(op))
                made.update(op.results)
            else:
                left.update(op.results)
        return taken

    def _only_for(self, inside: set[int], host: Sequence[Operation]) -> list[Operation]:
        """Views and scalars of the host that only a kernel needs; it learns of them."""
        taken: list[Operation] = []
        for op in reversed(host):
            computes = is_scalar_computation(op) and op.name != "arith.constant"
            is_moved = computes or (op.name in VIEWS and not needs_host(op))
            if is_moved and set() < self._used(op) <= inside:
                taken.append(op)
                inside.add(id(op))
        return taken[::-1]

    def _inside(self, group: Sequence[Operation]) -> tuple[set[int], list[Operation]]:
        """The operations of a kernel but the views that the host needs, and these."""
        inside = {id(op) for root in group for op in root.walk()}
        views: list[Operation] = []
        for op in reversed(group):
            if op.name in VIEWS and not self._used(op) <= inside:
                views.insert(0, op)
                inside.remove(id(op))
        return inside, views

    def _used(self, op: Operation) -> set[int]:
        results = op.results
        return {id(user) for v in results for user in self.uses.get(v, ())}

    def _call(
        self, group: Sequence[Operation], own: Sequence[Operation]
    ) -> list[Operation]:
        """A kernel of the group, with its own buffers, and the host's call of it.

        The host repeats a view that it uses, too.
        """
        inside, views = self._inside(group)
        escaping = [
            value
            for op in group
            for value in op.results
            if op not in views and not self._used(op) <= inside
        ]
        b = Builder(group[0].location)
        boxes = [
            b.allocate("memref.alloc", MemRefType((), value.type), value.name)
            for value in escaping
        ]
        stores = Builder(group[-1].location)
        for value, box in zip(escaping, boxes, strict=True):
            stores.store(value, box, [])
        self._kernel([*own, *group, *stores.operations], b)
        for value, box in zip(escaping, boxes, strict=True):
            loaded = Operation("memref.load", (box,), (value,), location=b.location)
            b.operations.append(loaded)
            b.add("memref.dealloc", (box,))
        return [*b.operations, *views]

    def _kernel(self, operations: Sequence[Operation], b: Builder) -> None:
        arguments, parameters, body = isolate(operations, self.definitions)
        body.append(Operation("func.return", location=b.location))
        name = f"{self.name}_k{len(self.kernels)}"
        region = single_block(body, parameters)
        kernel = _with_own_memory(cpu_kernel(name, region, b.location))
        groups = [self.groups.get(value) for value in arguments]
        self.kernels.append(with_groups(kernel, groups))
        b.add("func.call", arguments, (), {"callee": SymbolRefAttr((name,))})


def cpu_kernel(name: str, body: Region, location: Location) -> Operation:
    """The private function of a kernel; it returns nothing."""
    function_type = FunctionType(tuple(p.type for p in body.blocks[0].arguments), ())
    return Operation(
        "func.func",
        attributes={
            "sym_name": StringAttr(name),
            "sym_visibility": StringAttr("private"),
            "function_type": TypeAttr(function_type),
            "gcg.kernel": StringAttr("cpu"),
        },
        regions=(body,),
        location=location,
    )


def _with_own_memory(kernel: Operation) -> Operation:
    """The kernel with small buffers on the stack, and all others freed.

    Buffers that it never frees end with their blocks, and so do those of an open size,
    which are on the heap.
    """
    small = {op.result for op in first_to_fit(kernel.walk())}
    freed = {op.operands[0] for op in kernel.walk() if op.name == "memref.dealloc"}

    def ended(block: Block) -> Block:
        placed = [_placed(op, small) for op in block.operations]
        kept = [
            op for op in placed if op.name == "memref.alloc" and op.result not in freed
        ]
        if not placed:
            return block
        *body, last = placed
        frees = [memref.dealloc(op.result, location=op.location) for op in kept]
        return block.with_operations([*body, *frees, last])

    def inside(op: Operation) -> list[Operation] | None:
        moved = op.with_blocks(ended)
        return None if moved is op else [moved]

    (done,) = rewrite_bottom_up(kernel, inside)
    return done


def _placed(op: Operation, small: AbstractSet[Value]) -> Operation:
    """An allocation on the stack if it is small, on the heap if its size is open."""
    if op.name not in ALLOCATIONS:
        return op
    if op.result in small:
        return op.with_(name="memref.alloca")
    return op.with_(name="memref.alloc") if op.operands else op


def is_kernel(op: Operation) -> bool:
    """Whether an operation with a body can run inside a kernel as a whole."""
    structured = bool(op.regions) and op.dialect in {"affine", "scf"}
    return (
        structured
        and not _is_checked_access(op)
        and not any(
            needs_host(inner) and inner.name != "cf.assert" for inner in op.walk()
        )
    )


def _is_checked_access(op: Operation) -> bool:
    """Whether it is one guarded scalar access with its report."""
    inner = list(op.walk())
    return (
        any(o.name == "gcg.report" for o in inner)
        and all(o.name == "scf.if" for o in inner if o.regions)
        and not any(o.dialect == "vector" for o in inner)
    )


def needs_host(op: Operation) -> bool:
    """Whether an operation cannot run in a kernel.

    These are calls and their refusals, operations that run outside the program or query
    the runtime about a buffer, and branches or loops that yield a memref: kernels have
    no variables for these.
    """
    yields_memref = bool(op.regions) and any(map(is_memref, op.results))
    is_outside = is_external(op) or needs_runtime(op)
    return op.name in _CALLS or is_outside or yields_memref


STACK_BYTES = 1 << 16
"""Bytes of a kernel's local buffers that surely fit on a stack."""


def first_to_fit(operations: Iterable[Operation]) -> list[Operation]:
    """Static allocations among the operations, while they fit on the stack."""
    chosen: list[Operation] = []
    room = STACK_BYTES
    for op in operations:
        size = allocated_bytes(op)
        if 0 < size <= room:
            room -= size
            chosen.append(op)
    return chosen


def allocated_bytes(op: Operation) -> int:
    """Bytes of a static row-major allocation; else zero."""
    return known_bytes(op.result.type) if op.name in ALLOCATIONS else 0


def has_dynamic_allocation(op: Operation) -> bool:
    """Whether an operation allocates a buffer whose extents are known at run time."""
    return op.name in ALLOCATIONS and bool(op.operands)


def _may_move_before(op: Operation, made: Collection[Value]) -> bool:
    """Whether an operation is independent of some values and touches no memory."""
    is_known = op.name in BEFORE | PURE or op.dialect in SCALAR_DIALECTS
    is_pure = is_known or is_repeatable(op)
    return is_pure and not any(value in made for value in op.operands)


ON_THE_HOST = HOST_ONLY | {"memref.alloc", "memref.alloca", "memref.get_global"}


def outline_blocks(function: Operation, name: str) -> list[Operation] | None:
    """The kernel and the host function, or None where that does not pay or work."""
    if not _touches_memory(function) or not _fits_a_kernel(function):
        return None
    view = Function(function)
    b = Builder(function.location)
    arguments = tuple(value.renewed() for value in view.arguments)
    boxes = [
        b.allocate("memref.alloc", MemRefType((), ty), "result")
        for ty in view.result_types
    ]
    b.add("func.call", (*arguments, *boxes), (), {"callee": SymbolRefAttr((name,))})
    results = [_emptied(b, box) for box in boxes]
    b.add("func.return", results)
    host = function.with_(regions=(single_block(b.operations, arguments),))
    return [_kernel(function, name, boxes), host]


def _touches_memory(function: Operation) -> bool:
    return any(
        isinstance(value.type, MemRefType)
        for op in function.walk()
        for value in op.operands
    )


def _fits_a_kernel(function: Operation) -> bool:
    makes_buffers = any(
        isinstance(ty, MemRefType) for ty in Function(function).result_types
    )
    return not makes_buffers and runs_in_kernels(function)


def runs_in_kernels(function: Operation) -> bool:
    """Whether no operation of a function needs the host."""
    return all(
        op.name not in ON_THE_HOST and not is_external(op) and not needs_runtime(op)
        for op in function.walk()
    )


def _emptied(b: Builder, box: Value) -> Value:
    load = memref.load(box, location=b.location)
    b.operations.append(load)
    b.operations.append(memref.dealloc(box, location=b.location))
    return load.result


def _kernel(function: Operation, name: str, boxes: Sequence[Value]) -> Operation:
    parameters = tuple(box.renewed() for box in boxes)
    entry, *others = Function(function).blocks
    blocks = (Block((*entry.arguments, *parameters), entry.operations), *others)
    body = Region(tuple(_storing(block, parameters) for block in blocks))
    groups = (*alias_groups(function), *[None] * len(boxes))
    return with_groups(cpu_kernel(name, body, function.location), groups)


def _storing(block: Block, boxes: Sequence[Value]) -> Block:
    """The block with its returned values stored instead."""
    *body, last = block.operations
    if last.name != "func.return":
        return block
    stores = [
        memref.store(value, box, location=last.location)
        for value, box in zip(last.operands, boxes, strict=True)
    ]
    return block.with_operations((*body, *stores, last.with_(operands=())))


@dataclass(frozen=True, slots=True)
class OutlineCpu(ModulePass, name="outline-cpu"):
    """Runs of nests become kernel functions called by the host function."""

    def apply(self, module: Module) -> Module:
        def outline(op: Operation) -> list[Operation]:
            name, groups = symbol_name(op), groups_in(op)
            is_straight = len(op.regions[0].blocks) == 1
            outliner = CpuOutliner(
                name,
                is_straight,
                definitions(op),
                users(op),
                made_into_vectors(op),
                groups,
            )
            host = without_dead_code(with_blocks(op, outliner.operations))
            if not outliner.kernels and not is_straight:
                return outline_blocks(op, f"{symbol_name(op)}_k0") or [op]
            return [*outliner.kernels, host]

        return in_functions(module, outline)
