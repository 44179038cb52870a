"""Text of 2018: ``mlfunc``, ``for`` and ``if``, ``affine_apply``, sets ``@@s``.

Functions are read like those of 2019; maps with several results are split into one
operation per result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import State, Use
from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.attributes import AffineMapAttr, IntegerSetAttr
from gpucodegen.ir.operation import Operation, Region, Value, single_block
from gpucodegen.ir.types import INDEX, element_type
from gpucodegen.parser import definitions
from gpucodegen.parser.legacy import generic_forms, text_2019
from gpucodegen.parser.legacy.text_2019 import OldForm
from gpucodegen.parser.parser import Parser

_FUNCTION = re.compile(r"^\s*(?:mlfunc|cfgfunc|extfunc)\b", re.MULTILINE)


def is_of_2018(text: str) -> bool:
    """Whether a text has functions of 2018, so that labels may lack their caret."""
    return _FUNCTION.search(text) is not None


# -- functions -------------------------------------------------------------------------

_EFFECTS = ("reads", "writes", "may_reads", "may_writes")


def _function(p: Parser, state: State) -> None:
    """``mlfunc @f(..) {..}``; clauses that declare effects are refused."""
    text_2019.FORMS["func"](p, state)
    if p.token in _EFFECTS:
        raise errors.OldSyntax(
            p.location(),
            text=f"{p.token}: ..",
            hint=f"State the effect as an attribute, attributes {{gcg.{p.token} = ..}}",
        )


# -- affine_apply ----------------------------------------------------------------------


def _affine_apply(p: Parser, state: State) -> None:
    """``affine_apply (d0) -> (d0, d0 + 1) (%i)``, one value per result."""
    state.name = "affine.apply"
    map_ = p.affine_map()
    state.operands = p.affine_operands(map_.num_dims, map_.num_syms)
    state.attributes = {**p.attr_dict(), "map": AffineMapAttr(map_)}
    state.result_types = [INDEX] * len(map_.results)
    state.expand = _one_per_result


def _generic_affine_apply(_: Parser, state: State) -> None:
    """``"affine_apply"(%i) {map: ..}``."""
    state.expand = _one_per_result


def _one_per_result(op: Operation) -> Sequence[Operation]:
    attribute = op.attributes.get("map")
    if not isinstance(attribute, AffineMapAttr) or len(op.results) < 2:
        return [op]
    map_ = attribute.map
    singles = [
        AffineMapAttr(AffineMap(map_.num_dims, map_.num_syms, (expr,)))
        for expr in map_.results
    ]
    return [
        replace(op, results=(result,), attributes={**op.attributes, "map": single})
        for result, single in zip(op.results, singles, strict=False)
    ]


# -- if --------------------------------------------------------------------------------


def _if(p: Parser, state: State) -> None:
    """``if #set(%i)[%n] {..} else if .. {..} else {..}``."""
    state.name = "affine.if"
    condition = _set(p)
    state.operands = p.affine_operands(condition.num_dims, condition.num_syms)
    state.attributes["condition"] = IntegerSetAttr(condition)
    state.regions = [p.region(terminator="affine.yield"), _else(p)]


def _else(p: Parser) -> Region:
    if p.token != "else":
        return Region()
    p.advance()
    if not p.at("if"):
        return p.region(terminator="affine.yield")
    location = p.location()
    return single_block([p.operation(), Operation("affine.yield", location=location)])


def _set(p: Parser) -> IntegerSet:
    if p.token[:2] != "@@":
        return p.integer_set()
    start, name = p.start, p.advance()
    definitions.resolve_ahead(p, name)
    value = p.attribute_aliases.get(name)
    if not isinstance(value, IntegerSetAttr):
        raise errors.UnknownAlias(p.location(start), name=name)
    return value.set


# -- vector transfers ------------------------------------------------------------------


def _uses(p: Parser) -> tuple[list[Use], Use | None]:
    """Operands without brackets, the last perhaps in parentheses."""
    uses = [p.use()]
    padding = None
    while p.accept(","):
        if p.accept("("):
            padding = p.use()
            p.expect(")")
        else:
            uses.append(p.use())
    return uses, padding


def _transfer_read(p: Parser, state: State) -> None:
    """``vector_transfer_read %m, %i (, %pad)? {..} : (types) -> vector``."""
    uses, padding = _uses(p)
    state.attributes = p.attr_dict()
    p.expect(":")
    start = p.start
    signature = p.function_type()
    every = [*uses, *([padding] if padding else [])]
    values = p.resolve_all(every, signature.inputs, start)
    element = element_type(values[0].type)
    if padding is None and values[-1].type != element:
        values.append(generic_forms.constant(p, 0, element, start))
    state.name, state.result_types = "vector.transfer_read", list(signature.results)
    _grouped(state, [values[:1], values[1:-1], values[-1:], []])


def _transfer_write(p: Parser, state: State) -> None:
    """``vector_transfer_write %v, %m, %i {..} : vector, memref, index``."""
    uses, _ = _uses(p)
    state.attributes = p.attr_dict()
    p.expect(":")
    start = p.start
    values = p.resolve_all(uses, p.types(), start)
    state.name = "vector.transfer_write"
    _grouped(state, [values[:1], values[1:2], values[2:], []])


def _grouped(state: State, groups: Sequence[list[Value]]) -> None:
    state.give(groups)


FORMS: dict[str, OldForm] = {
    "affine_apply": _affine_apply,
    "cfgfunc": _function,
    "extfunc": _function,
    "for": text_2019.renamed("affine.for"),
    "if": _if,
    "mlfunc": _function,
    "vector_transfer_read": _transfer_read,
    "vector_transfer_write": _transfer_write,
}

GENERIC: dict[str, OldForm] = {"affine.apply": _generic_affine_apply}
