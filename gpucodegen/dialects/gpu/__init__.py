"""The gpu dialect: typed views and builders of kernels, launches and identities.

Identities are the operations that return a thread's or block's index or extent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects import func
from gpucodegen.dialects.builtin import symbol_name
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
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Segments,
    Value,
    operand_segments,
    single_block,
    split,
)
from gpucodegen.ir.types import FunctionType
from gpucodegen.records import dataclass

GLOBAL, SHARED, PRIVATE = (
    OpaqueAttr(f"#gpu.address_space<{space}>")
    for space in ("global", "workgroup", "private")
)

Function = func.Function
"""A ``gpu.func`` has the interface of a ``func.func``."""


@dataclass(frozen=True, slots=True)
class Module:
    """Reading access to a ``gpu.module``."""

    operation: Operation

    @property
    def name(self) -> str:
        return symbol_name(self.operation)

    @property
    def operations(self) -> tuple[Operation, ...]:
        return self.operation.body.operations

    @property
    def kernels(self) -> dict[str, Operation]:
        return {symbol_name(o): o for o in self.operations if o.name == "gpu.func"}


MAPPED_GRID, MAPPED_BLOCK = "gcg.grid", "gcg.block"
"""Attributes of generated kernels: grid and block size, -1 for unknown extents."""

MOST_BLOCKS = "gcg.most_blocks"
"""Attribute of generated kernels: the most blocks of a launch along x."""

RESIDENT = "nvvm.minctasm"
"""Attribute of kernels: blocks that should be resident per multiprocessor."""

Extents = tuple[int | None, int | None, int | None]
"""Extents along x, y and z; None if unknown."""


def known_grid(kernel: Operation) -> Extents:
    """Grid size of every launch of a kernel, as far as attributes state it."""
    return _extents(kernel, MAPPED_GRID, "grid")


def most_blocks(kernel: Operation) -> Extents:
    """Upper bounds of the grid size of every launch, as far as attributes state it."""
    x, y, z = known_grid(kernel)
    most = kernel.attributes.get(MOST_BLOCKS)
    return most.value if x is None and isinstance(most, IntegerAttr) else x, y, z


def known_block(kernel: Operation) -> Extents:
    """Block size of every launch of a kernel, as far as attributes state it.

    >>> from gpucodegen.ir.types import I32
    >>> size = DenseArrayAttr(I32, (64, 1, 1))
    >>> known_block(kernel("k", (), (), attributes={"known_block_size": size}))
    (64, 1, 1)
    """
    return _extents(kernel, MAPPED_BLOCK, "block")


def resident_blocks(kernel: Operation) -> int | None:
    """Blocks of a kernel that should be resident per multiprocessor, if it says so."""
    value = kernel.attributes.get(RESIDENT)
    return value.value if isinstance(value, IntegerAttr) else None


def _extents(kernel: Operation, mapped: str, what: str) -> Extents:
    """Extents by this package's attribute, by MLIR's, or by MLIR's until 2024."""
    for name in (mapped, f"known_{what}_size", f"gpu.known_{what}_size"):
        value = kernel.attributes.get(name)
        if isinstance(value, DenseArrayAttr) and len(value.values) == 3:
            x, y, z = (int(v) if int(v) >= 0 else None for v in value.values)
            return x, y, z
    return None, None, None


def workgroup_count(op: Operation) -> int:
    """Number of workgroup buffers of a kernel or launch; the rest are private."""
    value = op.attributes.get("workgroup_attributions")
    return value.value if isinstance(value, IntegerAttr) else 0


_BODY_SEGMENTS = 12  # operand groups of gpu.launch


@dataclass(frozen=True, slots=True)
class Launch:
    """Reading access to a ``gpu.launch``."""

    operation: Operation

    tokens = Segments(0, of=_BODY_SEGMENTS)
    sizes = Segments(1, 7, of=_BODY_SEGMENTS)
    """Grid size in x, y, z, then block size in x, y, z."""
    cluster = Segments(7, 10, of=_BODY_SEGMENTS)
    """Blocks per cluster in x, y, z, if given."""
    shared_size = Segments(10, of=_BODY_SEGMENTS)

    @property
    def arguments(self) -> tuple[Value, ...]:
        """Body arguments: block and thread indices, grid and block sizes, buffers."""
        return self.operation.regions[0].blocks[0].arguments

    @property
    def attributions(self) -> tuple[Value, ...]:
        """Workgroup buffers, then private buffers."""
        return self.arguments[18 if self.cluster else 12 :]


_LAUNCH_SEGMENTS = 13  # operand groups of gpu.launch_func


@dataclass(frozen=True, slots=True)
class LaunchFunc:
    """Reading access to a ``gpu.launch_func``."""

    operation: Operation

    @property
    def kernel(self) -> tuple[str, ...]:
        value = self.operation.attributes.get("kernel")
        return value.path if isinstance(value, SymbolRefAttr) else ()

    @property
    def _segments(self) -> tuple[tuple[Value, ...], ...]:
        if OPERAND_SEGMENTS in self.operation.attributes:
            return operand_segments(self.operation, _LAUNCH_SEGMENTS)
        rest = len(self.operation.operands) - 6
        return split(
            self.operation.operands, (0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, rest, 0)
        )

    @property
    def tokens(self) -> tuple[Value, ...]:
        return self._segments[0]

    @property
    def cluster(self) -> tuple[Value, ...]:
        return tuple(v for group in self._segments[7:10] for v in group)

    @property
    def stream(self) -> tuple[Value, ...]:
        return self._segments[12]

    @property
    def grid(self) -> tuple[Value, ...]:
        return tuple(v for group in self._segments[1:4] for v in group)

    @property
    def block(self) -> tuple[Value, ...]:
        return tuple(v for group in self._segments[4:7] for v in group)

    @property
    def shared_size(self) -> tuple[Value, ...]:
        return self._segments[10]

    @property
    def arguments(self) -> tuple[Value, ...]:
        return self._segments[11]


def kernel(
    name: str,
    args: Sequence[Value],
    body: Sequence[Operation],
    *,
    attributes: Mapping[str, Attribute] | None = None,
    location: Location = UNKNOWN,
) -> Operation:
    """A ``gpu.func ... kernel``; ``body`` includes the ``gpu.return``."""
    signature = FunctionType(tuple(a.type for a in args), ())
    merged: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": TypeAttr(signature),
        "kernel": UnitAttr(),
        **(attributes or {}),
    }
    region = single_block(body, args)
    return Operation(
        "gpu.func", attributes=merged, regions=(region,), location=location
    )


def barrier(*, location: Location = UNKNOWN) -> Operation:
    return Operation("gpu.barrier", location=location)


def dimension_of(op: Operation) -> str:
    """``x``, ``y`` or ``z`` of an identity operation."""
    value = op.attributes.get("dimension")
    text = value.text if isinstance(value, OpaqueAttr) else ""
    return text.removeprefix("#gpu.dim<").removesuffix(">")
