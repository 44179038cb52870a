"""Emits one kernel function as the source of a Numba kernel with its parameters.

Memrefs become flat pointers; sizes and strides that the body uses and the types do not
fix become extra integers after the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from gpucodegen.dialects import gcg
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gcg import TileProductNote, tile_product_notes_of
from gpucodegen.dialects.gpu import known_block, resident_blocks
from gpucodegen.dialects.nvgpu.types import is_tensor_map
from gpucodegen.emit.addressing import (
    FAR,
    Descriptor,
    sizes_of,
    strides_of,
)
from gpucodegen.emit.context import Emitter, Facts
from gpucodegen.emit.copy_plan import BulkPlan, PlannedTransfer, written_in
from gpucodegen.emit.emissions import Emission
from gpucodegen.emit.index_widths import (
    has_open_extents,
    needs_words,
    wrapping_loops,
)
from gpucodegen.emit.source import Header, PythonNames
from gpucodegen.emit.spelling import DECLARED_SHARED, AccessReports, Spelling
from gpucodegen.emit.tables import scalars, transfers
from gpucodegen.emit.tables.control import emit_blocks
from gpucodegen.emit.tables.hopper import WARPGROUP_PREFIX as WARPGROUPS
from gpucodegen.emit.tables.hopper import alignments
from gpucodegen.emit.tables.memory import shared_in, stored_dtype
from gpucodegen.ir.affine import AffineExpr, Const
from gpucodegen.ir.number_formats import NARROW, SMALL
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import I8, FloatType, MemRefType, Type, element_type
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class KernelParam:
    """One parameter: a pointer to elements, or a number."""

    name: str
    kind: str
    dtype: str
    writable: bool = True


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel in the form that the runtime takes.

    ``dynamic_shared``: launches provide the ``shared_bytes`` of a block. ``specific``:
    it uses features of a single architecture. ``bulk``: it uses bulk copies, available
    from sm_90 on. ``index_bits``: width of the indices; 64 except on GPUs. ``wide``:
    the source with 64-bit indices, for launches with larger buffers; "" if there is
    none.
    """

    name: str
    source: str
    params: tuple[KernelParam, ...]
    block: tuple[int, int, int] | None = None
    parallel: bool = False
    shared_bytes: int = 0
    cooperative: bool = False
    resident: int | None = None
    dynamic_shared: bool = False
    specific: bool = False
    bulk: bool = False
    index_bits: int = 64
    wide: str = ""

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Kind and dtype of every parameter."""
        return tuple((param.kind, param.dtype) for param in self.params)


@dataclass(frozen=True, slots=True)
class Extra:
    """A size or stride of an argument that the kernel takes as a number."""

    argument: int
    what: str
    dimension: int


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel and the extra parameters that its launches append."""

    source: KernelSource
    extras: tuple[Extra, ...]
    spelling: Spelling
    transfers: tuple[PlannedTransfer, ...] = ()
    reports: AccessReports = field(default_factory=AccessReports)
    """Reports that the kernel writes to the words of its last argument."""

    @property
    def tag_arguments(self) -> frozenset[int]:
        """Positions of the arguments that are tags of transfers."""
        params = enumerate(self.source.params)
        return frozenset(i for i, param in params if param.dtype == "tag")


def emit_kernel(op: Operation, name: str, emission: Emission) -> EmittedKernel:
    """The source of a ``func.func`` or ``gpu.func`` kernel.

    If 32-bit indices suffice under a launch condition only, a 64-bit version is added.
    """
    op = _as_integers(op)
    blocks, wide = Function(op).blocks, emission.wide
    if wide is None:
        return _planned(op, name, emission)
    in_words = replace(emission, spelling=wide)
    if needs_words(op, blocks):
        return _planned(op, name, in_words)
    narrow = _planned(op, name, emission)
    if not has_open_extents(blocks):
        return narrow
    source = replace(narrow.source, wide=_planned(op, name, in_words).source.source)
    return replace(narrow, source=source)


