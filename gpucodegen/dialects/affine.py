"""The affine dialect: loops, conditions and accesses with affine bounds and indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    IntegerSetAttr,
    index_attr,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Block, Operation, Region, Value, single_block
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments, segment_sizes
from gpucodegen.ir.types import I32, I64, INDEX, MemRefType, Type, element_type

TERMINATOR = "affine.yield"


def map_of(op: Operation, name: str = "map") -> AffineMap:
    """An affine map attribute of an operation."""
    attribute = op.attributes[name]
    assert isinstance(attribute, AffineMapAttr)
    return attribute.map


@dataclass(frozen=True, slots=True)
class For:
    """Reading access to an ``affine.for``."""

    operation: Operation

    @property
    def _segments(self) -> tuple[tuple[Value, ...], ...]:
        return operand_segments(self.operation, 3)

    @property
    def lower_map(self) -> AffineMap:
        """Lower bound: the maximum of the results."""
        return map_of(self.operation, "lowerBoundMap")

    @property
    def upper_map(self) -> AffineMap:
        """Exclusive upper bound: the minimum of the results."""
        return map_of(self.operation, "upperBoundMap")

    @property
    def lower_operands(self) -> tuple[Value, ...]:
        """Operands of the lower map."""
        return self._segments[0]

    @property
    def upper_operands(self) -> tuple[Value, ...]:
        """Operands of the upper map."""
        return self._segments[1]

    @property
    def inits(self) -> tuple[Value, ...]:
        """Initial values of the loop-carried values."""
        return self._segments[2]

    @property
    def step(self) -> int:
        """The positive step."""
        step = self.operation.attributes.get("step")
        return step.value if isinstance(step, IntegerAttr) else 1

    @property
    def block(self) -> Block:
        """The body block."""
        return self.operation.body

    @property
    def body(self) -> tuple[Operation, ...]:
        """Operations of the body, the yield included."""
        return self.block.operations

    @property
    def iv(self) -> Value:
        """The loop variable."""
        return self.block.arguments[0]

    @property
    def iter_args(self) -> tuple[Value, ...]:
        """The loop-carried values, as seen in the body."""
        return self.block.arguments[1:]

    @property
    def yielded(self) -> tuple[Value, ...]:
        """Operands of the terminator."""
        return self.body[-1].operands

    @property
    def constant_bounds(self) -> tuple[int, int] | None:
        """``(lower, upper)`` when both are single constants."""
        lower, upper = self.lower_map, self.upper_map
        values = [_constant(lower), _constant(upper)]
        return None if None in values else (values[0] or 0, values[1] or 0)


def _constant(map_: AffineMap) -> int | None:
    from gpucodegen.ir.affine import Const

    match map_.results:
        case (Const(value),):
            return value
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Parallel:
    """Reading access to an ``affine.parallel``; bounds per loop variable."""

    operation: Operation

    @property
    def lower_maps(self) -> tuple[AffineMap, ...]:
        """One map per variable; its results' maximum is the lower bound."""
        return self._grouped("lowerBounds")

    @property
    def upper_maps(self) -> tuple[AffineMap, ...]:
        """One map per variable; its results' minimum is the upper bound."""
        return self._grouped("upperBounds")

    def _grouped(self, side: str) -> tuple[AffineMap, ...]:
        whole = map_of(self.operation, f"{side}Map")
        maps: list[AffineMap] = []
        start = 0
        for size in self._groups(f"{side}Groups", len(whole.results)):
            results = whole.results[start : start + size]
            maps.append(AffineMap(whole.num_dims, whole.num_syms, results))
            start += size
        return tuple(maps)

    def _groups(self, name: str, total: int) -> tuple[int, ...]:
        value = self.operation.attributes.get(name)
        count = len(self.ivs)
        if isinstance(value, DenseArrayAttr):
            return tuple(int(v) for v in value.values)
        if isinstance(value, DenseElementsAttr):
            sizes = value.values * count if value.is_splat else value.values
            return tuple(int(str(v)) for v in sizes[:count])
        return (1,) * total

    @property
    def lower_operands(self) -> tuple[Value, ...]:
        """Operands of the lower maps."""
        count = map_of(self.operation, "lowerBoundsMap").num_inputs
        return self.operation.operands[:count]

    @property
    def upper_operands(self) -> tuple[Value, ...]:
        """Operands of the upper maps."""
        count = map_of(self.operation, "lowerBoundsMap").num_inputs
        return self.operation.operands[count:]

    @property
    def steps(self) -> tuple[int, ...]:
        """One positive step per variable."""
        value = self.operation.attributes.get("steps")
        if not isinstance(value, ArrayAttr):
            return (1,) * len(self.ivs)
        return tuple(v.value for v in value.values if isinstance(v, IntegerAttr))

    @property
    def ivs(self) -> tuple[Value, ...]:
        """The loop variables."""
        return self.operation.body.arguments

    @property
    def body(self) -> tuple[Operation, ...]:
        """Operations of the body, the yield included."""
        return self.operation.body.operations

    @property
    def reductions(self) -> tuple[str, ...]:
        """Name of the reduction per result: ``addf``, ``maximumf`` ..."""
        value = self.operation.attributes.get("reductions")
        if not isinstance(value, ArrayAttr):
            return ()
        return tuple(
            ATOMIC_KINDS[v.value] for v in value.values if isinstance(v, IntegerAttr)
        )


