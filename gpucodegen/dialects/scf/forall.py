"""Syntax of scf.forall: parallel loops over tensors with shared results."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects.framework.assembly_elements import (
    indices_text,
    read_indices,
)
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Use, Writer
from gpucodegen.dialects.shared.carried import Carried, parse_carried, print_carried
from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import Operation, Region, Value, single_block
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments
from gpucodegen.ir.types import I64, INDEX

END = "scf.forall.in_parallel"
BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")


Bounds = tuple[list[Value], list[int]]
"""Values and numbers, with a mark where a value stands."""


@dataclass(slots=True)
class Loops:
    """Names of the variables; lower bounds, upper bounds and steps."""

    names: list[Use]
    bounds: list[Bounds]

    def variables(self, r: Reader) -> list[Argument]:
        """The variables as block arguments."""
        return [r.argument(name, INDEX) for name in self.names]


def parse_forall(r: Reader, state: State) -> None:
    """``(%i) in (%n) shared_outs(%o = %t) -> (types) { .. }``; also ``= to step``."""
    parse_body(r, state, parse_loops(r))


def parse_loops(r: Reader) -> Loops:
    """``(%i) in (%n)``, or ``(%i) = (%l) to (%u) step (%s)``."""
    names = r.listed("(", ")", r.use)
    if r.token == "in":
        r.advance()
        count = len(names)
        return Loops(names, [([], [0] * count), _bounds(r), ([], [1] * count)])
    r.expect("=")
    bounds = [_bounds(r)]
    for word in ("to", "step"):
        r.one_of((word,), f"'{word}'")
        bounds.append(_bounds(r))
    return Loops(names, bounds)


def parse_body(r: Reader, state: State, loops: Loops) -> None:
    """``shared_outs(%o = %t) -> (types) { .. }``."""
    outputs = parse_carried(r, "shared_outs")
    arguments = [*loops.variables(r), *outputs.arguments]
    region = complete(r.region(arguments, terminator=END))
    state.attributes |= r.attr_dict()
    finish(state, loops, outputs, region)


def finish(state: State, loops: Loops, outputs: Carried, region: Region) -> None:
    """Fill in the operation."""
    for name, (_, static) in zip(BOUNDS, loops.bounds, strict=True):
        state.attributes[name] = DenseArrayAttr(I64, tuple(static))
    groups = [*(dynamic for dynamic, _ in loops.bounds), outputs.inits]
    state.give(groups)
    state.result_types = outputs.types
    state.regions = [region]


def complete(region: Region) -> Region:
    """The body; the end that was left out has an empty region."""
    (block,) = region.blocks
    *before, last = block.operations
    if last.name == END and not last.regions:
        last = last.with_(regions=(single_block([]),))
    return Region((block.with_operations([*before, last]),))


def _bounds(r: Reader) -> Bounds:
    """``(%n, 10)``."""
    uses, static = read_indices(r, "()")
    return [r.resolve(use, INDEX) for use in uses], static


def print_forall(w: Writer, o: Operation) -> None:
    """``(%i) in (%n) shared_outs(%o = %t) -> (types) { .. }``."""
    lower, upper, step, outputs = operand_segments(o, 4)
    texts = [
        indices_text(w, o.numbers(name), values)
        for name, values in zip(BOUNDS, (lower, upper, step), strict=True)
    ]
    count = len(o.numbers("staticUpperBound"))
    arguments = o.body.arguments
    w.write(f" ({w.names(arguments[:count])})")
    is_normal = not lower and not step
    is_normal = is_normal and set(o.numbers("staticLowerBound")) <= {0}
    if is_normal and set(o.numbers("staticStep")) <= {1}:
        w.write(f" in ({texts[1]})")
    else:
        w.write(f" = ({texts[0]}) to ({texts[1]}) step ({texts[2]})")
    print_carried(w, arguments[count:], outputs, o.results, "shared_outs")
    w.write(" ")
    is_plain = not o.results and not o.body.operations[-1].body.operations
    w.region(o.regions[0], elide=END if is_plain else "")
    w.attr_dict(o, (OPERAND_SEGMENTS, *BOUNDS))


def parse_in_parallel(r: Reader, state: State) -> None:
    """``{ tensor.parallel_insert_slice .. }``."""
    state.regions = [r.region()]
    if not state.regions[0].blocks:
        state.regions = [single_block([])]
    state.attributes |= r.attr_dict()


def print_in_parallel(w: Writer, o: Operation) -> None:
    """``{ tensor.parallel_insert_slice .. }``."""
    w.write(" ")
    w.region(o.regions[0])
    w.attr_dict(o)