MOVES = frozenset(
    "affine.for affine.if affine.load affine.parallel affine.store affine.vector_load"
    " affine.vector_store affine.yield memref.alloca memref.assume_alignment"
    " memref.cast memref.dim memref.load memref.store memref.subview scf.for scf.if"
    " scf.yield vector.extract vector.from_elements vector.insert vector.load"
    " vector.store".split()
)
"""Operations to which elements are bits."""


def _as_integers(op: Operation) -> Operation:
    """A kernel with i8 in place of one-byte floats that it only moves.

    As floats they would be widened and rounded, which takes many instructions.
    """
    computed: set[Type] = set()
    for inner in (o for each in _body(op) for o in each.walk()):
        if inner.name not in MOVES:
            computed.update(element_type(v.type) for v in inner.used)
            computed.update(element_type(v.type) for v in inner.results)
    computed.update(v.type for v in Function(op).arguments)
    values: dict[Value, Value] = {}

    def new(value: Value) -> Value:
        element = element_type(value.type)
        is_small = isinstance(element, FloatType) and element.name in SMALL
        if is_small and element not in computed:
            values[value] = value.renewed(with_element(value.type, I8))
        return values.get(value, value)

    def block(old: Block) -> Block:
        arguments = tuple(map(new, old.arguments))
        return replace(
            old, arguments=arguments, operations=tuple(map(one, old.operations))
        )

    def one(old: Operation) -> Operation:
        return replace(
            old.with_blocks(block),
            operands=tuple(values.get(v, v) for v in old.operands),
            results=tuple(map(new, old.results)),
        )

    made = op.with_blocks(block)
    return made if values else op


def _planned(op: Operation, name: str, emission: Emission) -> EmittedKernel:
    """Emit a kernel; one with bulk copies is emitted again when all are planned."""
    plan = BulkPlan()
    if emission.bulk:
        plan = BulkPlan.of(op, emission.bulk - shared_in(_body(op), {}))
    first = _written(op, name, emission, plan)
    return _written(op, name, emission, plan.second()) if plan.bulk else first


def _body(op: Operation) -> list[Operation]:
    return [inner for block in Function(op).blocks for inner in block.operations]


def _written(
    op: Operation, name: str, emission: Emission, plan: BulkPlan
) -> EmittedKernel:
    """Emit a kernel with planned bulk copies."""
    function = Function(op)
    blocks, body = function.blocks, _body(op)
    names = PythonNames()
    names.reserve(PLAIN_NAMES)
    names.reserve([name])
    spelling = emission.spelling
    header = Header(spelling.face, names)
    emitter = Emitter(spelling, emission.handlers, names, header)
    aligned = alignments(body) if spelling.in_blocks else {}
    shared = shared_in(body, aligned) + plan.shared_bytes
    is_dynamic = spelling.in_blocks and shared > DECLARED_SHARED
    tags, groups = transfers.tags_in(body), transfers.in_flight(body)
    emitter.facts = Facts(
        tags,
        groups,
        block_of(op),
        is_dynamic,
        alignments=aligned,
        bulk=plan,
        wrapping=wrapping_loops(op, blocks),
    )
    emitter.begin(blocks)
    parameters = _Parameters(emitter, function.arguments, written_in(body))
    parameters.declare(op)
    with emitter.writer.block("def"):
        transfers.prologue(emitter)
        emit_blocks(emitter, blocks)
    params, extras = parameters.needed()
    if emitter.reports.words:
        params.append(KernelParam(emitter.reports.pointer, "pointer", "i64"))
    head = f"def {name}({', '.join(param.name for param in params)}):"
    lines = [*header.lines(), "", "", head, *emitter.writer.lines[1:], ""]
    source = KernelSource(
        name,
        "\n".join(lines),
        tuple(params),
        emitter.facts.block,
        emitter.has_parallel,
        emitter.shared_bytes,
        any(inner.name == "gcg.grid_barrier" for o in body for inner in o.walk()),
        resident_blocks(op),
        is_dynamic,
        any(inner.name.startswith(_SPECIFIC) for o in body for inner in o.walk()),
        bool(plan.bulk),
        32 if spelling.index == "int32" else 64,
    )
    transfers_ = (
        *emitter.transfers,
        *map(_product, tile_product_notes_of(op)),
        *_updates(op),
    )
    return EmittedKernel(source, tuple(extras), spelling, transfers_, emitter.reports)