ATOMIC_KINDS = (
    "addf addi assign maximumf maxs maxu minimumf mins minu mulf muli ori andi maxnumf "
    "minnumf xori"
).split()


@dataclass(frozen=True, slots=True)
class If:
    """Reading access to an ``affine.if``."""

    operation: Operation

    @property
    def set(self) -> IntegerSet:
        """The condition."""
        attribute = self.operation.attributes["condition"]
        assert isinstance(attribute, IntegerSetAttr)
        return attribute.set

    @property
    def operands(self) -> tuple[Value, ...]:
        """Operands of the set."""
        return self.operation.operands

    @property
    def then_body(self) -> tuple[Operation, ...]:
        """Operations of the then branch, the yield included."""
        return self.operation.regions[0].blocks[0].operations

    @property
    def else_body(self) -> tuple[Operation, ...]:
        """Operations of the else branch, the yield included; empty without one."""
        regions = self.operation.regions
        blocks = regions[1].blocks if len(regions) > 1 else ()
        return blocks[0].operations if blocks else ()


@dataclass(frozen=True, slots=True)
class Load:
    """Reading access to ``affine.load`` and ``affine.vector_load``."""

    operation: Operation

    @property
    def memref(self) -> Value:
        """The memref read."""
        return self.operation.operands[0]

    @property
    def map(self) -> AffineMap:
        """Indices as functions of the operands."""
        return map_of(self.operation)

    @property
    def map_operands(self) -> tuple[Value, ...]:
        """Operands of the map."""
        return self.operation.operands[1:]


