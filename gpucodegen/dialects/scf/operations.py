"""Table and verifier rules of the scf operations."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import constraints, kinds, registry
from gpucodegen.dialects.framework.assembly_elements import (
    ElseRegion,
    RegionOf,
    ResultTypes,
)
from gpucodegen.dialects.framework.constraints import require, types_differ
from gpucodegen.dialects.framework.declare import always, op, terminator
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.scf import syntax
from gpucodegen.dialects.scf.syntax import BOUNDS
from gpucodegen.dialects.shared.control_flow import check_else, check_yield
from gpucodegen.ir.attributes import ArrayAttr, OpaqueAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value, operand_segments
from gpucodegen.ir.types import I1, INDEX, Type


def _types(values: Sequence[Value]) -> list[Type]:
    return [value.type for value in values]


def check_for(o: Operation) -> None:
    """Carried values, results and yields agree in type; so do bounds and step."""
    lower, upper, step, *inits = _types(o.operands)
    require(
        len(o.body.arguments) == 1 + len(inits),
        o,
        f"the body takes {len(o.body.arguments)} arguments",
        f"Give it the variable and {len(inits)} carried values",
    )
    if not lower == upper == step == o.body.arguments[0].type:
        raise types_differ(
            o,
            "the lower bound",
            lower,
            "the upper bound, step or variable",
            upper if upper != lower else step,
        )
    require(
        _types(o.body.arguments[1:]) == inits == _types(o.results),
        o,
        "body arguments, initial values and results differ in type",
        "Give them the same types in the same order",
    )
    check_yield(o, inits)


def check_if(o: Operation) -> None:
    """With results there is an else branch, and both branches yield them."""
    check_else(o)
    check_yields(o)


def check_yields(o: Operation) -> None:
    """Every region yields the results."""
    check_yield(o, _types(o.results), "scf.yield")


def check_execute_region(o: Operation) -> None:
    """The region has a block, and yields the results."""
    if not o.regions[0].blocks:
        raise errors.WrongRegionCount.at(
            o, expected="a region of blocks", actual="none"
        )
    check_yields(o)


def check_index_switch(o: Operation) -> None:
    """Distinct cases, with one region for each and one for the default."""
    values = o.numbers("cases")
    if len(o.regions) != len(values) + 1:
        raise errors.WrongRegionCount.at(
            o, expected=f"{len(values) + 1} regions", actual=len(o.regions)
        )
    if len(set(values)) != len(values):
        raise errors.WrongAttribute.at(
            o, problem="a case is listed twice", hint="List each case once"
        )
    check_yields(o)


# -- while -----------------------------------------------------------------------------


def check_while(o: Operation) -> None:
    """Initial values, condition operands and yields match the regions' arguments."""
    before, after = o.regions
    _check_end(o, before, "scf.condition")
    _check_end(o, after, "scf.yield")
    check_yield(o, _types(o.operands), "scf.yield")
    results = _types(o.results)
    require(
        _types(before.blocks[0].arguments) == _types(o.operands),
        o,
        "the first region's arguments differ from the initial values",
        "Give them the same types",
    )
    require(
        _types(after.blocks[0].arguments) == results,
        o,
        "the second region's arguments differ from the results",
        "Give them the same types",
    )
    last = before.blocks[0].operations[-1]
    forwarded = _types(last.operands[1:])
    if last.name == "scf.condition" and forwarded != results:
        raise errors.YieldMismatch(
            last.location,
            operation="scf.condition",
            expected=", ".join(map(str, results)),
            actual=", ".join(map(str, forwarded)),
        )


def _check_end(o: Operation, region: Region, name: str) -> None:
    """The region ends in this terminator, if its last operation is registered."""
    for block in region.blocks:
        last = block.operations[-1] if block.operations else None
        if last is not None and registry.lookup(last.name) is None:
            continue
        if last is None or last.name != name:
            place = o.location if last is None else last.location
            raise errors.MissingTerminator(place, operation=o.name, expected=name)


# -- parallel --------------------------------------------------------------------------


def check_parallel(o: Operation) -> None:
    """Lower bound, upper bound and step per variable; one reduction per result."""
    lower, upper, steps, inits = operand_segments(o, 4)
    count = len(o.body.arguments)
    require(count, o, "there is no variable", "Write at least one")
    bounds = {"lower bounds": lower, "upper bounds": upper, "steps": steps}
    for what, values in bounds.items():
        require(
            len(values) == count,
            o,
            f"{len(values)} {what} for {count} variables",
            "Write one per variable",
        )
    require(
        _types(o.body.arguments) == [INDEX] * count,
        o,
        "a variable is no index",
        "Make every variable an index",
    )
    require(
        _types(inits) == _types(o.results),
        o,
        "initial values and results differ in type",
        "Give them the same types in the same order",
    )
    _check_reduced(o, o.body)


def _check_reduced(o: Operation, body: Block) -> None:
    for last in body.operations[-1:]:
        require(
            last.name != "scf.reduce" or _types(last.operands) == _types(o.results),
            o,
            "reduced values and results differ in type",
            "Reduce one value for each result, of its type",
        )


def check_reduce(o: Operation) -> None:
    """One body per value, which combines two values of its type."""
    if len(o.regions) != len(o.operands):
        raise errors.WrongRegionCount.at(
            o, expected=f"{len(o.operands)} regions", actual=len(o.regions)
        )
    for value, region in zip(o.operands, o.regions, strict=True):
        (block,) = region.blocks
        require(
            _types(block.arguments) == [value.type] * 2,
            o,
            f"the body does not take two values of type {value.type}",
            "Give it two arguments of the reduced type",
        )
        check_yield(o.with_(regions=(region,)), [value.type], "scf.reduce.return")


