"""Linalg operations of 2019 to 2022 that have no equivalent today.

These are ``range``, ``slice``, ``view``, ``subview`` and buffers of 2019, convolutions
and poolings of any number of dimensions with padding, and ``linalg.tiled_loop`` of
2021. Operations that have an equivalent today are converted while they are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.constraints import wrong
from gpucodegen.dialects.framework.declare import always, op, pure
from gpucodegen.dialects.framework.definition import Check, Op
from gpucodegen.dialects.framework.syntax import (
    Argument,
    Reader,
    State,
    Use,
    Writer,
    read_type,
)
from gpucodegen.dialects.linalg import scalar_of
from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.shared.control_flow import check_yield
from gpucodegen.ir.attributes import ArrayAttr, Attribute, StringAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, operand_segments
from gpucodegen.ir.types import INDEX, DialectType, MemRefType, TensorType, Type

RANGE = DialectType("linalg.range")

# -- views -----------------------------------------------------------------------------


def _parse_slice(r: Reader, state: State) -> None:
    """``%view[%range, %index] : type, !linalg.range, index, type``; or ``-> type``."""
    view = r.use()
    entries = r.listed("[", "]", r.use)
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    types = r.types()
    arrow = r.arrow_types()
    whole = [view, *entries]
    if arrow:
        state.operands = _resolved(r, whole, types, start)
        state.result_types = arrow
    elif len(types) == 1:
        state.operands = _resolved(r, whole, [], start)
        state.result_types = types
    else:
        state.operands = _resolved(r, whole, types[:-1], start)
        state.result_types = types[-1:]


def _resolved(
    r: Reader, uses: Sequence[Use], types: Sequence[Type], start: int
) -> list[Value]:
    """Resolve operands when only the first type is written."""
    if len(types) == 1:
        return [r.resolve(uses[0], types[0]), *(r.resolve(use) for use in uses[1:])]
    return r.resolve_all(uses, types, start)


def _print_slice(w: Writer, o: Operation) -> None:
    view, *entries = o.operands
    w.write(f" {w.name(view)}[{w.names(entries)}]")
    w.attr_dict(o)
    types = [*(v.type for v in o.operands), o.results[0].type]
    w.write(f" : {', '.join(map(str, types))}")


def _check_entries(o: Operation) -> None:
    for value in o.operands[1:]:
        if value.type not in (INDEX, RANGE):
            raise errors.InvalidOperandType.at(
                o,
                what="each entry",
                expected="an index or !linalg.range",
                actual=value.type,
            )


def _check_one_entry_per_dimension(o: Operation) -> None:
    ty = o.operands[0].type
    entries = len(o.operands) - 1
    if isinstance(ty, MemRefType) and entries != ty.rank:
        problem = f"{entries} entries for a view of rank {ty.rank}"
        raise wrong(o, problem, "Write an index or a range per dimension")


def _view(name: str, *checks: Check) -> Op:
    return pure(
        f"linalg.{name}",
        "view entries* -> result",
        (_parse_slice, _print_slice),
        checks=[_check_entries, *checks],
    )


# -- elements --------------------------------------------------------------------------


def _read_access(r: Reader, state: State) -> Type:
    """``%v[%i] {attrs} : type``; a memref access becomes ``memref.load``/``store``."""
    view, entries = r.use(), r.listed("[", "]", r.use)
    ty = read_type(r, state)
    state.operands = [r.resolve(view, ty), *(r.resolve(e, INDEX) for e in entries)]
    if isinstance(ty, MemRefType):
        state.name = state.name.replace("linalg", "memref")
    return scalar_of(ty)


def _parse_load(r: Reader, state: State) -> None:
    state.result_types = [_read_access(r, state)]


def _parse_store(r: Reader, state: State) -> None:
    stored = r.use()
    r.expect(",")
    scalar = _read_access(r, state)
    state.operands.insert(0, r.resolve(stored, scalar))


def _print_load(w: Writer, o: Operation) -> None:
    _print_access(w, o, o.operands)


def _print_store(w: Writer, o: Operation) -> None:
    w.write(f" {w.name(o.operands[0])},")
    _print_access(w, o, o.operands[1:])


def _print_access(w: Writer, o: Operation, operands: Sequence[Value]) -> None:
    view, *entries = operands
    w.write(f" {w.name(view)}[{w.names(entries)}]")
    w.attr_dict(o)
    w.write(f" : {view.type}")


def _parse_buffer_alloc(r: Reader, state: State) -> None:
    """``%size : type``, or ``() : type`` for a static size."""
    uses = r.listed("(", ")", r.use) if r.token == "(" else r.uses()
    state.attributes |= r.attr_dict()
    r.expect(":")
    state.operands = [r.resolve(use, INDEX) for use in uses]
    state.result_types = [r.type()]


def _print_buffer_alloc(w: Writer, o: Operation) -> None:
    w.write(f" {w.names(o.operands)}" if o.operands else "()")
    w.attr_dict(o)
    w.write(f" : {o.results[0].type}")


# -- calls -----------------------------------------------------------------------------


def read_call(r: Reader, state: State) -> None:
    """``(%a, %b) {attrs} : type, type -> types``, operands in the order written.

    The first list may lack its brackets; the second list may have them.
    """
    uses = r.listed("(", ")", r.use) if r.token == "(" else r.uses()
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    types = r.listed("(", ")", r.type) if r.token == "(" else r.types()
    state.operands = r.resolve_all(uses, types, start)
    state.result_types = r.arrow_types()


def _print_call(w: Writer, o: Operation) -> None:
    w.write(f"({w.names(o.operands)})")
    w.attr_dict(o)
    w.write(f" : {', '.join(str(v.type) for v in o.operands)}")


def _check_call(o: Operation) -> None:
    """Memrefs of one rank; one number per window, rank - 2 windows in convolutions."""
    types = [v.type for v in o.operands if isinstance(v.type, MemRefType)]
    if len({len(ty.shape) for ty in types}) != 1 or len(types) != len(o.operands):
        raise wrong(o, "takes memrefs of one rank", "Pass such memrefs")
    rank = len(types[0].shape)
    windows = rank - 2 if o.name == "linalg.conv" else rank
    for name in ("strides", "dilations"):
        found = len(numbers(o, name))
        if name in o.attributes and found != windows:
            raise wrong(
                o, f"{found} {name} for {windows} windows", "Write one per window"
            )


def _call(name: str) -> Op:
    return op(
        f"linalg.{name}",
        "first second output",
        (read_call, _print_call),
        attributes=dict.fromkeys(
            ("strides", "dilations", "padding"), kinds.optional(kinds.ANY)
        ),
        checks=[_check_call],
    )


OPERATIONS = (
    pure(
        "linalg.range",
        "min:index max:index step:index -> result",
        "$min `:` $max `:` $step attr-dict `:` type($result)",
        infer={"result": always(RANGE)},
    ),
    _view("slice", _check_one_entry_per_dimension),
    *(_view(name) for name in ("view", "base_view", "subview")),
    op(
        "linalg.buffer_alloc",
        "size? -> result",
        (_parse_buffer_alloc, _print_buffer_alloc),
    ),
    op("linalg.buffer_dealloc", "buffer", "$buffer attr-dict `:` type($buffer)"),
    pure(
        "linalg.buffer_size",
        "buffer -> result:index",
        "$buffer attr-dict `:` type($buffer)",
    ),
    op("linalg.load", "view entries* -> result", (_parse_load, _print_load)),
    op("linalg.store", "value view entries*", (_parse_store, _print_store)),
    *(_call(name) for name in ("conv", "pooling_max", "pooling_min", "pooling_sum")),
)


_WORDS = {"iterators": "iterator_types", "distribution": "distribution_types"}


def parse(r: Reader, state: State) -> None:
    """``(%i) = (%a) to (%b) step (%c) ins(..) outs(..) iterators[..] { .. }``."""
    arguments = r.listed("(", ")", lambda: r.argument(r.use(), INDEX))
    groups: list[list[Value]] = []
    for separator in ("=", "to", "step"):
        r.expect(separator)
        uses = r.listed("(", ")", r.use)
        groups.append([r.resolve(use, INDEX) for use in uses])
    for word in ("ins", "outs"):
        renamed, values = _tensors(r) if r.accept(word) else ([], [])
        arguments += renamed
        groups.append(values)
    while r.token in _WORDS:
        name = _WORDS[r.advance()]
        state.attributes[name] = ArrayAttr(tuple(r.listed("[", "]", r.attribute)))
    if r.token == "attributes":
        state.attributes |= r.attr_dict_with_keyword()
    state.give(groups)
    state.regions = [r.region(arguments, terminator="linalg.yield")]
    state.attributes |= r.attr_dict()
    tensors = [v for v in groups[-1] if isinstance(v.type, TensorType)]
    state.result_types = r.arrow_types() or [v.type for v in tensors]
    state.attributes.setdefault("iterator_types", _all_parallel(len(groups[0])))


def _all_parallel(loops: int) -> ArrayAttr:
    return ArrayAttr((StringAttr("parallel"),) * loops)


def _tensors(r: Reader) -> tuple[list[Argument], list[Value]]:
    """``(%a_ = %a : type, ..)``, or ``(%a, .. : type, ..)`` without new names."""
    arguments: list[Argument] = []
    values: list[Value] = []
    plain: list[Use] = []

    def entry() -> None:
        name = r.use()
        if not r.accept("="):
            plain.append(name)
            if r.accept(":"):
                start = r.start
                values.extend(r.resolve_all(plain, r.types(), start))
            return
        value = r.use()
        r.expect(":")
        values.append(r.resolve(value, r.type()))
        arguments.append(r.argument(name, values[-1].type))

    r.listed("(", ")", entry)
    return arguments, values


def print_(w: Writer, o: Operation) -> None:
    """Print the same form; every operand that the body renames gets a new name."""
    low, high, step, inputs, outputs = operand_segments(o, 5)
    arguments = o.body.arguments
    loops, renamed = arguments[: len(low)], list(arguments[len(low) :])
    w.write(f" ({w.names(loops)}) = ({w.names(low)}) to ({w.names(high)})")
    w.write(f" step ({w.names(step)})")
    for word, values in (("ins", inputs), ("outs", outputs)):
        if values:
            w.write(f" {word} ({_names(w, values, renamed)})")
        del renamed[: len(values)]
    for word, name in _WORDS.items():
        if name in o.attributes:
            w.write(f" {word}{_iterators(o.attributes[name])}")
    shown = (OPERAND_SEGMENTS, *_WORDS.values())
    w.attr_dict(o, shown, keyword=True)
    w.write(" ")
    w.region(o.regions[0])


def _names(w: Writer, values: Sequence[Value], renamed: Sequence[Value]) -> str:
    if not renamed:
        return w.typed_names(values)
    pairs = zip(renamed, values, strict=False)
    return ", ".join(f"{w.name(a)} = {w.name(v)}: {v.type}" for a, v in pairs)


def _iterators(value: Attribute) -> str:
    entries = value.values if isinstance(value, ArrayAttr) else ()
    return f"[{', '.join(map(str, entries))}]"


def check(o: Operation) -> None:
    """As many bounds as loop variables; the body yields the results."""
    low, high, step, _, outputs = operand_segments(o, 5)
    kinds_ = o.attributes["iterator_types"]
    count = len(kinds_.values) if isinstance(kinds_, ArrayAttr) else 0
    if not len(low) == len(high) == len(step) == count:
        raise wrong(
            o,
            f"{len(low)}, {len(high)} and {len(step)} bounds for {count} iterators",
            "Write one bound, step and iterator per loop",
        )
    tensors = [v.type for v in outputs if isinstance(v.type, TensorType)]
    if tensors != [v.type for v in o.results]:
        raise wrong(o, "results are not its tensor outputs", "Declare those types")
    check_yield(o, tensors, "linalg.yield")


TILED_LOOP_OPERATIONS = (
    op(
        "linalg.tiled_loop",
        "lower* upper* step* inputs* outputs* -> results*",
        (parse, print_),
        attributes={
            "iterator_types": kinds.ARRAY,
            "distribution_types": kinds.OPTIONAL,
        },
        regions=1,
        terminators=["linalg.yield"],
        checks=[check],
    ),
)
