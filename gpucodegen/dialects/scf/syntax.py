"""Parsers and printers of the scf operations' custom forms.

``scf.forall`` is a parallel loop over tensors with shared results.
"""

from __future__ import annotations

from gpucodegen.dialects import scf as view
from gpucodegen.dialects.framework.assembly_elements import (
    indices_text,
    read_indices,
)
from gpucodegen.dialects.framework.declare import always, result_list
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Use, Writer
from gpucodegen.dialects.shared.control_flow import (
    Carried,
    parse_carried,
    parse_pair,
    print_carried,
)
from gpucodegen.ir.attributes import DenseArrayAttr, UnitAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Region,
    Value,
    operand_segments,
    single_block,
)
from gpucodegen.ir.types import I1, I64, INDEX
from gpucodegen.records import dataclass

END = "scf.forall.in_parallel"
BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")


Bounds = tuple[list[Value], list[int]]
"""Values and static numbers, with a marker for each value."""


@dataclass(slots=True)
class Loops:
    """Variable names, lower bounds, upper bounds and steps of a parallel loop."""

    names: list[Use]
    bounds: list[Bounds]

    def variables(self, r: Reader) -> list[Argument]:
        return [r.argument(name, INDEX) for name in self.names]


def parse_forall(r: Reader, state: State) -> None:
    """``(%i) in (%n) shared_outs(%o = %t) -> (types) { .. }``; also ``= to step``."""
    parse_body(r, state, parse_loops(r))


def parse_loops(r: Reader) -> Loops:
    """``(%i) in (%n)``, or ``(%i) = (%l) to (%u) step (%s)``."""
    names = r.listed("(", ")", r.use)
    if r.accept("in"):
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
    """The body with the terminator that the text may omit."""
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


BOOL_ONLY = always(I1)
_YIELD = "scf.yield"


# -- for -------------------------------------------------------------------------------


def parse_for(r: Reader, state: State) -> None:
    """``%i = %lb to %ub step %s iter_args(..) -> (..) : i32 { .. }``."""
    if r.accept("unsigned"):
        state.attributes["unsignedCmp"] = UnitAttr()
    name = r.use()
    r.expect("=")
    lower = r.use()
    r.one_of(("to",), "'to'")
    upper = r.use()
    r.one_of(("step",), "'step'")
    step = r.use()
    carried = parse_carried(r)
    ty = r.type() if r.accept(":") else INDEX
    iv = r.argument(name, ty)
    bounds = [r.resolve(use, ty) for use in (lower, upper, step)]
    terminator = "" if carried.inits else _YIELD
    state.regions = [r.region([iv, *carried.arguments], terminator=terminator)]
    state.attributes |= r.attr_dict()
    state.operands = [*bounds, *carried.inits]
    state.result_types = carried.types


def print_for(w: Writer, o: Operation) -> None:
    """``%i = %lb to %ub step %s iter_args(..) -> (..) : i32 { .. }``."""
    loop = view.For(o)
    word = " unsigned" if "unsignedCmp" in o.attributes else ""
    bounds = f"{w.name(loop.lower)} to {w.name(loop.upper)} step {w.name(loop.step)}"
    w.write(f"{word} {w.name(loop.iv)} = {bounds}")
    print_carried(w, loop.iter_args, loop.inits, o.results)
    if loop.iv.type != INDEX:
        w.write(f" : {loop.iv.type}")
    w.write(" ")
    w.region(o.regions[0], elide=_YIELD)
    w.attr_dict(o, ("unsignedCmp",))


# -- while -----------------------------------------------------------------------------


def parse_while(r: Reader, state: State) -> None:
    """``(%x = %init) : (types) -> types { .. } do { .. }``."""
    pairs = r.listed("(", ")", lambda: parse_pair(r)) if r.token == "(" else []
    r.expect(":")
    start = r.start
    ty = r.function_type()
    state.operands = r.resolve_all([init for _, init in pairs], ty.inputs, start)
    state.result_types = list(ty.results)
    names = [name for name, _ in pairs]
    arguments = [r.argument(n, t) for n, t in zip(names, ty.inputs, strict=False)]
    before = r.region(arguments)
    r.one_of(("do",), "'do'")
    after = r.region()
    state.attributes |= r.attr_dict_with_keyword()
    state.regions = [before, after]


def print_while(w: Writer, o: Operation) -> None:
    """``(%x = %init) : (types) -> types { .. } do { .. }``."""
    loop = view.While(o)
    if loop.inits:
        pairs = ", ".join(
            f"{w.name(a)} = {w.name(v)}"
            for a, v in zip(loop.before.arguments, loop.inits, strict=True)
        )
        w.write(f" ({pairs})")
    inputs = ", ".join(str(v.type) for v in loop.inits)
    w.write(f" : ({inputs}) -> {result_list(o.results)} ")
    w.region(o.regions[0])
    w.write(" do ")
    w.region(o.regions[1], arguments=True)
    w.attr_dict(o, keyword=True)


# -- parallel --------------------------------------------------------------------------


