"""Syntax of scf.forall: parallel loops over tensors with shared results."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.ops.carried import Carried, parse_carried, print_carried
from gpucodegen.dialects.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments, segment_sizes
from gpucodegen.ir.types import I64, INDEX

_END = "scf.forall.in_parallel"
BOUNDS = ("LowerBound", "UpperBound", "Step")


def parse_forall(r: Reader, state: State) -> None:
    """``(%i) in (%n) shared_outs(%o = %t) -> (types) { .. }``; also ``= to step``."""
    names = r.listed("(", ")", r.use)
    lists: list[tuple[list[Value], list[int]]] = []
    if r.token == "in":
        r.advance()
        count = len(names)
        lists = [([], [0] * count), _bounds(r), ([], [1] * count)]
    else:
        r.expect("=")
        lists.append(_bounds(r))
        for word in ("to", "step"):
            r.one_of((word,), f"'{word}'")
            lists.append(_bounds(r))
    outputs = parse_carried(r, "shared_outs")
    ivs = [r.argument(name, INDEX) for name in names]
    state.regions = [r.region([*ivs, *outputs.arguments], terminator=_END)]
    _complete_end(state)
    state.attributes |= r.attr_dict()
    _finish(state, lists, outputs)


def _finish(
    state: State, lists: list[tuple[list[Value], list[int]]], outputs: Carried
) -> None:
    for name, (_, static) in zip(BOUNDS, lists, strict=True):
        state.attributes[f"static{name}"] = DenseArrayAttr(I64, tuple(static))
    groups = [*(dynamic for dynamic, _ in lists), outputs.inits]
    state.operands = [value for group in groups for value in group]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)
    state.result_types = outputs.types


def _complete_end(state: State) -> None:
    """The end that was left out has an empty region."""
    (block,) = state.regions[0].blocks
    *before, last = block.operations
    if last.name == _END and not last.regions:
        last = last.with_(regions=(single_block([]),))
        state.regions = [
            type(state.regions[0])((block.with_operations([*before, last]),))
        ]


def _bounds(r: Reader) -> tuple[list[Value], list[int]]:
    """``(%n, 10)``: values and numbers, with a mark where a value stands."""
    values: list[Value] = []

    def entry() -> int:
        if r.token[:1] != "%":
            return r.integer()
        use: Use = r.use()
        values.append(r.resolve(use, INDEX))
        return DYNAMIC_MARK

    return values, r.listed("(", ")", entry)


def print_forall(w: Writer, o: Operation) -> None:
    """``(%i) in (%n) shared_outs(%o = %t) -> (types) { .. }``."""
    lower, upper, step, outputs = operand_segments(o, 4)
    texts = [
        _bounds_text(w, o, name, values)
        for name, values in zip(BOUNDS, (lower, upper, step), strict=True)
    ]
    count = len(_static(o, "UpperBound"))
    arguments = o.body.arguments
    w.write(f" ({w.names(arguments[:count])})")
    is_normal = not lower and not step
    is_normal = is_normal and set(_static(o, "LowerBound")) <= {0}
    if is_normal and set(_static(o, "Step")) <= {1}:
        w.write(f" in ({texts[1]})")
    else:
        w.write(f" = ({texts[0]}) to ({texts[1]}) step ({texts[2]})")
    print_carried(w, arguments[count:], outputs, o.results, "shared_outs")
    w.write(" ")
    is_plain = not o.results and not o.body.operations[-1].body.operations
    w.region(o.regions[0], elide=_END if is_plain else "")
    w.attr_dict(o, (OPERAND_SEGMENTS, *(f"static{name}" for name in BOUNDS)))


def _static(o: Operation, name: str) -> Sequence[int]:
    value = o.attributes.get(f"static{name}")
    entries = value.values if isinstance(value, DenseArrayAttr) else ()
    return [int(entry) for entry in entries]


def _bounds_text(w: Writer, o: Operation, name: str, values: Sequence[Value]) -> str:
    dynamic = iter(values)
    return ", ".join(
        w.name(next(dynamic)) if entry == DYNAMIC_MARK else str(entry)
        for entry in _static(o, name)
    )


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
