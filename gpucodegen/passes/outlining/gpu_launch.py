"""GPU outlining: a grid of operations becomes a ``gpu.func`` and its launch.

Along y and z a grid has at most 65535 blocks (CUDA C programming guide, compute
capabilities).  Where a kernel needs more, or the count is not known, the host walks
that dimension in chunks, and the kernel counts from the first block of its chunk:

    for first = 0 to blocks step 65535
      launch kernel (x, min(65535, blocks - first), z) with (..., first)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from gpucodegen.dialects import gcg
from gpucodegen.dialects.gcg import TileProductNote, with_groups
from gpucodegen.dialects.gpu import (
    MAPPED_BLOCK,
    MAPPED_GRID,
    MOST_BLOCKS,
    RESIDENT,
    Launch,
    dimension_of,
)
from gpucodegen.dialects.memref import needs_runtime
from gpucodegen.dialects.shared.memory import ALLOCATIONS, is_shared
from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from gpucodegen.ir.operation import (
    Operation,
    Value,
    clone,
    rewrite_bottom_up,
    segment_counts,
    single_block,
    substitute_values,
)
from gpucodegen.ir.types import I32, INDEX, FunctionType, MemRefType, VectorType
from gpucodegen.passes.framework.builder import Builder, IndexLike
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.outlining.kernel_operations import VIEWS, is_repeatable
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import ALLOCATED, GRID, WIDEST

Chunks = Mapping[int, Value]
"""Dimensions (0: x) that the host walks, and the first block of a chunk in each."""


def in_chunks(
    operations: Sequence[Operation], grid: Sequence[Index]
) -> tuple[list[Operation], Chunks]:
    """The body of a kernel that counts its blocks from the first of a chunk."""
    location = operations[0].location
    chunks = {
        dimension: Value(INDEX, f"first_{'xyz'[dimension]}", location)
        for dimension, (extent, most) in enumerate(zip(grid, GRID, strict=True))
        if dimension and (extent.constant is None or extent.constant > most)
    }

    def counted(op: Operation) -> list[Operation] | None:
        dimension = "xyz".index(dimension_of(op)) if op.name == "gpu.block_id" else 0
        if dimension not in chunks:
            return None
        inside, b = op.result.renewed(), Builder(op.location)
        b.index(Index.of(inside) + chunks[dimension], op.result.name)
        (apply,) = b.operations
        return [op.with_(results=(inside,)), apply.with_(results=op.results)]

    if not chunks:
        return list(operations), chunks
    return [new for op in operations for new in rewrite_bottom_up(op, counted)], chunks


def walk(
    b: Builder,
    grid: Sequence[Index],
    chunks: Chunks,
    launch: Callable[[Builder, Sequence[Value], Mapping[Value, Value]], None],
) -> None:
    """Loops over the chunks around a launch.

    ``launch`` gets the blocks of a chunk along x, y and z, and the first of them for
    each value of ``chunks``.
    """
    extents: list[Value] = []
    firsts: dict[Value, Value] = {}

    def dimension(b: Builder, number: int) -> None:
        if number == len(grid):
            launch(b, extents, firsts)
        elif number not in chunks:
            extents.append(b.index(grid[number], "grid"))
            dimension(b, number + 1)
        else:
            b.loop(
                0,
                Index.of(b.index(grid[number], "blocks")),
                lambda i, first: one(i, number, first),
                step=GRID[number],
                hint=chunks[number].name,
            )

    def one(b: Builder, number: int, first: Value) -> None:
        left = grid[number] - first
        firsts[chunks[number]] = first
        extents.append(b.smallest([Index.of(GRID[number]), left], "grid"))
        dimension(b, number + 1)

    dimension(b, 0)


SHARED = OpaqueAttr("#gpu.address_space<workgroup>")
WARP_SCOPE = {"scope": OpaqueAttr("#gpu.barrier_scope<subgroup>")}
"""The attributes of a ``gpu.barrier`` of a warp."""


@dataclass(frozen=True, slots=True)
class KernelBody:
    """A kernel body with its launch extents, which may depend on host values.

    ``most_blocks``: the most blocks of a launch along x, if that is known.
    ``resident``: requested blocks per multiprocessor, if any.  ``products``: notes on
    the program's own tile products.
    """

    operations: tuple[Operation, ...]
    grid: tuple[Index, ...]
    block: tuple[IndexLike, IndexLike, IndexLike]
    resident: int | None = None
    products: tuple[TileProductNote, ...] = ()
    most_blocks: int | None = field(default=None, kw_only=True)


def thread_index(b: Builder, op: str, dimension: str, hint: str) -> Value:
    """``gpu.thread_id x`` and its like."""
    attributes = {"dimension": OpaqueAttr(f"#gpu.dim<{dimension}>")}
    return b.value(f"gpu.{op}", (), INDEX, attributes, hint=hint)


def free_values(operations: Sequence[Operation]) -> list[Value]:
    """Values used but not defined by the operations, in order of first use."""
    defined: set[Value] = set()
    used: dict[Value, None] = {}
    for root in operations:
        for op in root.walk():
            defined.update(op.defined)
    for root in operations:
        for op in root.walk():
            used.update(dict.fromkeys(v for v in op.used if v not in defined))
    return list(used)


ASSUMPTION = "memref.assume_alignment"
"""Holds for its operand as well as for its result."""
REMATERIALISED = frozenset({"arith.constant", ASSUMPTION, "memref.dim"})
"""Pure operations that a kernel repeats instead of taking their result."""


def allocated_alignment(made: Operation) -> int:
    """Bytes that divide the address of an allocation; 0 for other operations."""
    if made.name not in ALLOCATIONS:
        return 0
    ty = made.result.type
    is_global = isinstance(ty, MemRefType) and not is_shared(ty.memory_space)
    return ALLOCATED if is_global and made.name == "memref.alloc" else WIDEST


def _is_repeated(op: Operation) -> bool:
    is_view = op.name in REMATERIALISED | VIEWS and not needs_runtime(op)
    return is_view or is_repeatable(op)


def _stated(value: Value, alignment: int) -> Operation:
    """The ``memref.assume_alignment`` of a kernel's parameter."""
    attributes = {"alignment": IntegerAttr(alignment, I32)}
    place = value.location
    return Operation(
        ASSUMPTION, (value,), (value.renewed(),), attributes, location=place
    )


