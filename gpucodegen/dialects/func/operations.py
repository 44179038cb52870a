"""Table, syntax and checks of the func operations."""

from __future__ import annotations

from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects import func as view
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import types_differ, wrong_operand
from gpucodegen.dialects.framework.declare import op, terminator
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.signatures import (
    FUNCTION_ATTRIBUTES,
    check_attributes,
    parse_signature,
    print_function,
)
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.gcg import check_groups
from gpucodegen.dialects.linalg.legacy import RANGE
from gpucodegen.dialects.shared.effects import check_effects
from gpucodegen.ir.attributes import (
    Attribute,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    print_symbol,
)
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.ir.types import FunctionType

_VISIBILITY = ("public", "private", "nested")


def parse_func(r: Reader, state: State) -> None:
    """``private? @name(arguments) -> results attributes {..}? { body }?``."""
    if r.token in _VISIBILITY:
        state.attributes["sym_visibility"] = StringAttr(r.advance())
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    signature = parse_signature(r)
    state.attributes |= signature.attributes
    state.attributes |= _further_attributes(r)
    region = Region()
    if r.token == "{":
        start = r.start
        region = r.region(signature.arguments, isolated=True, dialect="func")
        if not any(block.operations for block in region.blocks):
            raise errors.EmptyBody(
                r.location(start), operation="func.func", expected="a return"
            )
    elif state.name == "func.func" and "sym_visibility" not in state.attributes:
        name = state.attributes["sym_name"]
        r.warn(errors.MissingVisibility(r.location(state.start), name=name))
    state.regions = [region]
    _warn_of_ranges(r, state)


def _warn_of_ranges(r: Reader, state: State) -> None:
    """Warn of ``!linalg.range`` in a signature, which its documentation forbids."""
    signature = state.attributes["function_type"]
    assert isinstance(signature, TypeAttr)
    assert isinstance(signature.type, FunctionType)
    if RANGE in (*signature.type.inputs, *signature.type.results):
        name = state.attributes["sym_name"]
        r.warn(errors.RangeCrossesFunction(r.location(state.start), name=name))


def _further_attributes(r: Reader) -> dict[str, Attribute]:
    """``attributes {..}`` without those that the signature states."""
    start = r.start
    entries = r.attr_dict_with_keyword()
    for name in ("sym_name", "function_type"):
        if name in entries:
            raise errors.InvalidAttribute(
                r.location(start),
                problem=f"'{name}' is already stated by the signature",
                hint="Remove it from the attributes",
            )
    return entries


def print_func(w: Writer, o: Operation) -> None:
    """``private @name(arguments) -> results attributes {..} { body }``."""
    function = view.Function(o)
    if "sym_visibility" in o.attributes:
        w.write(f" {function.visibility}")
    w.write(f" {print_symbol(function.name)}")
    print_function(w, o)


def check_func(o: Operation) -> None:
    """Entry block arguments and returned values fit the signature."""
    check_attributes(o)
    check_effects(o)
    check_groups(o)
    function = view.Function(o)
    if function.is_external:
        return
    actual = tuple(a.type for a in function.arguments)
    if actual != function.type.inputs:
        raise types_differ(
            o,
            "the signature",
            FunctionType(function.type.inputs, ()),
            "the entry block",
            FunctionType(actual, ()),
        )
    for block in function.blocks:
        for last in block.operations[-1:]:
            _check_return(last, function)


def _check_return(last: Operation, function: view.Function) -> None:
    if last.name not in ("func.return", "gpu.return"):
        return
    actual = tuple(v.type for v in last.operands)
    if actual != function.result_types:
        raise errors.ReturnMismatch(
            last.location,
            actual=", ".join(map(str, actual)),
            expected=", ".join(map(str, function.result_types)),
            focus=wrong_operand(last, function.result_types),
        )


def _signature_fits(o: Operation) -> None:
    ty = o.operands[0].type
    actual = FunctionType(
        tuple(v.type for v in o.operands[1:]), tuple(v.type for v in o.results)
    )
    if isinstance(ty, FunctionType) and ty != actual:
        raise types_differ(o, "the callee", ty, "the call", actual)


def _parse_call_indirect(r: Reader, state: State) -> None:
    callee = r.use()
    start = r.start
    uses = r.listed("(", ")", r.use)
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.function_type()
    state.operands = [r.resolve(callee, ty), *r.resolve_all(uses, ty.inputs, start)]
    state.result_types = list(ty.results)


def _print_call_indirect(w: Writer, o: Operation) -> None:
    w.write(f" {w.name(o.operands[0])}({w.names(o.operands[1:])})")
    w.attr_dict(o)
    w.write(f" : {o.operands[0].type}")


def _is_plain_name(attribute: Attribute) -> bool:
    return isinstance(attribute, SymbolRefAttr) and len(attribute.path) == 1


_NAME = replace(kinds.SYMBOL, what="the name of a function", accepts=_is_plain_name)

OPERATIONS = (
    op(
        "func.func",
        "",
        (parse_func, print_func),
        attributes=FUNCTION_ATTRIBUTES
        | {"sym_visibility": kinds.optional(kinds.VISIBILITY)},
        traits=Trait.ISOLATED | Trait.AFFINE_SCOPE,
        regions=1,
        checks=[check_func],
    ),
    terminator(
        "func.return",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        parents=["func.func"],
    ),
    op(
        "func.call",
        "operands* -> results*",
        "$callee `(` $operands `)` attr-dict `:` functional-type($operands, $results)",
        attributes={
            "callee": _NAME,
            "no_inline": kinds.UNIT,
            "arg_attrs": kinds.optional(kinds.ARRAY),
            "res_attrs": kinds.optional(kinds.ARRAY),
        },
    ),
    op(
        "func.call_indirect",
        "callee operands* -> results*",
        (_parse_call_indirect, _print_call_indirect),
        types={"callee": constraints.FUNCTION},
        checks=[_signature_fits],
    ),
    op(
        "func.constant",
        "-> result",
        "attr-dict $value `:` type($result)",
        attributes={"value": _NAME},
        traits=Trait.PURE | Trait.CONSTANT,
    ),
)
