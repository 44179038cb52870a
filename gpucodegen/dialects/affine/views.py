"""Typed views of affine operations: bounds, maps, operands and transfers by name."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS
from gpucodegen.dialects.shared.control_flow import CountedLoop, TwoWayBranch
from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    IntegerSetAttr,
)
from gpucodegen.ir.operation import (
    OperandAt,
    OperandsFrom,
    Operation,
    Segments,
    Value,
)
from gpucodegen.records import dataclass

TERMINATOR = "affine.yield"
ACCESSES = frozenset({"affine.load", "affine.store"})
"""Read and write one element."""
SCALAR = "gcg.scalar"
"""Marks an ``affine.for`` whose iterations must not be vectorized."""


def map_of(op: Operation, name: str = "map") -> AffineMap:
    attribute = op.attributes[name]
    assert isinstance(attribute, AffineMapAttr)
    return attribute.map


@dataclass(frozen=True, slots=True)
class For(CountedLoop):
    """Reading access to an ``affine.for``."""

    @property
    def lower_map(self) -> AffineMap:
        """Lower bound: the maximum of the results."""
        return map_of(self.operation, "lowerBoundMap")

    @property
    def upper_map(self) -> AffineMap:
        """Exclusive upper bound: the minimum of the results."""
        return map_of(self.operation, "upperBoundMap")

    lower_operands = Segments(0, of=3)
    upper_operands = Segments(1, of=3)
    inits = Segments(2, of=3)

    @property
    def step(self) -> int:
        return self.operation.integer("step", 1)

    @property
    def trip_count(self) -> int | None:
        """The number of iterations, if it is known."""
        bounds = self.constant_bounds
        if bounds is None:
            return None
        return max(0, -(-(bounds[1] - bounds[0]) // self.step))

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
        count = map_of(self.operation, "lowerBoundsMap").num_inputs
        return self.operation.operands[:count]

    @property
    def upper_operands(self) -> tuple[Value, ...]:
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
        return self.operation.body.arguments

    @property
    def body(self) -> tuple[Operation, ...]:
        return self.operation.body.operations

    @property
    def reductions(self) -> tuple[str, ...]:
        """Names of the reductions, one per result: ``addf``, ``maximumf`` ..."""
        value = self.operation.attributes.get("reductions")
        if not isinstance(value, ArrayAttr):
            return ()
        return tuple(
            ATOMIC_KINDS[v.value] for v in value.values if isinstance(v, IntegerAttr)
        )


@dataclass(frozen=True, slots=True)
class If(TwoWayBranch):
    """Reading access to an ``affine.if``."""

    @property
    def set(self) -> IntegerSet:
        attribute = self.operation.attributes["condition"]
        assert isinstance(attribute, IntegerSetAttr)
        return attribute.set

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.operation.operands


@dataclass(frozen=True, slots=True)
class Load:
    """Reading access to ``affine.load`` and ``affine.vector_load``."""

    operation: Operation

    memref = OperandAt(0)

    @property
    def map(self) -> AffineMap:
        return map_of(self.operation)

    map_operands = OperandsFrom(1)


@dataclass(frozen=True, slots=True)
class Store:
    """Reading access to ``affine.store`` and ``affine.vector_store``."""

    operation: Operation

    value = OperandAt(0)
    memref = OperandAt(1)

    @property
    def map(self) -> AffineMap:
        """Indices as functions of the operands."""
        return map_of(self.operation)

    map_operands = OperandsFrom(2)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of a transfer: a memref and its affine start indices."""

    memref: Value
    map: AffineMap
    map_operands: tuple[Value, ...]


def _endpoints(op: Operation, names: Sequence[str]) -> tuple[list[Endpoint], int]:
    """The leading ``memref, indices...`` groups, and the position after them."""
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
        """Source, destination and tag memrefs."""
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
    """Reading access to ``affine.dma_wait``: its tag and element count."""

    operation: Operation

    @property
    def tag(self) -> Endpoint:
        return _endpoints(self.operation, ("tag_map",))[0][0]

    num_elements = OperandAt(-1)