def isolate(
    operations: Sequence[Operation],
    definitions: Mapping[Value, Operation],
    loads: Mapping[Value, Operation] | None = None,
) -> tuple[list[Value], list[Value], list[Operation]]:
    """Copy operations so that they use only parameters.

    ``loads``: loads of the vectors that earlier kernels left in buffers.
    Returns the host values to pass, the parameters they become, and the copied body.
    """
    loads = loads or {}
    mapping: dict[Value, Value] = {}
    body: list[Operation] = []
    arguments: list[Value] = []

    stated = {
        op.operands[0]: op for op in definitions.values() if op.name == ASSUMPTION
    }

    def enter(value: Value) -> None:
        made_by = loads.get(value) or definitions.get(value)
        if value in mapping:
            return
        if made_by is not None and (value in loads or _is_repeated(made_by)):
            for operand in made_by.operands:
                enter(operand)
            body.append(clone(made_by, mapping))
        else:
            arguments.append(value)
            mapping[value] = value.renewed()
            if value in stated:
                body.append(clone(stated[value], mapping))
            elif made_by is not None and (known := allocated_alignment(made_by)):
                body.append(_stated(mapping[value], known))

    for value in free_values(operations):
        enter(value)
    parameters = [mapping[value] for value in arguments]
    body += [clone(op, mapping) for op in operations]
    return arguments, parameters, body


def outline(
    kernel: KernelBody,
    module: str,
    name: str,
    definitions: Mapping[Value, Operation],
    aliases: Mapping[Value, Attribute],
    loads: Mapping[Value, Operation],
) -> tuple[Operation, list[Operation]]:
    """The ``gpu.func`` of a kernel and the host operations that launch it.

    ``aliases``: the groups of host values that may overlap.
    ``loads``: as in `isolate`.
    """
    location = kernel.operations[0].location
    operations, chunks = in_chunks(kernel.operations, kernel.grid)
    arguments, parameters, body = isolate(operations, definitions, loads)
    body.append(Operation("gpu.return", location=location))
    function_type = FunctionType(tuple(p.type for p in parameters), ())
    attributes: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": TypeAttr(function_type),
        "kernel": UnitAttr(),
        MAPPED_BLOCK: _extents(kernel.block),
        MAPPED_GRID: _extents(kernel.grid),
    }
    if kernel.most_blocks is not None:
        attributes[MOST_BLOCKS] = IntegerAttr(kernel.most_blocks, I32)
    if kernel.resident is not None:
        attributes[RESIDENT] = IntegerAttr(kernel.resident, I32)
    if kernel.products:
        attributes[gcg.PRODUCTS_ATTRIBUTE] = gcg.tile_products_attribute(
            kernel.products
        )
    function = Operation(
        "gpu.func",
        attributes=attributes,
        regions=(single_block(body, parameters),),
        location=location,
    )
    groups = [aliases.get(value) for value in arguments]
    function = with_groups(function, groups)
    return function, _launch(kernel, (module, name), arguments, chunks)