# -- forall ----------------------------------------------------------------------------


def check_forall(o: Operation) -> None:
    """Bounds for each variable; outputs have the types of the results."""
    *bounds, outputs = operand_segments(o, 4)
    rank = len(o.body.arguments) - len(outputs)
    for name, values in zip(BOUNDS, bounds, strict=True):
        static = o.numbers(name)
        require(
            len(static) == rank and static.count(DYNAMIC_MARK) == len(values),
            o,
            f"{len(static)} entries in {name} for {rank} variables",
            "Write one per variable",
        )
    require(
        _types(outputs) == _types(o.results),
        o,
        "outputs and results differ in type",
        "Give them the same types in the same order",
    )
    require(
        _types(o.body.arguments) == [*[INDEX] * rank, *_types(outputs)],
        o,
        "the body does not take the variables and the outputs",
        "Give it an index per variable and then the outputs",
    )
    _check_mapping(o, rank)


def _check_mapping(o: Operation, rank: int) -> None:
    mapping, entries = o.attributes.get("mapping"), o.entries("mapping")
    if mapping is None or (isinstance(mapping, ArrayAttr) and not entries):
        return
    if len(entries) != rank or not all(isinstance(e, OpaqueAttr) for e in entries):
        raise errors.WrongAttribute.at(
            o,
            problem=f"mapping {mapping} for {rank} loops",
            hint="Write one attribute such as #gpu.thread<x> per loop",
        )


def check_in_parallel(o: Operation) -> None:
    """Only ``tensor.parallel_insert_slice``, as far as operations are registered."""
    for inner in o.body.operations:
        is_known = registry.lookup(inner.name) is not None
        if is_known and inner.name != "tensor.parallel_insert_slice":
            raise errors.WrongParent.at(
                inner, expected="the body of scf.forall", actual=o.name
            )


OPERATIONS = (
    op(
        "scf.for",
        "lowerBound upperBound step initArgs* -> results*",
        (syntax.parse_for, syntax.print_for),
        types={"lowerBound": constraints.SIGNLESS_OR_INDEX},
        attributes={"unsignedCmp": kinds.UNIT},
        regions=1,
        terminators=["scf.yield"],
        checks=[check_for],
    ),
    op(
        "scf.if",
        "condition:bool -> results*",
        "$condition custom<Types> custom<Then> custom<Else> attr-dict",
        custom={
            "Types": ResultTypes(),
            "Then": RegionOf("scf.yield"),
            "Else": ElseRegion("scf.yield"),
        },
        implied={"condition": always(I1)},
        regions=2,
        terminators=["scf.yield"],
        checks=[check_if],
    ),
    op(
        "scf.while",
        "inits* -> results*",
        (syntax.parse_while, syntax.print_while),
        regions=2,
        terminators=["scf.condition", "scf.yield"],
        checks=[check_while],
    ),
    terminator(
        "scf.condition",
        "condition:bool args*",
        "`(` $condition `)` attr-dict ($args^ `:` type($args))?",
        infer={"condition": syntax.BOOL_ONLY},
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
        checks=[check_parallel],
        adapt=syntax.modern_parallel,
    ),
    terminator(
        "scf.reduce",
        "operands*",
        (syntax.parse_reduce, syntax.print_reduce),
        regions=None,
        terminators=["scf.reduce.return"],
        checks=[check_reduce],
        parents=["scf.parallel"],
    ),
    terminator(
        "scf.reduce.return",
        "result",
        "$result attr-dict `:` type($result)",
        parents=["scf.reduce"],
    ),
    op(
        "scf.execute_region",
        "-> results*",
        "custom<Types> (`no_inline` $no_inline^)? custom<Body> attr-dict",
        custom={"Types": ResultTypes(bare=True), "Body": RegionOf()},
        attributes={"no_inline": kinds.UNIT},
        regions=1,
        checks=[check_execute_region],
    ),
    op(
        "scf.index_switch",
        "arg -> results*",
        (syntax.parse_index_switch, syntax.print_index_switch),
        attributes={"cases": kinds.integers()},
        types={"arg": constraints.INDEX_TYPE},
        regions=None,
        terminators=["scf.yield"],
        checks=[check_index_switch],
    ),
    op(
        "scf.forall",
        "dynamicLowerBound* dynamicUpperBound* dynamicStep* outputs:tensor*"
        " -> results*",
        (syntax.parse_forall, syntax.print_forall),
        attributes={
            "staticLowerBound": kinds.integers(),
            "staticUpperBound": kinds.integers(),
            "staticStep": kinds.integers(),
            "mapping": kinds.OPTIONAL,
        },
        regions=1,
        terminators=["scf.forall.in_parallel"],
        checks=[check_forall],
    ),
    op(
        "scf.forall.in_parallel",
        "",
        (syntax.parse_in_parallel, syntax.print_in_parallel),
        traits=Trait.TERMINATOR | Trait.NO_TERMINATOR,
        regions=1,
        parents=["scf.forall"],
        checks=[check_in_parallel],
    ),
    terminator(
        "scf.yield",
        "results*",
        "attr-dict ($results^ `:` type($results))?",
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
