"""affine: loops, conditions, accesses and index arithmetic."""

from __future__ import annotations

from gpucodegen.dialects.affine import (
    accesses,
    checks,
    generic,
    linear,
    loops,
)
from gpucodegen.dialects.affine import parallel_syntax as parallel
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Op, Trait

_INDEX = {"result": constraints.INDEX_TYPE}
_BASIS = {"dynamic_basis": constraints.INDEX_TYPE}


def _map_op(name: str) -> Op:
    return op(
        f"affine.{name}",
        "mapOperands* -> result",
        (accesses.parse_apply, accesses.print_apply),
        attributes={"map": kinds.MAP},
        types={"mapOperands": constraints.INDEX_TYPE, **_INDEX},
        traits=Trait.PURE,
        checks=[checks.check_map, checks.check_results],
    )


def _access(name: str, signature: str, position: int) -> Op:
    pair = {
        "load": (accesses.parse_load, accesses.print_load),
        "store": (accesses.parse_store, accesses.print_store),
        "vector_load": (accesses.parse_vector_load, accesses.print_vector_load),
        "vector_store": (accesses.parse_vector_store, accesses.print_vector_store),
    }
    vector = "value" if position else "result"
    return op(
        f"affine.{name}",
        signature,
        pair[name],
        attributes={"map": kinds.MAP},
        types={
            "memref": constraints.MEMREF,
            "indices": constraints.INDEX_TYPE,
            **({vector: constraints.VECTOR} if "vector" in name else {}),
        },
        checks=[checks.check_access(position)],
    )


OPERATIONS = (
    op(
        "affine.for",
        "lowerBoundOperands* upperBoundOperands* inits* -> results*",
        (loops.parse_for, loops.print_for),
        attributes={
            "lowerBoundMap": kinds.MAP,
            "upperBoundMap": kinds.MAP,
            "step": kinds.optional(kinds.INDEX_INT),
        },
        types={
            "lowerBoundOperands": constraints.INDEX_TYPE,
            "upperBoundOperands": constraints.INDEX_TYPE,
        },
        adapt=generic.modern_for,
        regions=1,
        terminators=["affine.yield"],
        checks=[checks.check_for],
    ),
    op(
        "affine.if",
        "operands* -> results*",
        (loops.parse_if, loops.print_if),
        attributes={"condition": kinds.SET},
        types={"operands": constraints.INDEX_TYPE},
        regions=2,
        terminators=["affine.yield"],
        checks=[checks.check_if],
    ),
    op(
        "affine.parallel",
        "mapOperands* -> results*",
        (parallel.parse_parallel, parallel.print_parallel),
        attributes={
            "lowerBoundsMap": kinds.MAP,
            "lowerBoundsGroups": kinds.OPTIONAL,
            "upperBoundsMap": kinds.MAP,
            "upperBoundsGroups": kinds.OPTIONAL,
            "steps": kinds.ARRAY,
            "reductions": kinds.ARRAY,
        },
        types={"mapOperands": constraints.INDEX_TYPE},
        adapt=generic.modern_parallel,
        regions=1,
        terminators=["affine.yield"],
        checks=[checks.check_parallel],
    ),
    op(
        "affine.yield",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        traits=Trait.TERMINATOR,
        parents=["affine.for", "affine.if", "affine.parallel"],
    ),
    _map_op("apply"),
    _map_op("min"),
    _map_op("max"),
    _access("load", "memref indices* -> result", 0),
    _access("store", "value memref indices*", 1),
    _access("vector_load", "memref indices* -> result", 0),
    _access("vector_store", "value memref indices*", 1),
    op(
        "affine.prefetch",
        "memref indices*",
        (accesses.parse_prefetch, accesses.print_prefetch),
        attributes={
            "map": kinds.MAP,
            "isWrite": kinds.BOOL,
            "localityHint": kinds.INT32,
            "isDataCache": kinds.BOOL,
        },
        types={"memref": constraints.MEMREF},
        checks=[checks.check_access(0), checks.check_locality],
    ),
    op(
        "affine.dma_start",
        "operands*",
        (accesses.parse_dma_start, accesses.print_dma_start),
        attributes={"src_map": kinds.MAP, "dst_map": kinds.MAP, "tag_map": kinds.MAP},
        checks=[checks.check_dma_start],
    ),
    op(
        "affine.dma_wait",
        "operands*",
        (accesses.parse_dma_wait, accesses.print_dma_wait),
        attributes={"tag_map": kinds.MAP},
        checks=[checks.check_dma_wait],
    ),
    op(
        "affine.delinearize_index",
        "linear_index dynamic_basis* -> multi_index*",
        (linear.parse_delinearize, linear.print_delinearize),
        attributes={"static_basis": kinds.integers()},
        types={"linear_index": linear.INDEX_LIKE, **_BASIS},
        traits=Trait.PURE,
        checks=[linear.check_delinearize],
        adapt=generic.modern_delinearize,
    ),
    op(
        "affine.linearize_index",
        "multi_index* dynamic_basis* -> linear_index",
        (linear.parse_linearize, linear.print_linearize),
        attributes={"static_basis": kinds.integers(), "disjoint": kinds.UNIT},
        types={"linear_index": linear.INDEX_LIKE, **_BASIS},
        traits=Trait.PURE,
        checks=[linear.check_linearize],
    ),
)
