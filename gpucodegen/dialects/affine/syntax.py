"""Parsers and printers of the affine operations' custom forms.

Bounds and subscripts are written as in MLIR: a number, a value, or a map applied to
operands. Generic forms of earlier years are converted to today's attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen import errors
from gpucodegen.dialects import affine as view
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Use, Writer
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS, OLD_ATOMIC_KINDS
from gpucodegen.dialects.shared.control_flow import parse_carried, print_carried
from gpucodegen.dialects.shared.dma import end_types
from gpucodegen.ir.affine import (
    AffineExpr,
    AffineMap,
    Const,
    Dim,
    Sym,
    substitute,
    text,
)
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    IntegerSetAttr,
    index_attr,
)
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, segment_sizes
from gpucodegen.ir.types import I32, I64, INDEX, TensorType, Type
from gpucodegen.records import dataclass

YIELD = "affine.yield"
Bound = tuple[AffineMap, list[Value]]

# -- for -------------------------------------------------------------------------------


_CARRY = "Carry values with iter_args(%name = %init) -> (type)"


def parse_for(r: Reader, state: State) -> None:
    """``%i = lower to upper step n iter_args(..) -> (..) { .. }``."""
    iv = r.argument(r.use(), INDEX)
    r.skip_location()
    r.expect("=")
    lower, lower_operands = _parse_bound(r, "max")
    r.one_of(("to",), "'to'")
    upper, upper_operands = _parse_bound(r, "min")
    step = _parse_step(r)
    if r.token == "with":
        raise r.unexpected("'{'", _CARRY)
    carried = parse_carried(r)
    r.dims.add(iv.value)
    terminator = "" if carried.inits else YIELD
    region = r.region([iv, *carried.arguments], terminator=terminator)
    state.attributes |= r.attr_dict()
    state.attributes |= {
        "lowerBoundMap": AffineMapAttr(lower),
        "upperBoundMap": AffineMapAttr(upper),
        "step": index_attr(step),
        OPERAND_SEGMENTS: segment_sizes(
            [lower_operands, upper_operands, carried.inits]
        ),
    }
    state.operands = [*lower_operands, *upper_operands, *carried.inits]
    state.result_types = carried.types
    state.regions = [region]


def _parse_step(r: Reader) -> int:
    if r.token != "step":
        return 1
    r.advance()
    start = r.start
    step = r.integer()
    if step < 1:
        raise errors.OperandMismatch(
            r.location(start),
            operation="affine.for",
            problem=f"the step must be positive, found {step}",
            hint="Count upwards and compute the index as upper - 1 - i",
        )
    return step


def _parse_bound(r: Reader, prefix: str) -> Bound:
    """A number, a value, or ``max``/``min`` and a map with its operands."""
    has_prefix = r.token == prefix
    if has_prefix:
        r.advance()
    if r.token[:1] == "%":
        return _value_bound(r)
    if r.token == "-" or r.token[:1].isdigit():
        return AffineMap.constant(r.integer()), []
    start = r.start
    map_ = r.affine_map()
    operands = r.affine_operands(map_.num_dims, map_.num_syms)
    if len(map_.results) != 1 and not has_prefix:
        raise errors.OperandMismatch(
            r.location(start),
            operation="affine.for",
            problem=f"a bound of {len(map_.results)} results lacks '{prefix}'",
            hint=f"Write {prefix} before the map, or give it one result",
        )
    return map_, operands


def _value_bound(r: Reader) -> Bound:
    value = r.resolve(r.use(), INDEX)
    if value in r.dims:
        return AffineMap.identity(1), [value]
    return AffineMap(0, 1, (Sym(0),)), [value]


def print_for(w: Writer, o: Operation) -> None:
    """``%i = lower to upper step n iter_args(..) -> (..) { .. }``."""
    loop = view.For(o)
    lower = _bound_text(w, loop.lower_map, loop.lower_operands, "max")
    upper = _bound_text(w, loop.upper_map, loop.upper_operands, "min")
    w.write(f" {w.name(loop.iv)} = {lower} to {upper}")
    if loop.step != 1:
        w.write(f" step {loop.step}")
    print_carried(w, loop.iter_args, loop.inits, o.results)
    w.write(" ")
    w.region(o.regions[0], elide=YIELD)
    w.attr_dict(o, ("lowerBoundMap", "upperBoundMap", "step", OPERAND_SEGMENTS))


def _bound_text(
    w: Writer, map_: AffineMap, operands: Sequence[Value], prefix: str
) -> str:
    match map_.results:
        case (Const(value),) if map_.num_inputs == 0:
            return str(value)
        case (Sym(0),) if map_.num_inputs == 1:
            return w.name(operands[0])
        case _:
            whole = f"{AffineMapAttr(map_)}{applied(w, map_.num_dims, operands)}"
            return whole if len(map_.results) == 1 else f"{prefix} {whole}"


def applied(w: Writer, num_dims: int, operands: Sequence[Value]) -> str:
    """``(%d0)[%s0]``."""
    symbols = operands[num_dims:]
    dims = f"({w.names(operands[:num_dims])})"
    return f"{dims}[{w.names(symbols)}]" if symbols else dims


# -- subscripts ------------------------------------------------------------------------


def subscripts_text(w: Writer, map_: AffineMap, operands: Sequence[Value]) -> str:
    """Print a map's results with operand names for dimensions and symbols."""
    names = [w.name(value) for value in operands]
    dims = names[: map_.num_dims]
    syms = [f"symbol({name})" for name in names[map_.num_dims :]]
    return ", ".join(text(expr, dims, syms) for expr in map_.results)


