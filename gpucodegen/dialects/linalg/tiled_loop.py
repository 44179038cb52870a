"""linalg.tiled_loop of 2021: a loop nest over tiles, in a spelling of its own."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Use, Writer
from gpucodegen.dialects.linalg.shapes import fail
from gpucodegen.dialects.shared.yields import check_yield
from gpucodegen.ir.attributes import ArrayAttr, Attribute, StringAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments
from gpucodegen.ir.types import INDEX, TensorType

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
    """The same form, new names for all operands that the body renames."""
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
        raise fail(
            o,
            f"{len(low)}, {len(high)} and {len(step)} bounds for {count} iterators",
            "Write one bound, step and iterator per loop",
        )
    tensors = [v.type for v in outputs if isinstance(v.type, TensorType)]
    if tensors != [v.type for v in o.results]:
        raise fail(o, "results are not its tensor outputs", "Declare those types")
    check_yield(o, tensors, "linalg.yield")


OPERATIONS = (
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
