"""Table of the affine operations: loops, conditions, accesses and index arithmetic."""

from __future__ import annotations

from gpucodegen.dialects.affine import checks, syntax
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import (
    ElseRegion,
    RegionOf,
    ResultTypes,
)
from gpucodegen.dialects.framework.declare import (
    element_of,
    indices,
    like,
    op,
    pure,
    terminator,
)
from gpucodegen.dialects.framework.definition import Infer, Op
from gpucodegen.dialects.memref.operations import PREFETCH, PREFETCHED

_INDEX = {"result": constraints.INDEX_TYPE}
_BASIS_LIST = "custom<DynamicIndexList>($dynamic_basis, $static_basis, Paren)"
_BASIS = {"dynamic_basis": constraints.INDEX_TYPE}


def _map_op(name: str, result: Infer = indices) -> Op:
    return pure(
        f"affine.{name}",
        "mapOperands* -> result",
        "custom<Map> attr-dict",
        custom={"Map": syntax.Applied("mapOperands", "map")},
        implied={"result": result},
        attributes={"map": kinds.MAP},
        types={"mapOperands": constraints.INDEX_TYPE, **_INDEX},
        checks=[checks.check_map, checks.check_results],
    )


def _access(name: str, *, stored: bool) -> Op:
    is_vector = name.startswith("vector")
    vector = "value" if stored else "result"
    return op(
        f"affine.{name}",
        "value memref indices*" if stored else "memref indices* -> result",
        f"{'$value `,` ' if stored else ''}$memref `` custom<Subscripts> attr-dict"
        f" `:` type($memref){f' `,` type(${vector})' if is_vector else ''}",
        attributes={"map": kinds.MAP},
        implied={} if is_vector else {vector: element_of("memref")},
        types={
            "memref": constraints.MEMREF,
            "indices": constraints.INDEX_TYPE,
            **({vector: constraints.VECTOR} if is_vector else {}),
        },
        checks=[checks.check_access(int(stored))],
        custom={"Subscripts": syntax.Subscripts()},
    )


OPERATIONS = (
    op(
        "affine.for",
        "lowerBoundOperands* upperBoundOperands* inits* -> results*",
        (syntax.parse_for, syntax.print_for),
        attributes={
            "lowerBoundMap": kinds.MAP,
            "upperBoundMap": kinds.MAP,
            "step": kinds.optional(kinds.INDEX_INT),
        },
        types={
            "lowerBoundOperands": constraints.INDEX_TYPE,
            "upperBoundOperands": constraints.INDEX_TYPE,
        },
        adapt=syntax.modern_for,
        regions=1,
        terminators=["affine.yield"],
        checks=[checks.check_for],
    ),
    op(
        "affine.if",
        "operands* -> results*",
        "custom<Set> custom<Types> custom<Then> custom<Else> attr-dict",
        custom={
            "Set": syntax.Applied("operands", "condition"),
            "Types": ResultTypes(bare=True),
            "Then": RegionOf(syntax.YIELD),
            "Else": ElseRegion(syntax.YIELD),
        },
        attributes={"condition": kinds.SET},
        types={"operands": constraints.INDEX_TYPE},
        regions=2,
        terminators=["affine.yield"],
        checks=[checks.check_if],
    ),
    op(
        "affine.parallel",
        "mapOperands* -> results*",
        (syntax.parse_parallel, syntax.print_parallel),
        attributes={
            "lowerBoundsMap": kinds.MAP,
            "lowerBoundsGroups": kinds.OPTIONAL,
            "upperBoundsMap": kinds.MAP,
            "upperBoundsGroups": kinds.OPTIONAL,
            "steps": kinds.ARRAY,
            "reductions": kinds.ARRAY,
        },
        types={"mapOperands": constraints.INDEX_TYPE},
        adapt=syntax.modern_parallel,
        regions=1,
        terminators=["affine.yield"],
        checks=[checks.check_parallel],
    ),
    terminator(
        "affine.yield",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        parents=["affine.for", "affine.if", "affine.parallel"],
    ),
    _map_op("apply", syntax.one_per_result),
    _map_op("min"),
    _map_op("max"),
    _access("load", stored=False),
    _access("store", stored=True),
    _access("vector_load", stored=False),
    _access("vector_store", stored=True),
    op(
        "affine.prefetch",
        "memref:memref indices*",
        f"$memref `` custom<Subscripts> {PREFETCH} attr-dict `:` type($memref)",
        custom={"Subscripts": syntax.Subscripts()},
        attributes=PREFETCHED | {"map": kinds.MAP},
        checks=[checks.check_access(0), checks.check_locality],
    ),
    op(
        "affine.dma_start",
        "operands*",
        (syntax.parse_dma_start, syntax.print_dma_start),
        attributes={"src_map": kinds.MAP, "dst_map": kinds.MAP, "tag_map": kinds.MAP},
        checks=[checks.check_dma_start],
    ),
    op(
        "affine.dma_wait",
        "tagMemRef tagIndices* numElements",
        "$tagMemRef `` custom<Subscripts> `,` $numElements attr-dict"
        " `:` type($tagMemRef)",
        custom={"Subscripts": syntax.Subscripts("tagIndices", "tag_map")},
        implied={"numElements": indices},
        attributes={"tag_map": kinds.MAP},
        checks=[checks.check_dma_wait],
    ),
    pure(
        "affine.delinearize_index",
        "linear_index dynamic_basis* -> multi_index*",
        f"$linear_index `into` {_BASIS_LIST} attr-dict `:` type($multi_index)",
        implied={"linear_index": like("multi_index")},
        attributes={"static_basis": kinds.integers()},
        types={"linear_index": checks.INDEX_LIKE, **_BASIS},
        checks=[checks.check_delinearize],
        adapt=syntax.modern_delinearize,
    ),
    pure(
        "affine.linearize_index",
        "multi_index* dynamic_basis* -> linear_index",
        f"(`disjoint` $disjoint^)? `[` $multi_index `]` `by` {_BASIS_LIST} attr-dict"
        " `:` type($linear_index)",
        implied={"multi_index": like("linear_index")},
        attributes={"static_basis": kinds.integers(), "disjoint": kinds.UNIT},
        types={"linear_index": checks.INDEX_LIKE, **_BASIS},
        checks=[checks.check_linearize],
    ),
)