@dataclass(frozen=True, slots=True)
class _Side:
    """Lower or upper bounds of all variables: maps over shared operands."""

    map: AffineMap
    groups: tuple[int, ...]
    operands: list[Value]


def parse_parallel(r: Reader, state: State) -> None:
    """``(%i, %j) = (0, 0) to (%n, 10) step (1, 2) reduce ("addf") -> (f32) { .. }``."""
    ivs = r.listed("(", ")", lambda: r.argument(r.use(), INDEX))
    r.expect("=")
    lower = _parse_side(r, "max", ivs)
    r.one_of(("to",), "'to'")
    upper = _parse_side(r, "min", ivs)
    steps = [1] * len(ivs)
    if r.accept("step"):
        steps = r.listed("(", ")", r.integer)
    reductions = _parse_reductions(r)
    state.result_types = r.arrow_types()
    r.dims.update(argument.value for argument in ivs)
    terminator = "" if state.result_types else YIELD
    state.regions = [r.region(ivs, terminator=terminator)]
    state.attributes |= r.attr_dict()
    state.attributes |= {
        "lowerBoundsMap": AffineMapAttr(lower.map),
        "lowerBoundsGroups": _groups(lower.groups),
        "upperBoundsMap": AffineMapAttr(upper.map),
        "upperBoundsGroups": _groups(upper.groups),
        "steps": ArrayAttr(tuple(IntegerAttr(step, I64) for step in steps)),
        "reductions": ArrayAttr(tuple(IntegerAttr(k, I64) for k in reductions)),
    }
    state.operands = [*lower.operands, *upper.operands]


def _groups(sizes: tuple[int, ...]) -> DenseElementsAttr:
    values = sizes[:1] if len(set(sizes)) == 1 else sizes
    return DenseElementsAttr(values, TensorType((len(sizes),), I32), I32)


def _parse_reductions(r: Reader) -> list[int]:
    if r.token != "reduce":
        return []
    r.advance()
    return r.listed("(", ")", lambda: _KINDS[r.one_of(_KINDS, "a reduction")])


_POSITIONS = {name: i for i, name in enumerate(ATOMIC_KINDS)}
_KINDS = _POSITIONS | {old: _POSITIONS[k] for old, k in OLD_ATOMIC_KINDS.items()}


