"""Table of the linalg operations, generic and named."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import op, pure, terminator
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.linalg import checks, legacy, relayout, syntax
from gpucodegen.dialects.linalg.named_definitions import with_region
from gpucodegen.dialects.linalg.named_tables import MAPPED, NAMED, POINTWISE

_STRUCTURED = "inputs* outputs* -> results*"
_OWN_ATTRIBUTES = ("strides", "dilations", "cast", "fun", "kind", "indexing_maps")
_REQUIRED = {
    "contract": {"indexing_maps": kinds.ARRAY},
    "scaled_contract": {"indexing_maps": kinds.ARRAY},
    "elementwise": {"kind": kinds.ANY},
}
_SHAPED_ENDS = {"input": constraints.SHAPED, "init": constraints.SHAPED}


def _named(name: str) -> Op:
    return op(
        f"linalg.{name}",
        _STRUCTURED,
        (syntax.parse_named, syntax.print_named),
        attributes=dict.fromkeys(_OWN_ATTRIBUTES, kinds.OPTIONAL)
        | _REQUIRED.get(name, {}),
        regions=None,
        checks=[
            checks.check_operands,
            checks.check_named,
            checks.check_contraction,
        ],
        adapt=syntax.normalize_named,
        flatten=with_region,
    )


OPERATIONS = (
    op(
        "linalg.generic",
        _STRUCTURED,
        (syntax.parse_generic, syntax.print_generic),
        attributes={
            "indexing_maps": kinds.ARRAY,
            "iterator_types": kinds.ARRAY,
            "doc": kinds.OPTIONAL,
            "library_call": kinds.optional(kinds.STRING),
        },
        regions=1,
        terminators=["linalg.yield"],
        checks=[checks.check_operands, checks.check_generic],
        adapt=syntax.modern_iterators,
    ),
    *(_named(name) for name in (*NAMED, *POINTWISE, *MAPPED)),
    op(
        "linalg.map",
        "inputs:shaped* init:shaped -> result*",
        (syntax.parse_map, syntax.print_map),
        regions=1,
        terminators=["linalg.yield"],
        checks=[checks.check_map],
        adapt=syntax.add_output_argument,
    ),
    op(
        "linalg.reduce",
        "operands:shaped* -> results*",
        (syntax.parse_reduce, syntax.print_reduce),
        attributes={"dimensions": kinds.integers()},
        regions=1,
        terminators=["linalg.yield"],
        checks=[checks.check_reduce],
    ),
    op(
        "linalg.transpose",
        "input init -> result*",
        (
            syntax.parse_dimensions("permutation"),
            syntax.print_dimensions("permutation"),
        ),
        attributes={"permutation": kinds.integers()},
        types=_SHAPED_ENDS,
        regions=None,
        checks=[checks.check_transpose],
        adapt=syntax.drop_region,
        flatten=with_region,
    ),
    op(
        "linalg.broadcast",
        "input init -> result*",
        (
            syntax.parse_dimensions("dimensions"),
            syntax.print_dimensions("dimensions"),
        ),
        attributes={"dimensions": kinds.integers()},
        types=_SHAPED_ENDS,
        regions=None,
        checks=[checks.check_broadcast],
        adapt=syntax.drop_region,
        flatten=with_region,
    ),
    pure(
        "linalg.index",
        "-> result:index",
        "$dim attr-dict `:` type($result)",
        attributes={"dim": kinds.INT64},
        parents=["linalg.generic", "linalg.map", "linalg.reduce"],
        checks=[checks.check_index],
    ),
    terminator(
        "linalg.yield",
        "values*",
        "attr-dict ($values^ `:` type($values))?",
        parents=["linalg.generic", "linalg.map", "linalg.reduce", "linalg.tiled_loop"],
    ),
    *relayout.OPERATIONS,
    *legacy.OPERATIONS,
    *legacy.TILED_LOOP_OPERATIONS,
)
