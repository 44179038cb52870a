"""scf: loops and conditions with run-time bounds."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import (
    ElseRegion,
    RegionOf,
    ResultTypes,
)
from gpucodegen.dialects.framework.declare import always, op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.scf import checks, forall, syntax
from gpucodegen.ir.types import I1

OPERATIONS = (
    op(
        "scf.for",
        "lowerBound upperBound step initArgs* -> results*",
        (syntax.parse_for, syntax.print_for),
        types={"lowerBound": constraints.SIGNLESS_OR_INDEX},
        attributes={"unsignedCmp": kinds.UNIT},
        regions=1,
        terminators=["scf.yield"],
        checks=[checks.check_for],
    ),
    op(
        "scf.if",
        "condition -> results*",
        "$condition custom<Types> custom<Then> custom<Else> attr-dict",
        custom={
            "Types": ResultTypes(),
            "Then": RegionOf("scf.yield"),
            "Else": ElseRegion("scf.yield"),
        },
        implied={"condition": always(I1)},
        types={"condition": constraints.BOOL},
        regions=2,
        terminators=["scf.yield"],
        checks=[checks.check_if],
    ),
    op(
        "scf.while",
        "inits* -> results*",
        (syntax.parse_while, syntax.print_while),
        regions=2,
        terminators=["scf.condition", "scf.yield"],
        checks=[checks.check_while],
    ),
    op(
        "scf.condition",
        "condition args*",
        "`(` $condition `)` attr-dict ($args^ `:` type($args))?",
        types={"condition": constraints.BOOL},
        infer={"condition": syntax.BOOL_ONLY},
        traits=Trait.TERMINATOR,
        parents=["scf.while"],
    ),
    op(
        "scf.parallel",
        "lowerBound* upperBound* step* initVals* -> results*",
        (syntax.parse_parallel, syntax.print_parallel),
        types={
            "lowerBound": constraints.INDEX_TYPE,
            "upperBound": constraints.INDEX_TYPE,
            "step": constraints.INDEX_TYPE,
        },
        regions=1,
        terminators=["scf.reduce", "scf.yield"],
        checks=[checks.check_parallel],
        adapt=syntax.modern_parallel,
    ),
    op(
        "scf.reduce",
        "operands*",
        (syntax.parse_reduce, syntax.print_reduce),
        regions=None,
        terminators=["scf.reduce.return"],
        checks=[checks.check_reduce],
        traits=Trait.TERMINATOR,
        parents=["scf.parallel"],
    ),
    op(
        "scf.reduce.return",
        "result",
        "$result attr-dict `:` type($result)",
        traits=Trait.TERMINATOR,
        parents=["scf.reduce"],
    ),
    op(
        "scf.execute_region",
        "-> results*",
        "custom<Types> (`no_inline` $no_inline^)? custom<Body> attr-dict",
        custom={"Types": ResultTypes(bare=True), "Body": RegionOf()},
        attributes={"no_inline": kinds.UNIT},
        regions=1,
        checks=[checks.check_execute_region],
    ),
    op(
        "scf.index_switch",
        "arg -> results*",
        (syntax.parse_index_switch, syntax.print_index_switch),
        attributes={"cases": kinds.integers()},
        types={"arg": constraints.INDEX_TYPE},
        regions=None,
        terminators=["scf.yield"],
        checks=[checks.check_index_switch],
    ),
    op(
        "scf.forall",
        "dynamicLowerBound* dynamicUpperBound* dynamicStep* outputs* -> results*",
        (forall.parse_forall, forall.print_forall),
        attributes={
            "staticLowerBound": kinds.integers(),
            "staticUpperBound": kinds.integers(),
            "staticStep": kinds.integers(),
            "mapping": kinds.OPTIONAL,
        },
        types={"outputs": constraints.TENSOR},
        regions=1,
        terminators=["scf.forall.in_parallel"],
        checks=[checks.check_forall],
    ),
    op(
        "scf.forall.in_parallel",
        "",
        (forall.parse_in_parallel, forall.print_in_parallel),
        traits=Trait.TERMINATOR | Trait.NO_TERMINATOR,
        regions=1,
        parents=["scf.forall"],
        checks=[checks.check_in_parallel],
    ),
    op(
        "scf.yield",
        "results*",
        "attr-dict ($results^ `:` type($results))?",
        traits=Trait.TERMINATOR,
        parents=[
            "scf.execute_region",
            "scf.for",
            "scf.if",
            "scf.index_switch",
            "scf.parallel",
            "scf.while",
        ],
    ),
)