def _updates(op: Operation) -> Iterator[PlannedTransfer]:
    """Notes on where atomic updates are combined."""
    for note in gcg.update_notes_of([op]):
        what, how = f"%{note.buffer}", (note.where, note.reason)
        yield PlannedTransfer(ATOMIC, what, *how, location=note.location)


def _product(note: TileProductNote) -> PlannedTransfer:
    """The report's record of a tile product in shared memory."""
    how = note.mechanism, note.reason
    return PlannedTransfer("affine.for", note.what, *how, location=note.location)


ATOMIC = "memref.atomic_rmw"
PLAIN_NAMES = frozenset(
    {name.partition(".")[2] for name in scalars.SCALAR_HANDLERS}
    | set(scalars.CONSTRUCTORS.values())
    | set(scalars.COMPLEX_INTRINSICS.values())
    | {
        "floordiv",
        "floormod",
        "mulsi_high",
        "mului_high",
        "one_at_a_time",
        "prange",
        "inf",
        "nan",
    }
)
"""Names that a header may import, which no variable takes."""


def block_of(op: Operation) -> tuple[int, int, int] | None:
    """The block shape that a kernel is made for."""
    x, y, z = known_block(op)
    return None if x is None or y is None or z is None else (x, y, z)


_SPECIFIC = (WARPGROUPS, "nvvm.setmaxregister")
"""Prefixes of operations that only a single architecture has."""


@dataclass(slots=True)
class _Parameters:
    """The parameters of one kernel; extras are kept only if the body uses them."""

    emitter: Emitter
    arguments: Sequence[Value]
    written: set[Value]
    _params: list[KernelParam] = field(default_factory=list[KernelParam])
    _extras: list[tuple[Extra, str]] = field(default_factory=list[tuple[Extra, str]])

    def declare(self, op: Operation) -> None:
        """Assign every argument a name and its meaning in the body."""
        e = self.emitter
        for position, value in enumerate(self.arguments):
            name = e.names.fresh(value.name, "arg")
            if isinstance(value.type, MemRefType):
                self._declare_memref(op, position, value, value.type, name)
                continue
            if is_tensor_map(value.type):
                self._params.append(KernelParam(name, "pointer", "i64", writable=False))
                e.rename(value, name)
                continue
            kind = e.dtype(op, value)
            carried = "f32" if kind in NARROW else self._carried(kind)
            self._params.append(KernelParam(name, "scalar", carried, writable=False))
            e.rename(value, name)

    def _carried(self, kind: str) -> str:
        """``index`` parameters have the kernel's index width."""
        return self.emitter.spelling.index_parameter if kind == "index" else kind

    def _declare_memref(
        self, op: Operation, position: int, value: Value, ty: MemRefType, name: str
    ) -> None:
        e = self.emitter
        is_tag = value in e.facts.tags
        kind = "tag" if is_tag else stored_dtype(ty, op, e.spelling.name)
        writable = is_tag or value in self.written
        self._params.append(KernelParam(name, "pointer", kind, writable))

        def unknown(what: str, dimension: int) -> AffineExpr:
            extra = e.names.fresh(f"{name}_{what}{dimension}")
            self._extras.append((Extra(position, what, dimension), extra))
            atom = e.atoms.add(extra)
            if what == "dim":
                e.atoms.extents.add(atom.position)
            return atom

        sizes = sizes_of(ty.shape, unknown)
        strides = strides_of(ty, sizes, unknown, op.location)
        given = tuple(
            unknown("stride", i)
            if isinstance(stride, Const) and stride.value > FAR
            else stride
            for i, stride in enumerate(strides)
        )
        e.buffers[value] = Descriptor(name, kind, sizes, strides, given=given)

    def needed(self) -> tuple[list[KernelParam], list[Extra]]:
        """All arguments, and the extras that were used."""
        e = self.emitter
        used = {e.atoms.names[position] for position in e.atoms.used}
        kept = [(extra, name) for extra, name in self._extras if name in used]
        kind = self._carried("index")
        extras = [KernelParam(n, "scalar", kind, writable=False) for _, n in kept]
        return [*self._params, *extras], [extra for extra, _ in kept]
