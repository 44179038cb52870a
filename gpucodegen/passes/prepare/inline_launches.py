"""Normalisation of hand-written kernels: all launches become inlined ``gpu.launch``.

``gpu.launch_func`` of a ``gpu.func`` and ``gpu.launch`` become ``gpu.launch`` in which

* block and thread positions are arguments of the body, sizes are values outside;
* workgroup and private buffers are ``memref.alloca`` at the start;
* there are no async tokens: launches run in textual order.

Facts about host values therefore hold in the kernel, too.

``gpu.dynamic_shared_memory`` with ``memref.view`` at constant offsets and sizes becomes
a ``memref.alloca`` for each offset and type, since all such operations of a kernel name
the same bytes.  Launches and bodies that are not supported are refused with a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import gpu
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import is_shared
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Operation,
    Region,
    Value,
    ValueMap,
    clone,
    rewrite_bottom_up,
    segment_sizes,
    substitute_values,
)
from gpucodegen.ir.types import INDEX, MemRefType, element_bytes
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.outlining.gpu_launch import SHARED
from gpucodegen.passes.prepare.thread_identities import ThreadPlace, is_identity
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP

DYNAMIC = "gpu.dynamic_shared_memory"


def with_own_buffers(
    launch: Operation, size: int | None, numbers: Mapping[Value, int]
) -> Operation:
    """A launch that allocates the parts of ``size`` bytes of shared memory it uses.

    ``numbers`` are the constants outside; a size of None is unknown.  Raises
    UnsupportedOperation, or OutOfBounds where a view leaves the memory.
    """
    bases = {o.result for o in launch.walk() if o.name == DYNAMIC}
    if not bases:
        return launch
    numbers = {**numbers, **_constants(launch)}
    places = _Places(launch, size)
    for op in launch.walk():
        if op.name == "memref.view" and op.operands[0] in bases:
            places.view(op, [numbers.get(v) for v in op.operands[1:]])
        elif bases.intersection(op.used):
            places.base(op, bases)
    return places.rewritten()


def _constants(launch: Operation) -> dict[Value, int]:
    found = {
        op.result: value.value
        for op in launch.walk()
        if isinstance(value := op.attributes.get("value"), IntegerAttr) and op.results
    }
    for op in launch.walk():
        combine = _COMBINED.get(op.name)
        values = [found[v] for v in op.operands if v in found]
        if combine and len(values) == len(op.operands):
            found[op.result] = combine(values)
    return found


_COMBINED = {
    "arith.addi": sum,
    "arith.index_cast": sum,
    "arith.muli": prod,
}
"""Operations that compute offsets, as functions of their operands."""


@dataclass(slots=True)
class _Places:
    """Buffers by first byte and type."""

    launch: Operation
    size: int | None
    buffers: dict[tuple[int, MemRefType], Value] = field(
        default_factory=dict[tuple[int, MemRefType], Value]
    )
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    b: Builder = field(default_factory=Builder)

    def view(self, op: Operation, numbers: Sequence[int | None]) -> None:
        """``memref.view`` of some elements from a byte on."""
        ty = op.result.type
        assert isinstance(ty, MemRefType)
        start, *extents = numbers
        given = iter(extents)
        shape = tuple(next(given) if n is None else n for n in ty.shape)
        if start is None or None in shape:
            raise self._refused(op, "Give its first byte and its extents as constants")
        own = self._buffer(op, start, replace(ty, shape=shape))
        self.values[op.result] = self._cast(own, ty)

    def base(self, op: Operation, bases: set[Value]) -> None:
        """Another use of the whole memory, whose size must be known."""
        if self.size is None:
            raise self._refused(op, "Give the launch's size as a constant")
        for value in dict.fromkeys(v for v in op.used if v in bases):
            ty = value.type
            assert isinstance(ty, MemRefType)
            own = self._buffer(op, 0, replace(ty, shape=(self.size,)))
            self.values[value] = self._cast(own, ty)

    def _cast(self, buffer: Value, ty: MemRefType) -> Value:
        if buffer.type == ty:
            return buffer
        return self.b.value("memref.cast", (buffer,), ty)

    def _buffer(self, op: Operation, start: int, ty: MemRefType) -> Value:
        if (start, ty) in self.buffers:
            return self.buffers[start, ty]
        end = start + _bytes(ty)
        if self.size is not None and not 0 <= start <= end <= self.size:
            raise errors.OutOfBounds(
                op.location,
                buffer="the launch's shared memory",
                witness=f"bytes {start} to {end} of {self.size}",
            )
        for first, other in self.buffers:
            if first < end and start < first + _bytes(other):
                raise self._refused(op, "Let views lie apart, or be of one type")
        self.b.location = op.location
        made = self.b.allocate(
            "memref.alloca", ty, op.result.name if op.results else ""
        )
        return self.buffers.setdefault((start, ty), made)

    def _refused(self, op: Operation, advice: str) -> errors.CompileError:
        return errors.UnsupportedOperation(
            op.location,
            operation=f"{op.name} of {DYNAMIC}",
            target="cuda",
            advice=advice,
        )

    def rewritten(self) -> Operation:
        """The launch with the buffers at the start of its body."""

        def rewrite(op: Operation) -> list[Operation] | None:
            is_view = op.name == "memref.view" and op.result in self.values
            return [] if op.name == DYNAMIC or is_view else None

        changed = substitute_values(self.launch, self.values)
        (changed,) = rewrite_bottom_up(changed, rewrite)
        first, *others = changed.regions[0].blocks
        entry = Block(
            first.arguments, (*self.b.operations, *first.operations), first.label
        )
        return changed.with_(regions=(Region((entry, *others)),))


def _bytes(ty: MemRefType) -> int:
    return prod(n or 0 for n in ty.shape) * (element_bytes(ty.element) or 0)


def check_launch(op: Operation, launch: gpu.Launch | gpu.LaunchFunc) -> None:
    """Raise UnsupportedOperation at a launch of clusters."""
    if launch.cluster:
        raise _unsupported(op, "clusters of blocks", _WITHOUT_CLUSTERS)


def check_body(op: Operation) -> None:
    """Raise UnsupportedOperation at the first operation that kernels do not support."""
    for inner in op.walk():
        is_refused, what, advice = _REFUSED.get(inner.name, _NOTHING)
        if is_refused(inner):
            raise _unsupported(inner, what, advice)


def _unsupported(op: Operation, what: str, advice: str) -> errors.UnsupportedOperation:
    name = f"{op.name} with {what}" if what else op.name
    return errors.UnsupportedOperation(
        op.location, operation=name, target="cuda", advice=advice
    )


def _always(_: Operation) -> bool:
    return True


def _never(_: Operation) -> bool:
    return False


def _is_wider_than_a_warp(op: Operation) -> bool:
    given = [op.attributes.get(f"cluster_{name}") for name in ("size", "stride")]
    return prod(a.value for a in given if isinstance(a, IntegerAttr)) > WARP


def _has_operands(op: Operation) -> bool:
    return bool(op.operands)


def _is_named_or_wide(op: Operation) -> bool:
    scope = str(op.attributes.get("scope", "workgroup"))
    return bool(op.operands) or not ("workgroup" in scope or "subgroup" in scope)


_Row = tuple[Callable[[Operation], bool], str, str]
_NOTHING: _Row = (_never, "", "")
_WITHOUT_CLUSTERS = "Launch without clusters of blocks"
_MEET = "Let all threads of the block meet at a plain gpu.barrier"
_PARTS = "all but the threads of a block or of a warp"
_REFUSED: dict[str, _Row] = {
    "gpu.barrier": (_is_named_or_wide, _PARTS, _MEET),
    "gpu.cluster_block_id": (_always, "", _WITHOUT_CLUSTERS),
    "gpu.cluster_dim": (_always, "", _WITHOUT_CLUSTERS),
    "gpu.cluster_dim_blocks": (_always, "", _WITHOUT_CLUSTERS),
    "gpu.cluster_id": (_always, "", _WITHOUT_CLUSTERS),
    "gpu.initialize_named_barrier": (_always, "", _MEET),
    "gpu.subgroup_reduce": (
        _is_wider_than_a_warp,
        "a cluster wider than a warp",
        f"A warp has {WARP} lanes: choose a smaller size or stride",
    ),
    "gpu.warp_execute_on_lane_0": (
        _always,
        "",
        "Write scf.if on gpu.lane_id, and share values by gpu.shuffle",
    ),
    "nvvm.barrier": (_has_operands, _PARTS, _MEET),
}
"""Per operation: whether it is refused, with which error, and the advice."""


Kernels = Mapping[tuple[str, ...], Operation]
"""The hand-written kernels of a module by their path."""


_LAUNCHES = frozenset({"gpu.launch", "gpu.launch_func"})


def _kernels(module: Module) -> Kernels:
    """User-written kernels; launches of generated ones stay as they are."""
    return {
        (gpu.Module(op).name, name): kernel
        for op in module.operations
        if op.name == "gpu.module"
        for name, kernel in gpu.Module(op).kernels.items()
        if gpu.MAPPED_BLOCK not in kernel.attributes
    }


# -- one launch ------------------------------------------------------------------------


def _inlined(
    op: Operation, kernel: Operation, numbers: Mapping[Value, int]
) -> list[Operation]:
    """The launch of a kernel with its body in place."""
    launch, function = gpu.LaunchFunc(op), gpu.Function(kernel)
    check_launch(op, launch)
    check_body(kernel)
    b = Builder(op.location)
    stated = (*gpu.known_grid(kernel), *gpu.known_block(kernel))
    sizes: list[Value] = []
    for size, known, what in zip(
        (*launch.grid, *launch.block), stated, _WHAT, strict=True
    ):
        actual = numbers.get(size, known)
        if known not in (None, actual):
            raise errors.LaunchSizeDiffers(
                op.location,
                kernel=function.name,
                known=known,
                actual=actual,
                what=what[0],
                dimension=what[1],
            )
        sizes.append(_size(b, size, known))
    mapping: ValueMap = {}
    copied = clone(kernel, mapping)
    first, *others = copied.regions[0].blocks
    count = len(function.type.inputs)
    passed = dict(zip(first.arguments[:count], launch.arguments, strict=True))
    buffers = _buffers(copied, first.arguments[count:])
    positions = tuple(Value(INDEX, name, op.location) for name in _POSITIONS)
    body = (Block((), first.operations), *others)
    stated_sizes = zip(sizes, stated, strict=True)
    known_sizes = {v: known for v, known in stated_sizes if known is not None}
    known_sizes = {**numbers, **known_sizes}
    region = _with_values(body, positions, sizes, passed, buffers, known_sizes)
    made = launch_of(sizes, positions, region, op)
    return [*b.operations, _with_shared(made, launch, numbers)]


def _normal(op: Operation, numbers: Mapping[Value, int]) -> list[Operation]:
    """A launch whose body uses the sizes outside and its own allocations."""
    view = gpu.Launch(op)
    check_launch(op, view)
    check_body(op)
    arguments, blocks = view.arguments, op.regions[0].blocks
    is_plain = not (view.attributions or view.tokens or view.shared_size or op.results)
    inside = [o for o in op.walk() if o is not op]
    uses_sizes = any(v in arguments[6:12] for o in inside for v in o.used)
    if is_plain and not uses_sizes and not any(map(_is_rewritten, inside)):
        return [op]
    passed = dict(zip(arguments[6:12], view.sizes, strict=True))
    buffers = _buffers(op, view.attributions)
    body = (Block((), blocks[0].operations), *blocks[1:])
    region = _with_values(body, arguments[:6], view.sizes, passed, buffers, numbers)
    made = launch_of(view.sizes, arguments[:6], region, op)
    return [_with_shared(made, view, numbers)]


def _with_shared(
    made: Operation, launch: gpu.Launch | gpu.LaunchFunc, numbers: Mapping[Value, int]
) -> Operation:
    """The launch with its dynamic shared memory (default 0 bytes) as buffers."""
    known = [numbers.get(value) for value in launch.shared_size]
    return with_own_buffers(made, known[0] if known else 0, numbers)


_WHAT = [(what, dimension) for what in ("blocks", "threads") for dimension in "xyz"]
_POSITIONS = ("bx", "by", "bz", "tx", "ty", "tz")
_SIZES = ("gx", "gy", "gz", "sx", "sy", "sz")


def launch_of(
    sizes: Sequence[Value],
    positions: Sequence[Value],
    region: Region,
    old: Operation,
) -> Operation:
    """``gpu.launch`` of a body over three grid and three block sizes."""
    inside = tuple(Value(INDEX, name, old.location) for name in _SIZES)
    first, *others = region.blocks
    entry = Block((*positions, *inside), first.operations, first.label)
    groups: list[Sequence[Value]] = [(), *((v,) for v in sizes), (), (), (), (), ()]
    return Operation(
        "gpu.launch",
        tuple(sizes),
        attributes={OPERAND_SEGMENTS: segment_sizes(groups)},
        regions=(Region((entry, *others)),),
        location=old.location,
    )


def _size(b: Builder, value: Value, known: int | None) -> Value:
    """A size as an index; a kernel with a declared size must be launched with it."""
    if known is not None:
        return b.index(known)
    if value.type == INDEX:
        return value
    return b.value("arith.index_cast", (value,), INDEX, hint=value.name)


def _buffers(op: Operation, attributions: Sequence[Value]) -> dict[Value, Operation]:
    """The allocation of each workgroup or private buffer."""
    shared = gpu.workgroup_count(op)
    b = Builder(op.location)
    found: dict[Value, Operation] = {}
    for position, value in enumerate(attributions):
        ty = value.type
        assert isinstance(ty, MemRefType)
        if position < shared and not is_shared(ty.memory_space):
            ty = replace(ty, memory_space=SHARED)
        b.allocate("memref.alloca", ty, value.name)
        found[value] = b.operations[-1]
    return found


# -- values of the body ----------------------------------------------------------------


def _with_values(
    blocks: Sequence[Block],
    positions: Sequence[Value],
    sizes: Sequence[Value],
    passed: Mapping[Value, Value],
    buffers: Mapping[Value, Operation],
    numbers: Mapping[Value, int],
) -> Region:
    """The body with values in place of arguments, identities and buffers."""
    holder = Operation("gpu.launch", regions=(Region(tuple(blocks)),))
    b = Builder(holder.location)
    values = dict(passed) | {v: made.result for v, made in buffers.items()}
    place = ThreadPlace(b, positions, sizes, numbers)
    for op in holder.walk():
        if is_identity(op):
            values[op.result] = place.value(op)

    def rewrite(op: Operation) -> list[Operation] | None:
        if is_identity(op):
            return []
        name = _NAMES.get(op.name)
        return [op.with_(name=name)] if name else None

    (changed,) = rewrite_bottom_up(substitute_values(holder, values), rewrite)
    first, *others = changed.regions[0].blocks
    start = (*buffers.values(), *b.operations)
    entry = Block((), (*start, *first.operations), first.label)
    return Region((entry, *others))


def _is_rewritten(op: Operation) -> bool:
    return is_identity(op) or op.name in _NAMES or op.name == DYNAMIC


_NAMES = {
    "gpu.return": "gpu.terminator",
    "nvvm.barrier": "gpu.barrier",
    "nvvm.barrier0": "gpu.barrier",
}


@dataclass(frozen=True, slots=True)
class InlineLaunches(ModulePass, name="inline-launches"):
    """Give every launch of a function the body of its kernel."""

    looks_for: ClassVar[frozenset[str]] = _LAUNCHES

    def apply(self, module: Module) -> Module:
        kernels = _kernels(module)
        numbers = {
            op.result: value.value
            for op in module.walk()
            if op.name == "arith.constant"
            and isinstance(value := op.attributes.get("value"), IntegerAttr)
        }

        def rewrite(op: Operation) -> list[Operation] | None:
            if op.name == "gpu.launch":
                return _normal(op, numbers)
            path = gpu.LaunchFunc(op).kernel if op.name == "gpu.launch_func" else ()
            return _inlined(op, kernels[path], numbers) if path in kernels else None

        inlined = module.with_operations(
            changed
            for op in module.operations
            for changed in rewrite_bottom_up(op, rewrite)
        )
        launched = {path[0] for path in kernels}
        return inlined.with_operations(
            op
            for op in inlined.operations
            if op.name != "gpu.module" or gpu.Module(op).name not in launched
        )