def _parse_side(r: Reader, prefix: str, ivs: Sequence[Argument]) -> _Side:
    start = r.start
    bounds: list[tuple[int, Bound]] = []

    def bound() -> None:
        if r.token == prefix:
            r.advance()
            map_, operands = r.subscripts("(", ")")
        else:
            map_, operands = r.subscript()
        bounds.append((len(map_.results), (map_, operands)))

    r.listed("(", ")", bound)
    if len(bounds) != len(ivs):
        raise errors.OperandMismatch(
            r.location(start),
            operation="affine.parallel",
            problem=f"{len(bounds)} bounds for {len(ivs)} variables",
            hint="Write one bound per variable",
        )
    return _joined([b for _, b in bounds], tuple(n for n, _ in bounds))


def _joined(bounds: Sequence[Bound], groups: tuple[int, ...]) -> _Side:
    """One map over the operands of all bounds."""
    dims: dict[Value, AffineExpr] = {}
    syms: dict[Value, AffineExpr] = {}
    results: list[AffineExpr] = []
    for map_, operands in bounds:
        own_dims = [
            dims.setdefault(v, Dim(len(dims))) for v in operands[: map_.num_dims]
        ]
        own_syms = [
            syms.setdefault(v, Sym(len(syms))) for v in operands[map_.num_dims :]
        ]
        results += [substitute(e, own_dims, own_syms) for e in map_.results]
    whole = AffineMap(len(dims), len(syms), tuple(results))
    return _Side(whole, groups, [*dims, *syms])


def print_parallel(w: Writer, o: Operation) -> None:
    """``(%i, %j) = (..) to (..) step (..) reduce (..) -> (..) { .. }``."""
    loop = view.Parallel(o)
    ivs = ", ".join(w.name(iv) for iv in loop.ivs)
    lower = _side_text(w, loop.lower_maps, loop.lower_operands, "max")
    upper = _side_text(w, loop.upper_maps, loop.upper_operands, "min")
    w.write(f" ({ivs}) = ({lower}) to ({upper})")
    if any(step != 1 for step in loop.steps):
        w.write(f" step ({', '.join(map(str, loop.steps))})")
    if loop.reductions:
        names = ", ".join(f'"{name}"' for name in loop.reductions)
        types = ", ".join(str(v.type) for v in o.results)
        w.write(f" reduce ({names}) -> ({types})")
    w.write(" ")
    w.region(o.regions[0], elide=YIELD)
    w.attr_dict(o, _PARALLEL_ATTRIBUTES)


_PARALLEL_ATTRIBUTES = (
    "lowerBoundsMap",
    "lowerBoundsGroups",
    "upperBoundsMap",
    "upperBoundsGroups",
    "steps",
    "reductions",
    OPERAND_SEGMENTS,
)


def _side_text(
    w: Writer, maps: Sequence[AffineMap], operands: Sequence[Value], prefix: str
) -> str:
    texts: list[str] = []
    for map_ in maps:
        shown = subscripts_text(w, map_, operands)
        texts.append(shown if len(map_.results) == 1 else f"{prefix}({shown})")
    return ", ".join(texts)


# -- maps and sets with their operands -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Applied(FormatElement):
    """``affine_map<..>(%i)[%n]``: a map or a set with the operands of a slot."""

    slot: str
    attribute: str

    def shows(self) -> Sequence[str]:
        return (self.attribute,)

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        if self.attribute == "map":
            whole, made = (map_ := r.affine_map()), AffineMapAttr(map_)
        else:
            whole, made = (set_ := r.integer_set()), IntegerSetAttr(set_)
        parsed.state.attributes[self.attribute] = made
        operands = r.affine_operands(whole.num_dims, whole.num_syms)
        parsed.values[self.slot] = operands

    def print(self, printed: Printed) -> None:
        made = printed.op.attributes[self.attribute]
        whole = (
            made.set if isinstance(made, IntegerSetAttr) else view.map_of(printed.op)
        )
        operands = applied(printed.writer, whole.num_dims, printed.op.operands)
        printed.put(f"{made}{operands}")


