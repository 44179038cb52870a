"""Rules of vector.contract: maps, iterators, extents."""

from __future__ import annotations

from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.vector import contraction_iterators, contraction_maps
from gpucodegen.dialects.vector.products.reduction_checks import check_kind
from gpucodegen.dialects.vector.types import Extent, extents, vector_or_scalar
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, element_type

_SIDES = ("left", "right", "accumulator")


def check_contract(o: Operation) -> None:
    """Three maps of dimensions, which agree on every extent they share."""
    iterators = _iterators(o)
    maps = contraction_maps(o)
    require(
        len(maps) == 3,
        o,
        f"{len(maps)} indexing maps for three operands",
        "Write one map for each factor and one for the accumulator",
    )
    for side, map_, value in zip(_SIDES, maps, o.operands, strict=False):
        _check_map(o, side, map_, len(iterators), value.type)
    lhs, rhs, acc = maps
    shared = {e for e in lhs.results if e in rhs.results and e not in acc.results}
    require(
        any(iterators[e.position] == "reduction" for e in shared if isinstance(e, Dim)),
        o,
        "no dimension is contracted",
        "Give both factors a reduction dimension that the accumulator lacks",
    )
    _check_extents(o, maps)
    check_kind(o, element_type(o.results[0].type))


def _iterators(o: Operation) -> list[str]:
    words = contraction_iterators(o)
    for word in words:
        require(
            word in ("parallel", "reduction"),
            o,
            f"{word} is no iterator",
            "Write parallel or reduction",
        )
    return words


def _check_map(o: Operation, side: str, map_: AffineMap, loops: int, ty: Type) -> None:
    results = map_.results
    require(
        map_.num_dims == loops and not map_.num_syms,
        o,
        f"the {side} map {map_} has not the {loops} dimensions of the iterators",
        "Use one dimension per iterator and no symbols",
    )
    require(
        all(isinstance(e, Dim) for e in results) and len(set(results)) == len(results),
        o,
        f"the {side} map {map_} is no list of different dimensions",
        "Map to dimensions only, each at most once",
    )
    require(
        len(results) == len(extents(ty)),
        o,
        f"the {side} map {map_} does not fit {ty}",
        "Map to one dimension per dimension of the operand",
    )


def _check_extents(o: Operation, maps: list[AffineMap]) -> None:
    lhs, rhs, acc = o.operands[:3]
    known: dict[object, Extent] = {}
    for map_, value in zip(maps, (lhs, rhs), strict=False):
        for position, extent in zip(map_.results, extents(value.type), strict=True):
            require(
                known.setdefault(position, extent) == extent,
                o,
                f"{lhs.type} and {rhs.type} differ in the extent of {position}",
                "Give both factors the same extent along a dimension they share",
            )
    require(
        element_type(lhs.type) == element_type(rhs.type),
        o,
        f"{lhs.type} and {rhs.type} have different elements",
        "Convert one of them",
    )
    kept = [known.get(position, (0, False)) for position in maps[2].results]
    expected = vector_or_scalar(kept, element_type(acc.type))
    require(
        expected == acc.type,
        o,
        f"the contraction gives {expected}, not {acc.type}",
        f"Use an accumulator of type {expected}",
    )
