"""Syntax of linalg.map, reduce, transpose and broadcast."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import (
    Argument,
    ParseOp,
    PrintOp,
    Reader,
    State,
    Use,
    Writer,
)
from gpucodegen.dialects.linalg.syntax import MEMOIZED, print_group, read_operands
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value, single_block
from gpucodegen.ir.types import I64, TensorType, UnrankedTensorType, element_type


def drop_region(state: State) -> None:
    """Transposes and broadcasts keep no region: their body is a copy."""
    state.regions = []
    state.attributes.pop(MEMOIZED, None)


def _tensors(values: list[Value]) -> list[Value]:
    return [v for v in values if isinstance(v.type, TensorType | UnrankedTensorType)]


def _result_types(r: Reader, state: State, outputs: int) -> None:
    """Results follow from the outputs; some text repeats them."""
    written = r.arrow_types()
    state.result_types = written or [
        v.type for v in _tensors(state.operands[-outputs:] if outputs else [])
    ]


# -- bodies ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Payload:
    """``{ arith.addf {attrs} }``: the short form of a one-operation body."""

    name: str
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])


def _payload(r: Reader) -> _Payload | None:
    if r.token != "{":
        return None
    r.advance()
    payload = _Payload(r.keyword("an operation name"), r.attr_dict())
    r.expect("}")
    return payload


def _bare_region(r: Reader, state: State) -> None:
    """``(%a: type, %b: type) { .. }``."""
    arguments = r.listed("(", ")", lambda: _argument(r))
    state.regions = [r.region(arguments)]


def _argument(r: Reader) -> Argument:
    use: Use = r.use()
    r.expect(":")
    argument = r.argument(use, r.type())
    r.skip_location()
    return argument


def _short_body(r: Reader, state: State, payload: _Payload, *, folds: bool) -> None:
    """One operation on all arguments; a fold takes the accumulator first."""
    location = r.location(state.start)
    names = ["in"] * (len(state.operands) - 1) + ["init"]
    values = [
        Value(element_type(v.type), name, location)
        for v, name in zip(state.operands, names, strict=True)
    ]
    operands = (values[-1], *values[:-1]) if folds else tuple(values[:-1])
    result = Value(values[-1].type, "", location)
    attributes = payload.attributes
    body = Operation(payload.name, operands, (result,), attributes, location=location)
    end = Operation("linalg.yield", (result,), location=location)
    state.regions = [single_block([body, end], values)]


def _print_bare_region(w: Writer, o: Operation) -> None:
    arguments = ", ".join(f"{w.name(a)}: {a.type}" for a in o.body.arguments)
    w.write(f"\n  ({arguments}) ")
    w.region(o.regions[0])


# -- map -------------------------------------------------------------------------------


def add_output_argument(state: State) -> None:
    """Bodies before 2025 took no argument for the output; it is not used."""
    state.attributes.pop(MEMOIZED, None)
    for region in state.regions:
        if len(region.blocks) != 1 or not state.operands:
            return
        (block,) = region.blocks
        if len(block.arguments) == len(state.operands) - 1:
            output = Value(element_type(state.operands[-1].type), "init")
            arguments = (*block.arguments, output)
            whole = Block(arguments, block.operations, block.label)
            state.regions = [Region((whole,))]


def parse_map(r: Reader, state: State) -> None:
    """``{ op } ins(..) outs(..)`` or ``ins(..) outs(..) (args) { .. }``."""
    payload = _payload(r)
    read_operands(r, state)
    state.attributes |= r.attr_dict()
    if payload is None:
        _bare_region(r, state)
        add_output_argument(state)
    else:
        _short_body(r, state, payload, folds=False)
    _result_types(r, state, 1)


def print_map(w: Writer, o: Operation) -> None:
    """``ins(..) outs(..) (args) { .. }``."""
    print_group(w, "ins", o.operands[:-1])
    print_group(w, "outs", o.operands[-1:])
    w.attr_dict(o)
    _print_bare_region(w, o)


# -- reduce ----------------------------------------------------------------------------


def parse_reduce(r: Reader, state: State) -> None:
    """``{ op } ins(..) outs(..) dimensions = [0] (args) { .. }``."""
    payload = _payload(r)
    start = r.start
    inputs = read_operands(r, state)
    if 2 * inputs != len(state.operands):
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem=f"{inputs} inputs but {len(state.operands) - inputs} outputs",
            hint="Pass one output per input",
        )
    _read_dimensions(r, state, "dimensions")
    state.attributes |= r.attr_dict()
    if payload is None:
        _bare_region(r, state)
    else:
        _short_body(r, state, payload, folds=True)
    _result_types(r, state, inputs)


def print_reduce(w: Writer, o: Operation) -> None:
    """``ins(..) outs(..) dimensions = [0] (args) { .. }``."""
    half = len(o.operands) // 2
    print_group(w, "ins", o.operands[:half])
    print_group(w, "outs", o.operands[half:])
    w.write(f" dimensions = {_bare(o, 'dimensions')}")
    w.attr_dict(o, ("dimensions",))
    _print_bare_region(w, o)


# -- transpose and broadcast -----------------------------------------------------------


def _read_dimensions(r: Reader, state: State, name: str) -> None:
    r.one_of((name,), f"'{name}'")
    r.expect("=")
    entries = r.listed("[", "]", r.integer)
    state.attributes[name] = DenseArrayAttr(I64, tuple(entries))


def _bare(o: Operation, name: str) -> str:
    entries = o.numbers(name)
    return f"[{', '.join(map(str, entries))}]"


def parse_dimensions(name: str) -> ParseOp:
    """``ins(..) outs(..) <name> = [1, 0]``."""

    def parse(r: Reader, state: State) -> None:
        read_operands(r, state)
        _read_dimensions(r, state, name)
        state.attributes |= r.attr_dict()
        _result_types(r, state, 1)

    return parse


def print_dimensions(name: str) -> PrintOp:
    """``ins(..) outs(..) <name> = [1, 0]``."""

    def print_(w: Writer, o: Operation) -> None:
        print_group(w, "ins", o.operands[:-1])
        print_group(w, "outs", o.operands[-1:])
        w.write(f" {name} = {_bare(o, name)}")
        w.attr_dict(o, (name,))

    return print_
