"""Rules of the matrix units and copies of NVIDIA's devices."""

from __future__ import annotations

from math import prod

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.nvgpu.copy_kinds import ASYNCHRONOUS
from gpucodegen.dialects.vector.memory.checks import has_unit_stride
from gpucodegen.dialects.vector.types import extents, integers
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.segments import operand_segments
from gpucodegen.ir.types import MemRefType, Type, element_type

_LANES = 32
_SHARED = frozenset({"3", "#gpu.address_space<workgroup>", "3 : i64"})


def _require_shared(o: Operation, ty: Type) -> None:
    space = str(getattr(ty, "memory_space", ""))
    require(
        space in _SHARED,
        o,
        f"{ty} is not in the memory of a workgroup",
        "Use memory space 3 or #gpu.address_space<workgroup>",
    )


def _require_indices(o: Operation, ty: Type, count: int) -> None:
    require(
        not isinstance(ty, MemRefType) or ty.rank == count,
        o,
        f"{count} indices for {ty}",
        "Write one index per dimension",
    )


def check_ldmatrix(o: Operation) -> None:
    """Registers of 32 bits, one per tile, from shared memory."""
    source, result = o.operands[0].type, o.results[0].type
    tiles = _number(o, "numTiles")
    width = bit_width(element_type(result))
    shape = tuple(count for count, _ in extents(result))
    _require_shared(o, source)
    _require_indices(o, source, len(o.operands) - 1)
    require(
        element_type(source) == element_type(result),
        o,
        f"{source} does not hold elements of {result}",
        "Use the same element type",
    )
    require(
        shape == (tiles, 32 // max(1, width)),
        o,
        f"{tiles} tiles are not {result}",
        f"Use a vector of {tiles} x {32 // max(1, width)} elements",
    )
    require(
        width == 16 or not _number(o, "transpose"),
        o,
        f"elements of {width} bits cannot be transposed",
        "Transpose elements of 16 bits only",
    )


def _number(o: Operation, name: str) -> int:
    value = o.attributes.get(name)
    return value.value if isinstance(value, IntegerAttr) else 0


def check_product(o: Operation) -> None:
    """All lanes together hold the matrices of the shape."""
    shape = integers(o, "mmaShape")
    require(
        len(shape) == 3,
        o,
        f"the shape has {len(shape)} extents",
        "Write mmaShape = [rows, columns, inner]",
    )
    m, n, k = shape
    a, b, c = (v.type for v in o.operands[:3])
    inner = k // 2 if "sp." in o.name else k
    for ty, extent in ((a, m * inner), (b, k * n), (c, m * n)):
        held = prod(count for count, _ in extents(ty)) * _LANES
        require(
            held == extent,
            o,
            f"{_LANES} lanes of {ty} hold {held} elements, not {extent}",
            "Use vectors that make up the shape",
        )
    require(
        element_type(a) == element_type(b),
        o,
        f"{a} and {b} have different elements",
        "Convert one of them",
    )


def check_copy(o: Operation) -> None:
    """Some bytes to shared memory, of equal elements in adjacent places."""
    (target,), at, (source,), from_, _ = operand_segments(o, 5)
    _require_shared(o, target.type)
    _require_indices(o, target.type, len(at))
    _require_indices(o, source.type, len(from_))
    require(
        element_type(source.type) == element_type(target.type),
        o,
        f"{source.type} and {target.type} hold different elements",
        "Copy between buffers of one element type",
    )
    for ty in (source.type, target.type):
        require(
            not isinstance(ty, MemRefType) or has_unit_stride(ty),
            o,
            f"the elements of a row of {ty} are not adjacent",
            "Use a memref whose last stride is 1",
        )
    count, width = _number(o, "dstElements"), bit_width(element_type(source.type))
    require(
        not width or count * width in {8 * n for n in ASYNCHRONOUS.widths},
        o,
        f"{count} elements of {width} bits are not 4, 8 or 16 bytes",
        "Copy 4, 8 or 16 bytes",
    )
