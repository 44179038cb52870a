"""Syntax of ``linalg.generic`` of 2019 to 2021, and of ``linalg.indexed_generic``.

    #trait %A, %B {attrs} {region} : types -> results      counts in the trait
    #trait ins(..) outs(..) init(..) {attrs} {region} -> results

A trait's ``fun = @f`` becomes a region that calls it; the index arguments of an indexed
body become ``linalg.index``. Results without an output operand, as in text of 2020, get
an empty tensor as their output.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.linalg import iterator, scalar_of, yield_
from gpucodegen.dialects.linalg.syntax import read_operands, read_trait, set_segments
from gpucodegen.ir.affine import AffineExpr, AffineMap, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    IntegerAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Operation,
    Region,
    Value,
    single_block,
)
from gpucodegen.ir.types import I64, INDEX, MemRefType, TensorType, Type
from gpucodegen.parser.legacy import generic_forms
from gpucodegen.parser.parser import Parser


def add_outputs(
    p: Parser, state: State, maps: Sequence[AffineMap], inputs: int
) -> None:
    """Append an empty tensor per result that has no output operand.

    ``maps`` are those of the inputs and of all outputs.
    """
    given = len(state.operands) - inputs
    for ty, map_ in zip(
        state.result_types[-(len(maps) - inputs - given) :],
        maps[inputs + given :],
        strict=False,
    ):
        state.operands.append(_empty(p, state, ty, map_, maps[:inputs]))


def _empty(
    p: Parser, state: State, ty: Type, map_: AffineMap, maps: Sequence[AffineMap]
) -> Value:
    shape = ty.shape if isinstance(ty, TensorType) else ()
    sizes = [
        _size(p, state, expr, maps)
        for expr, extent in zip(map_.results, shape, strict=False)
        if extent is None
    ]
    location = p.location(state.start)
    result = Value(ty, "", location)
    p.emit(Operation("tensor.empty", tuple(sizes), (result,), location=location))
    return result


def _size(
    p: Parser, state: State, expr: AffineExpr, maps: Sequence[AffineMap]
) -> Value:
    """Extent of a loop, from the first input that is indexed by that loop alone."""
    for map_, value in zip(maps, state.operands, strict=False):
        if isinstance(expr, Dim) and expr in map_.results:
            return _dim(p, state, value, map_.results.index(expr))
    raise errors.OldSyntax(
        p.location(state.start),
        text=f"{state.name} with a result of unknown extent",
        hint="Write outs(%value : type) after the inputs",
    )


def _dim(p: Parser, state: State, value: Value, axis: int) -> Value:
    name = "memref.dim" if isinstance(value.type, MemRefType) else "tensor.dim"
    position = generic_forms.constant(p, axis, INDEX, state.start)
    location = p.location(state.start)
    result = Value(INDEX, "", location)
    p.emit(Operation(name, (value, position), (result,), location=location))
    return result


def read_old(p: Parser, state: State) -> bool:
    """Read a ``linalg.generic`` in any form, including today's."""
    _read(p, state, indexed=False)
    return True


def read_indexed(p: Parser, state: State) -> None:
    """Read an operation whose body takes the loop indices first."""
    _read(p, state, indexed=True)
    state.name = "linalg.generic"


def _read(p: Parser, state: State, *, indexed: bool) -> None:
    read_trait(p, state)
    uses = p.uses()
    inputs = None if uses else read_operands(p, state)
    _read_attributes(p, state)
    if p.token == "{":
        state.regions = [p.region()]
    state.attributes |= p.attr_dict()
    if uses:
        p.expect(":")
        start = p.start
        types = p.listed("(", ")", p.type) if p.token == "(" else p.types()
        state.operands = p.resolve_all(uses, types, start)
    state.result_types = p.arrow_types()
    finish(p, state, inputs, indexed=indexed)


def _read_attributes(p: Parser, state: State) -> None:
    """``attrs = {..}``, or ``{..}`` where it is no region."""
    if p.accept("attrs"):
        p.expect("=")
    elif p.token != "{" or _is_region(p):
        return
    state.attributes |= p.attr_dict()


def _is_region(p: Parser) -> bool:
    resume = p.start
    p.advance()
    first = p.token
    is_entry = first[:1].isalpha() or first[:1] == '"'
    if is_entry:
        p.advance()
        is_entry = p.token in ("=", ":", ",", "}")
    p.move_to(resume)
    return not is_entry


_COUNTS = ("args_in", "args_out", "n_views")


def adapt(p: Parser, state: State) -> None:
    """Convert a generic-form ``linalg.generic`` of an older vintage."""
    is_old = OPERAND_SEGMENTS not in state.attributes
    if not is_old and not any(name in state.attributes for name in _COUNTS):
        return
    arguments = [v for r in state.regions for b in r.blocks[:1] for v in b.arguments]
    extra = len(arguments) - len(_maps(state))
    finish(p, state, indexed=0 < extra == _loops(state))