@dataclass(frozen=True, slots=True)
class Store:
    """Reading access to ``affine.store`` and ``affine.vector_store``."""

    operation: Operation

    @property
    def value(self) -> Value:
        """The value written."""
        return self.operation.operands[0]

    @property
    def memref(self) -> Value:
        """The memref written."""
        return self.operation.operands[1]

    @property
    def map(self) -> AffineMap:
        """Indices as functions of the operands."""
        return map_of(self.operation)

    @property
    def map_operands(self) -> tuple[Value, ...]:
        """Operands of the map."""
        return self.operation.operands[2:]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of a transfer: a memref and its affine start indices."""

    memref: Value
    map: AffineMap
    map_operands: tuple[Value, ...]


def _endpoints(op: Operation, names: Sequence[str]) -> tuple[list[Endpoint], int]:
    """The leading ``memref, indices...`` groups and where the rest begins."""
    ends: list[Endpoint] = []
    start = 0
    for name in names:
        map_ = map_of(op, name)
        stop = start + 1 + map_.num_inputs
        ends.append(Endpoint(op.operands[start], map_, op.operands[start + 1 : stop]))
        start = stop
    return ends, start


@dataclass(frozen=True, slots=True)
class DmaStart:
    """Reading access to ``affine.dma_start``."""

    operation: Operation

    @property
    def ends(self) -> tuple[Endpoint, Endpoint, Endpoint]:
        """Source, destination and tag."""
        (source, target, tag), _ = _endpoints(
            self.operation, ("src_map", "dst_map", "tag_map")
        )
        return source, target, tag

    @property
    def sizes(self) -> tuple[Value, ...]:
        """Number of elements and, if given, stride and elements per stride."""
        _, start = _endpoints(self.operation, ("src_map", "dst_map", "tag_map"))
        return self.operation.operands[start:]


@dataclass(frozen=True, slots=True)
class DmaWait:
    """Reading access to ``affine.dma_wait``."""

    operation: Operation

    @property
    def tag(self) -> Endpoint:
        """The tag."""
        return _endpoints(self.operation, ("tag_map",))[0][0]

    @property
    def num_elements(self) -> Value:
        """Number of elements."""
        return self.operation.operands[-1]


# -- builders --------------------------------------------------------------------------


def _as_map(bound: AffineMap | int) -> AffineMap:
    return AffineMap.constant(bound) if isinstance(bound, int) else bound


def _terminated(
    body: Sequence[Operation], location: Location, yielded: Sequence[Value] = ()
) -> tuple[Operation, ...]:
    if body and body[-1].name == TERMINATOR:
        return tuple(body)
    return (*body, yield_(yielded, location=location))


def for_(
    lower: AffineMap | int,
    lower_operands: Sequence[Value],
    upper: AffineMap | int,
    upper_operands: Sequence[Value],
    *,
    body: Sequence[Operation],
    iv: Value,
    step: int = 1,
    inits: Sequence[Value] = (),
    iters: Sequence[Value] = (),
    location: Location = UNKNOWN,
) -> Operation:
    """``affine.for``; an empty yield is added to ``body`` if it has none."""
    segments = (tuple(lower_operands), tuple(upper_operands), tuple(inits))
    attributes: dict[str, Attribute] = {
        "lowerBoundMap": AffineMapAttr(_as_map(lower)),
        "upperBoundMap": AffineMapAttr(_as_map(upper)),
        "step": index_attr(step),
        OPERAND_SEGMENTS: segment_sizes(segments),
    }
    region = single_block(_terminated(body, location), (iv, *iters))
    return Operation(
        "affine.for",
        operands=tuple(v for group in segments for v in group),
        results=tuple(Value(v.type, v.name, location) for v in inits),
        attributes=attributes,
        regions=(region,),
        location=location,
    )


def parallel(
    lower: Sequence[AffineMap | int],
    upper: Sequence[AffineMap | int],
    *,
    body: Sequence[Operation],
    ivs: Sequence[Value],
    lower_operands: Sequence[Value] = (),
    upper_operands: Sequence[Value] = (),
    steps: Sequence[int] | None = None,
    location: Location = UNKNOWN,
) -> Operation:
    """``affine.parallel`` without reductions; maps of one side share their operands."""
    attributes: dict[str, Attribute] = {
        **_bounds("lowerBounds", lower, lower_operands),
        **_bounds("upperBounds", upper, upper_operands),
        "steps": ArrayAttr(tuple(IntegerAttr(s, I64) for s in steps or [1] * len(ivs))),
        "reductions": ArrayAttr(()),
    }
    region = single_block(_terminated(body, location), ivs)
    operands = (*lower_operands, *upper_operands)
    return Operation(
        "affine.parallel",
        operands,
        attributes=attributes,
        regions=(region,),
        location=location,
    )


def _bounds(
    side: str, bounds: Sequence[AffineMap | int], operands: Sequence[Value]
) -> dict[str, Attribute]:
    maps = [_as_map(bound) for bound in bounds]
    dims = max((m.num_dims for m in maps), default=0)
    syms = len(operands) - dims
    results = tuple(result for m in maps for result in m.results)
    groups = tuple(len(m.results) for m in maps)
    return {
        f"{side}Map": AffineMapAttr(AffineMap(dims, syms, results)),
        f"{side}Groups": DenseArrayAttr(I32, groups),
    }


def if_(
    condition: IntegerSet,
    operands: Sequence[Value],
    then_ops: Sequence[Operation],
    else_ops: Sequence[Operation] | None = None,
    *,
    result_types: Sequence[Type] = (),
    location: Location = UNKNOWN,
) -> Operation:
    """``affine.if``; empty yields are added to branches that have none."""
    then_region = single_block(_terminated(then_ops, location))
    has_else = else_ops is not None and (len(else_ops) > 0 or result_types)
    else_region = (
        single_block(_terminated(else_ops or (), location)) if has_else else Region()
    )
    return Operation(
        "affine.if",
        tuple(operands),
        tuple(Value(ty, "", location) for ty in result_types),
        {"condition": IntegerSetAttr(condition)},
        (then_region, else_region),
        location=location,
    )


def yield_(values: Sequence[Value] = (), *, location: Location = UNKNOWN) -> Operation:
    """``affine.yield``."""
    return Operation(TERMINATOR, tuple(values), location=location)


def load(
    memref: Value,
    map_: AffineMap | None = None,
    operands: Sequence[Value] = (),
    *,
    name: str = "",
    location: Location = UNKNOWN,
) -> Operation:
    """``affine.load``; without a map the operands are the indices."""
    index_map = map_ or AffineMap.identity(len(operands))
    return Operation(
        "affine.load",
        (memref, *operands),
        (Value(element_type(memref.type), name, location),),
        {"map": AffineMapAttr(index_map)},
        location=location,
    )


def store(
    value: Value,
    memref: Value,
    map_: AffineMap | None = None,
    operands: Sequence[Value] = (),
    *,
    location: Location = UNKNOWN,
) -> Operation:
    """``affine.store``; without a map the operands are the indices."""
    index_map = map_ or AffineMap.identity(len(operands))
    return Operation(
        "affine.store",
        (value, memref, *operands),
        attributes={"map": AffineMapAttr(index_map)},
        location=location,
    )


def apply(
    map_: AffineMap,
    operands: Sequence[Value] = (),
    *,
    name: str = "",
    location: Location = UNKNOWN,
    op: str = "affine.apply",
) -> Operation:
    """``affine.apply``, or ``affine.min`` / ``affine.max`` by ``op``."""
    return Operation(
        op,
        tuple(operands),
        (Value(INDEX, name, location),),
        {"map": AffineMapAttr(map_)},
        location=location,
    )


def min_(
    map_: AffineMap, operands: Sequence[Value] = (), *, name: str = ""
) -> Operation:
    """``affine.min``."""
    return apply(map_, operands, name=name, op="affine.min")


def max_(
    map_: AffineMap, operands: Sequence[Value] = (), *, name: str = ""
) -> Operation:
    """``affine.max``."""
    return apply(map_, operands, name=name, op="affine.max")


def rank_of(memref: Value) -> int:
    """Rank of a memref value; zero for anything else."""
    return memref.type.rank if isinstance(memref.type, MemRefType) else 0
