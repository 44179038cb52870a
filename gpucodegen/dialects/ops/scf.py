"""scf: loops and conditions with run-time bounds."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import constraints, kinds, registry
from gpucodegen.dialects.definition import Trait
from gpucodegen.dialects.ops import scf_forall as forall
from gpucodegen.dialects.ops import scf_syntax as syntax
from gpucodegen.dialects.ops.declare import op
from gpucodegen.dialects.ops.yields import check_yield
from gpucodegen.ir.operation import Operation, Region


def _check_for(o: Operation) -> None:
    """Carried values, results and yields agree in type; so do bounds and step."""
    lower, upper, step, *inits = (v.type for v in o.operands)
    if len(o.body.arguments) != 1 + len(inits):
        raise errors.WrongStructure(
            o.location,
            operation=o.name,
            problem=f"the body takes {len(o.body.arguments)} arguments",
            hint=f"Give it the variable and {len(inits)} carried values",
        )
    if not lower == upper == step == o.body.arguments[0].type:
        raise errors.TypesDiffer(
            o.location,
            operation=o.name,
            first="the lower bound",
            first_type=lower,
            second="the upper bound, step or variable",
            second_type=upper if upper != lower else step,
        )
    carried = [v.type for v in o.body.arguments[1:]]
    if carried != inits or [v.type for v in o.results] != inits:
        raise errors.WrongStructure(
            o.location,
            operation=o.name,
            problem="body arguments, initial values and results differ in type",
            hint="Give them the same types in the same order",
        )
    check_yield(o, inits)


def _check_if(o: Operation) -> None:
    if o.results and not o.regions[1].blocks:
        raise errors.WrongRegionCount(
            o.location,
            operation=o.name,
            expected="an else branch when there are results",
            actual="none",
        )
    check_yield(o, [v.type for v in o.results], "scf.yield")


def _check_while(o: Operation) -> None:
    before, after = o.regions
    _check_end(o, before, "scf.condition")
    _check_end(o, after, "scf.yield")
    check_yield(o, [v.type for v in o.operands], "scf.yield")
    types = [v.type for v in o.results]
    if before.blocks and [v.type for v in before.blocks[0].arguments] != [
        v.type for v in o.operands
    ]:
        raise errors.WrongStructure(
            o.location,
            operation=o.name,
            problem="the first region's arguments differ from the initial values",
            hint="Give them the same types",
        )
    if after.blocks and [v.type for v in after.blocks[0].arguments] != types:
        raise errors.WrongStructure(
            o.location,
            operation=o.name,
            problem="the second region's arguments differ from the results",
            hint="Give them the same types",
        )
    for last in before.blocks[0].operations[-1:] if before.blocks else ():
        forwarded = [v.type for v in last.operands[1:]]
        if last.name == "scf.condition" and forwarded != types:
            raise errors.YieldMismatch(
                last.location,
                operation="scf.condition",
                expected=", ".join(map(str, types)),
                actual=", ".join(map(str, forwarded)),
            )


def _check_end(o: Operation, region: Region, name: str) -> None:
    """The region ends in this terminator, as far as its end is known."""
    for block in region.blocks:
        last = block.operations[-1] if block.operations else o
        if last.name != name and registry.lookup(last.name) is not None:
            raise errors.MissingTerminator(
                last.location, operation=o.name, expected=name
            )


OPERATIONS = (
    op(
        "scf.for",
        "lowerBound upperBound step initArgs* -> results*",
        (syntax.parse_for, syntax.print_for),
        types={"lowerBound": constraints.INTEGER_OR_INDEX},
        attributes={"unsignedCmp": kinds.UNIT},
        regions=1,
        terminators=["scf.yield"],
        checks=[_check_for],
    ),
    op(
        "scf.if",
        "condition -> results*",
        (syntax.parse_if, syntax.print_if),
        types={"condition": constraints.BOOL},
        regions=2,
        terminators=["scf.yield"],
        checks=[_check_if],
    ),
    op(
        "scf.while",
        "inits* -> results*",
        (syntax.parse_while, syntax.print_while),
        regions=2,
        terminators=["scf.condition", "scf.yield"],
        checks=[_check_while],
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
        },
        regions=1,
        terminators=["scf.reduce", "scf.yield"],
    ),
    op(
        "scf.reduce",
        "operands*",
        (syntax.parse_reduce, syntax.print_reduce),
        regions=None,
        terminators=["scf.reduce.return"],
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
        (syntax.parse_execute_region, syntax.print_execute_region),
        attributes={"no_inline": kinds.UNIT},
        regions=1,
    ),
    op(
        "scf.index_switch",
        "arg -> results*",
        (syntax.parse_index_switch, syntax.print_index_switch),
        attributes={"cases": kinds.integers()},
        types={"arg": constraints.INDEX_TYPE},
        regions=None,
        terminators=["scf.yield"],
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
        regions=1,
        terminators=["scf.forall.in_parallel"],
    ),
    op(
        "scf.forall.in_parallel",
        "",
        (forall.parse_in_parallel, forall.print_in_parallel),
        traits=Trait.TERMINATOR | Trait.NO_TERMINATOR,
        regions=1,
        parents=["scf.forall"],
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