def one_per_result(_: Types, attributes: Mapping[str, Attribute]) -> Sequence[Type]:
    """``affine.delinearize_index`` and the like: one index per result."""
    map_ = attributes["map"]
    return [INDEX] * (len(map_.map.results) if isinstance(map_, AffineMapAttr) else 1)


# -- element and vector accesses -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subscripts(FormatElement):
    """``[%i + 1, %j]``: operands of a slot, put into a map."""

    slot: str = "indices"
    attribute: str = "map"

    def shows(self) -> Sequence[str]:
        return (self.attribute,)

    def parse(self, parsed: ParsedElements) -> None:
        map_, parsed.values[self.slot] = parsed.reader.subscripts("[", "]")
        parsed.state.attributes[self.attribute] = AffineMapAttr(map_)

    def print(self, printed: Printed) -> None:
        map_ = view.map_of(printed.op, self.attribute)
        operands = printed.values[self.slot]
        printed.put(f"[{subscripts_text(printed.writer, map_, operands)}]")
        printed.after_word = True


# -- transfers -------------------------------------------------------------------------

_MAPS = ("src_map", "dst_map", "tag_map")


def parse_dma_start(r: Reader, state: State) -> None:
    """``%src[..], %dst[..], %tag[..], %n (, %stride, %per_stride)? : types``."""
    ends: list[tuple[Use, list[Value]]] = []
    for name in _MAPS:
        memref = r.use()
        map_, indices = r.subscripts("[", "]")
        state.attributes[name] = AffineMapAttr(map_)
        ends.append((memref, indices))
        r.expect(",")
    sizes = r.separated(lambda: r.resolve(r.use(), INDEX))
    types = end_types(r, state, len(sizes))
    for (memref, indices), ty in zip(ends, types, strict=True):
        state.operands += [r.resolve(memref, ty), *indices]
    state.operands += sizes


def _element(w: Writer, end: view.Endpoint) -> str:
    return f"{w.name(end.memref)}[{subscripts_text(w, end.map, end.map_operands)}]"


def print_dma_start(w: Writer, o: Operation) -> None:
    """``%src[..], %dst[..], %tag[..], %n : types``."""
    dma = view.DmaStart(o)
    ends = [_element(w, end) for end in dma.ends]
    w.write(f" {', '.join([*ends, *map(w.name, dma.sizes)])}")
    w.attr_dict(o, _MAPS)
    w.write(f" : {', '.join(str(e.memref.type) for e in dma.ends)}")


_RENAMED = {"lower_bound": "lowerBoundMap", "upper_bound": "upperBoundMap"}


def modern_for(state: State) -> None:
    """Convert ``lower_bound``, steps of other types and missing segment sizes."""
    attributes = state.attributes
    for old, name in _RENAMED.items():
        if old in attributes:
            attributes[name] = attributes.pop(old)
    step = attributes.get("step")
    if isinstance(step, IntegerAttr):
        attributes["step"] = index_attr(step.value)
    bounds = [attributes.get(name) for name in _RENAMED.values()]
    if OPERAND_SEGMENTS not in attributes:
        counts = [b.map.num_inputs for b in bounds if isinstance(b, AffineMapAttr)]
        first, second = (*counts, 0, 0)[:2]
        values = state.operands
        groups = [values[:first], values[first : first + second]]
        groups.append(values[first + second :])
        attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


def modern_parallel(state: State) -> None:
    """Give bounds without groups one result per loop, and add empty reductions."""
    attributes = state.attributes
    attributes.setdefault("reductions", ArrayAttr(()))
    for side in ("lowerBounds", "upperBounds"):
        map_ = attributes.get(f"{side}Map")
        if f"{side}Groups" not in attributes and isinstance(map_, AffineMapAttr):
            ty = TensorType((len(map_.map.results),), I32)
            attributes[f"{side}Groups"] = DenseElementsAttr((1,), ty, I32)


def modern_delinearize(state: State) -> None:
    """Until 2024 every entry of the basis was a value."""
    if "static_basis" not in state.attributes:
        marks = (DYNAMIC_MARK,) * (len(state.operands) - 1)
        state.attributes["static_basis"] = DenseArrayAttr(I64, marks)