def parse_parallel(r: Reader, state: State) -> None:
    """``(%i) = (%lb) to (%ub) step (%s) init (%x) -> type { .. }``."""
    names = r.listed("(", ")", r.use)
    r.expect("=")
    groups = [_index_list(r)]
    for word in ("to", "step"):
        r.one_of((word,), f"'{word}'")
        groups.append(_index_list(r))
    inits = []
    if r.accept("init"):
        inits = r.listed("(", ")", r.use)
    start = r.start
    types = r.arrow_types()
    groups.append(r.resolve_all(inits, types, start))
    ivs = [r.argument(name, INDEX) for name in names]
    terminator = "" if inits else "scf.reduce"
    state.regions = [modern_body(r.region(ivs, terminator=terminator))]
    state.attributes |= r.attr_dict()
    state.give(groups)
    state.result_types = types


def _index_list(r: Reader) -> list[Value]:
    return r.listed("(", ")", lambda: r.resolve(r.use(), INDEX))


def print_parallel(w: Writer, o: Operation) -> None:
    """``(%i) = (%lb) to (%ub) step (%s) init (%x) -> type { .. }``."""
    lower, upper, step, inits = operand_segments(o, 4)
    ivs = w.names(o.body.arguments)
    bounds = f"({w.names(lower)}) to ({w.names(upper)}) step ({w.names(step)})"
    w.write(f" ({ivs}) = {bounds}")
    if inits:
        w.write(f" init ({w.names(inits)}) -> {result_list(o.results)}")
    w.write(" ")
    w.region(o.regions[0], elide="scf.reduce")
    w.attr_dict(o, (OPERAND_SEGMENTS,))


def modern_body(region: Region) -> Region:
    """The body of a parallel loop with one ``scf.reduce`` at its end.

    Until 2023 a body could hold several ``scf.reduce`` and ended in ``scf.yield``.
    """
    if len(region.blocks) != 1 or not region.blocks[0].operations:
        return region
    (block,) = region.blocks
    reductions = [op for op in block.operations if op.name == "scf.reduce"]
    rest = [op for op in block.operations if op.name not in ("scf.reduce", _YIELD)]
    if len(rest) + 1 == len(block.operations) and reductions:
        return region
    end = Operation(
        "scf.reduce",
        tuple(v for op in reductions for v in op.operands),
        regions=tuple(r for op in reductions for r in op.regions),
        location=block.operations[-1].location,
    )
    return Region((block.with_operations([*rest, end]),))


def modern_parallel(state: State) -> None:
    """Convert a generic body with one reduction per result before ``scf.yield``."""
    for region in state.regions:
        last = region.blocks[0].operations[-1:] if region.blocks else ()
        if any(op.name == _YIELD and not op.operands for op in last):
            state.regions = [modern_body(region)]


def parse_reduce(r: Reader, state: State) -> None:
    """``(%a, %b : types) { ^bb0(..): .. }, { .. }``."""
    if r.accept("("):
        uses = r.uses()
        start = r.start
        types = r.types() if r.accept(":") else []
        r.expect(")")
        types = types or (r.types() if r.accept(":") else [])
        state.operands = r.resolve_all(uses, types, start)
    if r.token == "{":
        state.regions = r.separated(r.region)
    state.attributes |= r.attr_dict()


def print_reduce(w: Writer, o: Operation) -> None:
    """``(%a : type) { ^bb0(..): .. }``."""
    if o.operands:
        w.write(f"({w.typed_names(o.operands)}) ")
    for i, region in enumerate(o.regions):
        w.write(", " if i else "")
        w.region(region, arguments=True)
    w.attr_dict(o)


# -- other regions ---------------------------------------------------------------------


def parse_index_switch(r: Reader, state: State) -> None:
    """``%i -> types case 2 { .. } default { .. }``."""
    state.operands = [r.resolve(r.use(), INDEX)]
    state.attributes |= r.attr_dict()
    state.result_types = r.arrow_types()
    if state.result_types and r.accept(","):
        state.result_types += r.types()
    terminator = "" if state.result_types else _YIELD
    cases: list[int] = []
    regions: list[Region] = []
    while r.accept("case"):
        cases.append(r.integer())
        regions.append(r.region(terminator=terminator))
    r.one_of(("default",), "'default'")
    default = r.region(terminator=terminator)
    state.attributes["cases"] = DenseArrayAttr(I64, tuple(cases))
    state.regions = [default, *regions]


def print_index_switch(w: Writer, o: Operation) -> None:
    """``%i -> types case 2 { .. } default { .. }``."""
    w.write(f" {w.name(o.operands[0])}")
    w.attr_dict(o, ("cases",))
    if o.results:
        w.write(f" -> {', '.join(str(v.type) for v in o.results)}")
    default, *regions = o.regions
    values = o.numbers("cases")
    for value, region in zip(values, regions, strict=False):
        w.write(f"\ncase {value} ")
        w.region(region)
    w.write("\ndefault ")
    w.region(default, elide=_YIELD)
