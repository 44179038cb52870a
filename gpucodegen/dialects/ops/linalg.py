"""linalg: generic and named structured operations."""

from __future__ import annotations

from gpucodegen.dialects import constraints, kinds
from gpucodegen.dialects.definition import Op, Trait
from gpucodegen.dialects.linalg_named import IS_POINTWISE, NAMED
from gpucodegen.dialects.ops import linalg_checks as checks
from gpucodegen.dialects.ops import linalg_syntax as syntax
from gpucodegen.dialects.ops.declare import indices, op

_STRUCTURED = "inputs* outputs* -> results*"


def _named(name: str) -> Op:
    return op(
        f"linalg.{name}",
        _STRUCTURED,
        (syntax.parse_named, syntax.print_named),
        attributes={
            "strides": kinds.OPTIONAL,
            "dilations": kinds.OPTIONAL,
            "cast": kinds.OPTIONAL,
            "indexing_maps": kinds.OPTIONAL,
        },
        regions=None,
        checks=[checks.check_operands, checks.check_named],
        adapt=syntax.drop_regions,
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
            "library_call": kinds.OPTIONAL,
        },
        regions=1,
        terminators=["linalg.yield"],
        checks=[checks.check_operands, checks.check_generic],
        adapt=syntax.modern_iterators,
    ),
    *(_named(name) for name in (*NAMED, *sorted(IS_POINTWISE))),
    op(
        "linalg.map",
        "inputs* init -> result*",
        (syntax.parse_map, syntax.print_map),
        regions=1,
        terminators=["linalg.yield"],
    ),
    op(
        "linalg.reduce",
        "inputs* inits* -> results*",
        (syntax.parse_reduce, syntax.print_reduce),
        attributes={"dimensions": kinds.integers()},
        regions=1,
        terminators=["linalg.yield"],
    ),
    op(
        "linalg.transpose",
        "input init -> result*",
        (
            syntax.parse_dimensions("permutation"),
            syntax.print_dimensions("permutation"),
        ),
        attributes={"permutation": kinds.integers()},
        types={"input": constraints.SHAPED, "init": constraints.SHAPED},
        regions=None,
        adapt=syntax.drop_regions,
    ),
    op(
        "linalg.broadcast",
        "input init -> result*",
        (syntax.parse_dimensions("dimensions"), syntax.print_dimensions("dimensions")),
        attributes={"dimensions": kinds.integers()},
        types={"init": constraints.SHAPED},
        regions=None,
        adapt=syntax.drop_regions,
    ),
    op(
        "linalg.index",
        "-> result",
        "$dim attr-dict `:` type($result)",
        attributes={"dim": kinds.INT64},
        infer={"result": indices},
        traits=Trait.PURE,
        checks=[checks.check_index],
    ),
    op(
        "linalg.yield",
        "values*",
        "attr-dict ($values^ `:` type($values))?",
        traits=Trait.TERMINATOR,
    ),
)