def _extents(sizes: Sequence[IndexLike]) -> DenseArrayAttr:
    """Static extents of a grid or block; -1 for those that depend on host values."""
    constants = (Index.of(size).constant for size in sizes)
    return DenseArrayAttr(I32, tuple(-1 if c is None else c for c in constants))


def _launch(
    kernel: KernelBody,
    symbol: tuple[str, str],
    arguments: Sequence[Value],
    chunks: Chunks,
) -> list[Operation]:
    b = Builder(kernel.operations[0].location)
    block = [b.index(extent, "block") for extent in kernel.block]

    def launch(
        b: Builder, grid: Sequence[Value], firsts: Mapping[Value, Value]
    ) -> None:
        passed = [firsts.get(value, value) for value in arguments]
        b.add(
            "gpu.launch_func",
            (*grid, *block, *passed),
            (),
            {
                "kernel": SymbolRefAttr(symbol),
                "operandSegmentSizes": segment_counts(
                    0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, len(passed), 0
                ),
            },
        )

    walk(b, kernel.grid, chunks, launch)
    return b.operations


def through_buffers(
    op: Operation, results: Sequence[Value]
) -> tuple[list[Operation], list[Operation], list[Operation]]:
    """Operations before, in and after an operation whose results leave a kernel.

    For scalars only: vectors leave by `vector_boxes`.
    """
    before, inside, after = (Builder(op.location) for _ in range(3))
    for value in results:
        if isinstance(value.type, VectorType):
            continue
        box = before.allocate("memref.alloc", MemRefType((), value.type), value.name)
        inside.store(value, box, [])
        load = Operation("memref.load", (box,), (value,), location=op.location)
        after.operations.append(load)
        after.add("memref.dealloc", (box,))
    return before.operations, inside.operations, after.operations


def vector_boxes(
    op: Operation, results: Sequence[Value]
) -> tuple[list[Operation], list[Operation], dict[Value, Operation]]:
    """Operations before and in an operation whose vectors leave a kernel.

    The host cannot hold a vector: other kernels read it with the loads returned, whose
    indices are operations before the kernel.
    """
    before, inside = Builder(op.location), Builder(op.location)
    loads: dict[Value, Operation] = {}
    for value in results:
        ty = value.type
        if isinstance(ty, VectorType):
            shape = MemRefType(ty.shape, ty.element)
            box = before.allocate("memref.alloca", shape, value.name)
            at = [before.constant(0, INDEX) for _ in ty.shape]
            inside.vector_store(value, box, [0] * len(at))
            loads[value] = Operation("vector.load", (box, *at), (value,))
    return before.operations, inside.operations, loads


def launched(op: Operation) -> KernelBody:
    """The kernel of a ``gpu.launch`` in the form of `inline_launches`."""
    launch, b = Launch(op), Builder(op.location)
    identities = [(name, d) for name in ("block_id", "thread_id") for d in "xyz"]
    positions = {
        value: thread_index(b, name, d, value.name)
        for (name, d), value in zip(identities, launch.arguments[:6], strict=True)
    }
    body = [substitute_values(o, positions) for o in op.body.operations[:-1]]
    x, y, z = launch.sizes[3:]
    grid = tuple(map(Index.of, launch.sizes[:3]))
    return KernelBody((*b.operations, *body), grid, (x, y, z))


CONTAINER = "gpu.container_module"
"""The attribute of modules with a ``gpu.module`` whose kernels they launch."""


def gpu_module(name: str, kernels: Sequence[Operation]) -> Operation:
    """``gpu.module`` around kernels."""
    return Operation(
        "gpu.module",
        attributes={"sym_name": StringAttr(name)},
        regions=(single_block(kernels),),
        location=kernels[0].location,
    )
