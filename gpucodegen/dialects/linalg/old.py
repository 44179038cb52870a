"""Operations of 2019 to 2022 that nothing of today says, in a spelling of their own.

``range``, ``slice``, ``view``, ``subview`` and the buffers of 2019, and convolutions
and poolings over any number of dimensions, which may be padded.  Whatever has an
equivalent of today becomes it while it is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import always, indices, op
from gpucodegen.dialects.framework.definition import Check, Op, Trait
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer, read_type
from gpucodegen.dialects.linalg import scalar_of
from gpucodegen.dialects.linalg.named.definitions import numbers
from gpucodegen.dialects.linalg.shapes import fail
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, DialectType, MemRefType, Type

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
    """Only the first type need be written: the others follow from the values."""
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
            raise errors.InvalidOperandType(
                o.location,
                operation=o.name,
                what="each entry",
                expected="an index or !linalg.range",
                actual=value.type,
            )


def _check_one_entry_per_dimension(o: Operation) -> None:
    ty = o.operands[0].type
    entries = len(o.operands) - 1
    if isinstance(ty, MemRefType) and entries != ty.rank:
        problem = f"{entries} entries for a view of rank {ty.rank}"
        raise fail(o, problem, "Write an index or a range per dimension")


def _view(name: str, *checks: Check) -> Op:
    return op(
        f"linalg.{name}",
        "view entries* -> result",
        (_parse_slice, _print_slice),
        traits=Trait.PURE,
        checks=[_check_entries, *checks],
    )


# -- elements --------------------------------------------------------------------------


def _read_access(r: Reader, state: State) -> Type:
    """``%v[%i] {attrs} : type``; of memrefs it is an operation of today."""
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

    The first list may lack its brackets, the second may have them.
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
    """Memrefs of one rank; a number per window, which a convolution has two less."""
    types = [v.type for v in o.operands if isinstance(v.type, MemRefType)]
    if len({len(ty.shape) for ty in types}) != 1 or len(types) != len(o.operands):
        raise fail(o, "takes memrefs of one rank", "Pass such memrefs")
    rank = len(types[0].shape)
    windows = rank - 2 if o.name == "linalg.conv" else rank
    for name in ("strides", "dilations"):
        found = len(numbers(o, name))
        if name in o.attributes and found != windows:
            raise fail(
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
    op(
        "linalg.range",
        "min max step -> result",
        "$min `:` $max `:` $step attr-dict `:` type($result)",
        infer={
            "min": indices,
            "max": indices,
            "step": indices,
            "result": always(RANGE),
        },
        traits=Trait.PURE,
    ),
    _view("slice", _check_one_entry_per_dimension),
    *(_view(name) for name in ("view", "base_view", "subview")),
    op(
        "linalg.buffer_alloc",
        "size? -> result",
        (_parse_buffer_alloc, _print_buffer_alloc),
    ),
    op("linalg.buffer_dealloc", "buffer", "$buffer attr-dict `:` type($buffer)"),
    op(
        "linalg.buffer_size",
        "buffer -> result",
        "$buffer attr-dict `:` type($buffer)",
        infer={"result": indices},
        traits=Trait.PURE,
    ),
    op("linalg.load", "view entries* -> result", (_parse_load, _print_load)),
    op("linalg.store", "value view entries*", (_parse_store, _print_store)),
    *(_call(name) for name in ("conv", "pooling_max", "pooling_min", "pooling_sum")),
)
