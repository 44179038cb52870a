"""Table and rules of nvgpu: matrix units, asynchronous copies and mbarriers."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint, require
from gpucodegen.dialects.framework.declare import always, indices, op
from gpucodegen.dialects.framework.definition import Check, Infer, Op, Trait
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.nvgpu.copies import ASYNCHRONOUS, TOKEN
from gpucodegen.dialects.nvgpu.types import (
    BARRIERS,
    DESCRIPTOR,
    ELEMENTS,
    MAP,
    SUM,
    named,
)
from gpucodegen.dialects.vector import extents, integers
from gpucodegen.dialects.vector.memory import has_unit_stride
from gpucodegen.ir.operation import Operation, operand_segments
from gpucodegen.ir.types import I1, I16, I32, MemRefType, Type, VectorType, element_type

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
    """One 32-bit register per tile, loaded from shared memory."""
    source, result = o.operands[0].type, o.results[0].type
    tiles = o.integer("numTiles")
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
        width == 16 or not o.integer("transpose"),
        o,
        f"elements of {width} bits cannot be transposed",
        "Transpose elements of 16 bits only",
    )


def check_product(o: Operation) -> None:
    """The fragments of all lanes together hold the matrices of the shape."""
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
    """Some bytes of adjacent equal elements, copied to shared memory."""
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
    count, width = o.integer("dstElements"), bit_width(element_type(source.type))
    for ty in (source.type, target.type):
        require(
            count == 1 or not isinstance(ty, MemRefType) or has_unit_stride(ty),
            o,
            f"the elements of a row of {ty} are not adjacent",
            "Use a memref whose last stride is 1",
        )
    require(
        not width or count * width in {8 * n for n in ASYNCHRONOUS.widths},
        o,
        f"{count} elements of {width} bits are not 4, 8 or 16 bytes",
        "Copy 4, 8 or 16 bytes",
    )


_BOOL = always(I1)
_PREDICATE = "(`,` `predicate` `=` $predicate^)?"


def _op(
    name: str,
    signature: str,
    syntax: str,
    *,
    attributes: Mapping[str, AttributeKind] | None = None,
    infer: Mapping[str, Infer] | None = None,
    same: str = "",
    types: Mapping[str, TypeConstraint] | None = None,
    traits: Trait = Trait.NONE,
    check: Check | None = None,
) -> Op:
    return op(
        f"nvgpu.{name}",
        signature,
        syntax,
        attributes=attributes,
        infer=infer,
        same=same,
        types=types,
        traits=traits,
        checks=[check] if check else [],
        custom=ELEMENTS,
    )


_BARRIERS = {"barriers": named(BARRIERS)}
_MAP = {"tensorMapDescriptor": named(MAP)}
_SUM = named(SUM)


# -- matrices --------------------------------------------------------------------------


def _product(
    name: str, more: str, syntax: str, attributes: dict[str, kinds.AttributeKind]
) -> Op:
    return _op(
        name,
        f"matrixA matrixB matrixC {more}-> res",
        f"`(` $matrixA `,` $matrixB `,` $matrixC `)` {syntax}"
        " (`mmaShape` `=` $mmaShape^)? (`sparsitySelector` `=` $sparsitySelector^)?"
        " (`tf32Enabled` $tf32Enabled^)? attr-dict"
        " `:` `(` type($matrixA) `,` type($matrixB) `,` type($matrixC) `)`"
        " `->` type($res)",
        attributes={
            "mmaShape": kinds.ARRAY,
            "tf32Enabled": kinds.UNIT,
            **attributes,
        },
        infer={"sparseMetadata": always(VectorType((2,), I16))} if more else None,
        same="matrixC res",
        types={
            "matrixA": constraints.VECTOR,
            "matrixB": constraints.VECTOR,
            "matrixC": constraints.VECTOR,
        },
        traits=Trait.PURE,
        check=check_product,
    )


_MATRICES = (
    _op(
        "ldmatrix",
        "srcMemref indices* -> res",
        "$srcMemref `[` $indices `]` (`numTiles` `=` $numTiles^)?"
        " (`transpose` `=` $transpose^)? attr-dict `:` type($srcMemref)"
        " `->` type($res)",
        attributes={
            "transpose": kinds.BOOL,
            "numTiles": kinds.INT32,
        },
        infer={"indices": indices},
        types={"srcMemref": constraints.MEMREF, "res": constraints.VECTOR},
        check=check_ldmatrix,
    ),
    _product("mma.sync", "", "", {}),
    _product(
        "mma.sp.sync",
        "sparseMetadata ",
        "`metadata` `(` $sparseMetadata `)` ",
        {"sparsitySelector": kinds.integer(I32, default=0)},
    ),
    _op(
        "warpgroup.generate.descriptor",
        "tensor tensorMap -> descriptor",
        "$tensor `,` $tensorMap attr-dict `:` type($tensor) `,` custom<TensorMap>"
        " `->` custom<Descriptor>",
        types={
            "tensor": constraints.MEMREF,
            "tensorMap": named(MAP),
            "descriptor": named(DESCRIPTOR),
        },
    ),
    _op(
        "warpgroup.mma",
        "descriptorA descriptorB matrixC -> matrixD",
        "$descriptorA `,` $descriptorB `,` $matrixC (`waitGroup` `=` $waitGroup^)?"
        " (`transposeA` $transposeA^)? (`transposeB` $transposeB^)? attr-dict"
        " `:` custom<A> `,` custom<B> `,` custom<C> `->` custom<D>",
        attributes={
            "waitGroup": kinds.integer(optional=True),
            "transposeA": kinds.UNIT,
            "transposeB": kinds.UNIT,
        },
        types={
            "descriptorA": named(DESCRIPTOR),
            "descriptorB": named(DESCRIPTOR),
            "matrixC": _SUM,
            "matrixD": _SUM,
        },
    ),
    _op(
        "warpgroup.mma.store",
        "matrixD dstMemref",
        "$matrixD `,` $dstMemref attr-dict `:` custom<D> `to` type($dstMemref)",
        types={"matrixD": _SUM, "dstMemref": constraints.MEMREF},
    ),
    _op(
        "warpgroup.mma.init.accumulator",
        "-> matrixC",
        "attr-dict `->` custom<C>",
        types={"matrixC": _SUM},
    ),
)


# -- copies ----------------------------------------------------------------------------

_COPIES = (
    _op(
        "device_async_copy",
        "dst dstIndices* src srcIndices* srcElements? -> asyncToken",
        "$src `[` $srcIndices `]` `,` $dst `[` $dstIndices `]` `,` $dstElements"
        " (`,` $srcElements^)? (`bypassL1` $bypassL1^)? attr-dict"
        " `:` type($src) `to` type($dst)",
        attributes={"dstElements": kinds.INDEX_INT, "bypassL1": kinds.UNIT},
        infer={
            "dstIndices": indices,
            "srcIndices": indices,
            "srcElements": indices,
            "asyncToken": always(TOKEN),
        },
        types={"dst": constraints.MEMREF, "src": constraints.MEMREF},
        check=check_copy,
    ),
    _op(
        "device_async_create_group",
        "inputTokens* -> asyncToken",
        "$inputTokens attr-dict",
        infer={"inputTokens": always(TOKEN), "asyncToken": always(TOKEN)},
    ),
    _op(
        "device_async_wait",
        "asyncDependencies",
        "$asyncDependencies (`numGroups` `=` $numGroups^)? attr-dict",
        attributes={"numGroups": kinds.integer(I32, optional=True)},
        infer={"asyncDependencies": always(TOKEN)},
    ),
    _op(
        "tma.fence.descriptor",
        "tensorMapDescriptor",
        "$tensorMapDescriptor attr-dict `:` custom<Map>",
        types=_MAP,
    ),
    _op(
        "tma.prefetch.descriptor",
        "tensorMapDescriptor predicate?",
        f"$tensorMapDescriptor {_PREDICATE} attr-dict `:` custom<Map>",
        infer={"predicate": _BOOL},
        types=_MAP,
    ),
    _op(
        "tma.async.load",
        "dst barriers tensorMapDescriptor coordinates* mbarId multicastMask?"
        " predicate?",
        "$tensorMapDescriptor `[` $coordinates `]` `,` $barriers `[` $mbarId `]`"
        " `to` $dst (`multicast_mask` `=` $multicastMask^)?"
        f" {_PREDICATE} attr-dict `:` custom<Map> `,` custom<Barriers>"
        " `->` type($dst)",
        infer={
            "coordinates": indices,
            "mbarId": indices,
            "multicastMask": always(I16),
            "predicate": _BOOL,
        },
        types={"dst": constraints.MEMREF, **_BARRIERS, **_MAP},
    ),
    _op(
        "tma.async.store",
        "src tensorMapDescriptor coordinates* predicate?",
        f"$src `to` $tensorMapDescriptor `[` $coordinates `]` {_PREDICATE} attr-dict"
        " `:` type($src) `->` custom<Map>",
        infer={"coordinates": indices, "predicate": _BOOL},
        types={"src": constraints.MEMREF, **_MAP},
    ),
    _op(
        "tma.create.descriptor",
        "tensor boxDimensions* -> tensorMap",
        "$tensor `box` `[` $boxDimensions `]` attr-dict `:` type($tensor)"
        " `->` custom<TensorMap>",
        infer={"boxDimensions": indices},
        types={
            "tensor": constraints.ANY_MEMREF,
            "tensorMap": named(MAP),
        },
    ),
)


# -- barriers --------------------------------------------------------------------------


_SHOWN = ("token", "mbarrierPointer")


def _barrier(name: str, more: str, syntax: str, results: str = "") -> Op:
    """The table entry of an operation on one mbarrier of a group."""
    result = f" `->` type(${results})" if results in _SHOWN else ""
    tokens = " `,` type($token)" if "token" in more else ""
    return _op(
        f"mbarrier.{name}",
        f"barriers {more} -> {results}",
        f"$barriers `[` $mbarId `]` {syntax} attr-dict"
        f" `:` custom<Barriers>{tokens}{result}",
        infer={
            "mbarId": indices,
            "count": indices,
            "txcount": indices,
            "ticks": indices,
            "phaseParity": _BOOL,
            "predicate": _BOOL,
            "waitComplete": _BOOL,
        },
        types=_BARRIERS,
    )


_SYNCHRONISATION = (
    _op(
        "mbarrier.create",
        "-> barriers",
        "attr-dict `->` custom<Barriers>",
        types=_BARRIERS,
    ),
    _barrier("get", "mbarId", "", "mbarrierPointer"),
    _barrier("init", "count mbarId predicate?", f"`,` $count {_PREDICATE}"),
    _barrier("test.wait", "token mbarId", "`,` $token", "waitComplete"),
    _barrier("arrive", "mbarId", "", "token"),
    _barrier("arrive.nocomplete", "mbarId count", "`,` $count", "token"),
    _barrier(
        "arrive.expect_tx", "txcount mbarId predicate?", f"`,` $txcount {_PREDICATE}"
    ),
    _barrier(
        "try_wait.parity",
        "phaseParity ticks mbarId",
        "`,` $phaseParity `,` $ticks",
    ),
)

OPERATIONS = (*_MATRICES, *_COPIES, *_SYNCHRONISATION)