def finish(
    p: Parser, state: State, inputs: int | None = None, *, indexed: bool = False
) -> None:
    """Normalize counts, outputs and body."""
    _loop_counts(state)
    maps = _maps(state)
    counted = _written_inputs(p, state)
    if inputs is None:
        inputs = max(len(maps) - 1, 0) if counted is None else counted
    written = len(state.operands)
    if written < len(maps):
        add_outputs(p, state, maps, inputs)
    set_segments(state, inputs)
    function = state.attributes.pop("fun", None)
    if isinstance(function, SymbolRefAttr) and not state.regions:
        state.regions = [_calling(p, state, function, indexed=indexed)]
    elif len(state.regions) == 1:
        added = state.operands[written:]
        state.regions = [_modern_body(p, state, added, indexed=indexed)]
    else:
        raise errors.OldSyntax(
            p.location(state.start),
            text=f"{state.name} without a body",
            hint="Add a region, or fun = @function to the trait",
        )


def _maps(state: State) -> list[AffineMap]:
    value = state.attributes.get("indexing_maps")
    entries = value.values if isinstance(value, ArrayAttr) else ()
    return [entry.map for entry in entries if isinstance(entry, AffineMapAttr)]


def _loops(state: State) -> int:
    value = state.attributes.get("iterator_types")
    return len(value.values) if isinstance(value, ArrayAttr) else 0


# -- counts ----------------------------------------------------------------------------


def _number(value: Attribute | None) -> int | None:
    return value.value if isinstance(value, IntegerAttr) else None


def _written_inputs(p: Parser, state: State) -> int | None:
    """Number of inputs, from ``args_in`` or ``n_views = [in, out]``."""
    counts = (state.attributes.pop(n, None) for n in ("args_in", "args_out"))
    first, last = (_number(value) for value in counts)
    views = state.attributes.pop("n_views", None)
    if not isinstance(views, ArrayAttr) or len(views.values) != 2:
        return first
    pair = [_number(value) for value in views.values]
    if first not in (None, pair[0]) or last not in (None, pair[1]):
        raise errors.Contradiction(
            p.location(state.start),
            operation=state.name,
            first=f"n_views = {views}",
            second=f"args_in = {first}, args_out = {last}",
        )
    return pair[0]


def _loop_counts(state: State) -> None:
    """``n_loop_types = [2, 1, 0]``: parallel, reduction and window loops."""
    counts = state.attributes.pop("n_loop_types", None)
    if isinstance(counts, ArrayAttr):
        words = ("parallel", "reduction", "reduction")
        kinds = [
            iterator(word)
            for word, count in zip(words, counts.values, strict=False)
            for _ in range(_number(count) or 0)
        ]
        state.attributes["iterator_types"] = ArrayAttr(tuple(kinds))


# -- bodies ----------------------------------------------------------------------------


def _positions(p: Parser, state: State, values: list[Value]) -> list[Operation]:
    """``linalg.index`` operations that define these values."""
    location = p.location(state.start)
    return [
        Operation(
            "linalg.index",
            (),
            (value,),
            {"dim": IntegerAttr(loop, I64)},
            location=location,
        )
        for loop, value in enumerate(values)
    ]


def _calling(
    p: Parser, state: State, function: SymbolRefAttr, *, indexed: bool
) -> Region:
    """A body that calls a function with loop indices and elements."""
    location = p.location(state.start)
    arguments = [Value(scalar_of(v.type), "", location) for v in state.operands]
    loops = _loops(state) if indexed else 0
    places = [Value(INDEX, "", location) for _ in range(loops)]
    sizes = len(_maps(state)) - _input_count(state)
    results = tuple(Value(v.type, "", location) for v in arguments[-sizes:])
    call = Operation(
        "func.call",
        (*places, *arguments),
        results,
        {"callee": function},
        location=location,
    )
    end = yield_(results, location=location)
    return single_block([*_positions(p, state, places), call, end], arguments)


def _input_count(state: State) -> int:
    sizes = state.attributes[OPERAND_SEGMENTS]
    values: tuple[int, ...] = getattr(sizes, "values", (0,))
    return values[0]


def _modern_body(
    p: Parser, state: State, added: list[Value], *, indexed: bool
) -> Region:
    """The body with arguments for added outputs, positions from ``linalg.index``."""
    (region,) = state.regions
    if not region.blocks:
        return region
    block, *others = region.blocks
    arguments = list(block.arguments)
    operations = list(block.operations)
    if indexed:
        loops = _loops(state)
        operations = [*_positions(p, state, arguments[:loops]), *operations]
        arguments = arguments[loops:]
    if len(arguments) == len(state.operands) - len(added):
        arguments += [Value(scalar_of(v.type), "out") for v in added]
    whole = Block(tuple(arguments), tuple(operations), block.label)
    return Region((whole, *others))
