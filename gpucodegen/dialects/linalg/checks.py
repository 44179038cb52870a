"""Rules of structured linalg operations: operands, results, attributes, bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.dialects.linalg import Structured, destinations, scalar_of
from gpucodegen.dialects.linalg.named.bodies import BINARY, FUNCTIONS, UNARY
from gpucodegen.dialects.linalg.named.definitions import (
    CHOSEN_BY,
    base_name,
    body_kind,
    default_maps,
    entry_of,
    indexing_maps,
    iterator_types,
    numbers,
)
from gpucodegen.dialects.linalg.named.tables import CONTRACTIONS, POINTWISE
from gpucodegen.dialects.linalg.shapes import check_maps, fail
from gpucodegen.dialects.shared.yields import check_yield
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import (
    ArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Block, Operation
from gpucodegen.ir.types import I64, DialectType, MemRefType, TensorType, Type

if TYPE_CHECKING:
    from gpucodegen.ir.operation import Value

_KINDS = ("parallel", "reduction")
_INPUTS = {"contract": 2, "scaled_contract": 4}


# -- operands and results --------------------------------------------------------------


def check_operands(o: Operation) -> None:
    """Outputs are memrefs or tensors; tensors among them are the results."""
    structured = Structured(o)
    if not structured.outputs:
        raise fail(o, "has no outputs", "Add outs(%value : type)")
    _check_shaped(o, structured.outputs, "each output")
    check_results(o, len(structured.outputs))


def _check_shaped(o: Operation, values: Sequence[Value], what: str) -> None:
    for value in values:
        if not isinstance(value.type, MemRefType | TensorType | DialectType):
            raise errors.InvalidOperandType(
                o.location,
                operation=o.name,
                what=what,
                expected="a memref or ranked tensor",
                actual=value.type,
            )


def check_results(o: Operation, outputs: int) -> None:
    """One result per tensor among the outputs."""
    updated = destinations(o, outputs)
    expected = [v.type for v in updated if isinstance(v.type, TensorType)]
    actual = [v.type for v in o.results]
    if expected != actual:
        raise fail(
            o,
            f"gives ({_listed(actual)})"
            f" but its tensor outputs are ({_listed(expected)})",
            "Declare one result per tensor output, of the same type",
        )


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types))


# -- named -----------------------------------------------------------------------------


def check_named(o: Operation) -> None:
    """Operand count, attributes and shapes fit the operation."""
    _check_attributes(o)
    _check_inputs(o)
    _check_windows(o)
    _check_function(o)
    _check_fill(o)
    check_maps(o, indexing_maps(o), len(iterator_types(o)))


def _check_attributes(o: Operation) -> None:
    """An operation has no attribute of linalg that its computation would not read."""
    entry = entry_of(o)
    read = {CHOSEN_BY.get(base_name(o))}
    if entry is not None and entry.windows:
        read |= {"strides", "dilations"}
    for name in ("strides", "dilations", "kind", "fun"):
        if name in o.attributes and name not in read:
            raise errors.WrongAttribute(
                o.location,
                operation=o.name,
                problem=f"takes no {name}",
                hint=f"Leave {name} out",
            )
    cast = o.attributes.get("cast")
    found = cast.value if isinstance(cast, StringAttr) else str(cast)
    word = found.partition("<")[2].removesuffix(">") or found
    if cast is not None and word not in ("cast_signed", "cast_unsigned"):
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem=f"has no cast {cast}",
            hint="Write cast = #linalg.type_fn<cast_signed> or cast_unsigned",
        )


def _expected_inputs(o: Operation) -> int:
    entry, name = entry_of(o), base_name(o)
    if entry is not None:
        return len(entry.inputs)
    if name == "elementwise":
        kind = body_kind(o)
        return 1 if kind in UNARY else 2 if kind in BINARY else 3
    return POINTWISE.get(name) or _INPUTS[name]


def _check_inputs(o: Operation) -> None:
    structured = Structured(o)
    expected = _expected_inputs(o)
    actual = len(structured.inputs)
    if actual != expected:
        raise fail(
            o, f"takes {expected} inputs, found {actual}", f"Pass {expected} inputs"
        )
    if len(structured.outputs) != 1:
        raise fail(
            o,
            f"takes one output, found {len(structured.outputs)}",
            "Pass one output",
        )


def _check_windows(o: Operation) -> None:
    """Strides and dilations are as many as the windows."""
    entry = entry_of(o)
    expected = entry.windows if entry is not None else 0
    for name in ("strides", "dilations") if expected else ():
        value = o.attributes.get(name)
        if value is None:
            continue
        is_integral = isinstance(value, DenseElementsAttr) and value.element == I64
        if not is_integral or len(numbers(o, name)) != expected:
            raise errors.WrongAttribute(
                o.location,
                operation=o.name,
                problem=f"{name} must hold {expected} i64 numbers, found {value}",
                hint=f"Write {name} = dense<1> : tensor<{expected}xi64>",
            )


def _check_function(o: Operation) -> None:
    if base_name(o) != "elementwise":
        return
    kind = body_kind(o)
    if kind not in FUNCTIONS:
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem=f"unknown function '{kind}'",
            hint=errors.did_you_mean(kind, FUNCTIONS) or "Use exp, add or another",
        )


def _check_fill(o: Operation) -> None:
    value = o.operands[0]
    if o.name == "linalg.fill" and isinstance(value.type, MemRefType | TensorType):
        raise errors.InvalidOperandType(
            o.location,
            operation=o.name,
            what="the value",
            expected="a scalar",
            actual=value.type,
        )


def check_contraction(o: Operation) -> None:
    """Operands are indexed by single loops; ``contract`` sums over shared ones."""
    name = base_name(o)
    if name not in (*CONTRACTIONS, "contract"):
        return
    maps = indexing_maps(o)
    for map_ in maps:
        if not all(isinstance(r, Dim) for r in map_.results):
            raise fail(
                o,
                f"map {map_} is more than a choice of dimensions",
                "Use single dimensions only",
            )
    if name in CONTRACTIONS:
        _check_product(o, maps, default_maps(o))
    else:
        _check_contract(o, *({str(r) for r in m.results} for m in maps))


def _check_product(
    o: Operation, maps: Sequence[AffineMap], defaults: Sequence[AffineMap]
) -> None:
    """Operands are transposed, or lack dimensions that they otherwise have."""
    for position, (map_, default) in enumerate(zip(maps, defaults, strict=True)):
        if not set(map_.results) <= set(default.results):
            raise fail(
                o,
                f"map {position} is {map_}, which is no form of {default}",
                "Reorder or leave out dimensions of the operands",
            )


def _check_contract(o: Operation, lhs: set[str], rhs: set[str], out: set[str]) -> None:
    for loop in sorted((lhs ^ rhs) - out):
        raise fail(
            o,
            f"loop {loop} is in one input only",
            "Index both inputs by it, or one input and the output",
        )
    for loop in sorted(out - lhs - rhs):
        raise fail(o, f"loop {loop} is in no input", "Index an input by it")


# -- generic ---------------------------------------------------------------------------


def check_generic(o: Operation) -> None:
    """Maps, iterator types and body fit the operands."""
    structured = Structured(o)
    iterators = structured.iterator_types
    for kind in iterators:
        if kind not in _KINDS:
            raise fail(
                o, f"unknown iterator type '{kind}'", f"Use one of {', '.join(_KINDS)}"
            )
    written = o.attributes.get("indexing_maps")
    count = len(written.values) if isinstance(written, ArrayAttr) else 0
    if len(structured.indexing_maps) != count:
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem="indexing_maps holds something else than affine maps",
            hint="Write affine_map<(d0) -> (d0)>",
        )
    check_maps(o, structured.indexing_maps, len(iterators))
    check_body(o, len(structured.outputs))


def check_body(o: Operation, outputs: int) -> None:
    """One block; an argument per operand, a yielded value per output."""
    expected = [scalar_of(v.type) for v in o.operands]
    blocks = o.regions[0].blocks
    if not blocks or not blocks[0].operations:
        raise errors.EmptyBody(o.location, operation=o.name, expected="a linalg.yield")
    if len(blocks) != 1:
        raise errors.WrongRegionCount(
            o.location, operation=o.name, expected="one block", actual=len(blocks)
        )
    actual = [v.type for v in blocks[0].arguments]
    if actual != expected:
        raise fail(
            o,
            f"the body takes ({_listed(actual)}),"
            f" its operands hold ({_listed(expected)})",
            "Give the body one argument of the element type per operand",
        )
    last = blocks[0].operations[-1]
    if last.name != "linalg.yield":
        raise errors.MissingTerminator(
            last.location, operation=o.name, expected="linalg.yield"
        )
    _check_positions(blocks[0], len(iterator_types(o)))
    check_yield(o, [scalar_of(v.type) for v in o.operands[-outputs:]])


def _check_positions(block: Block, loops: int) -> None:
    """``linalg.index`` asks for a loop that exists."""
    for op in block.operations:
        dim = op.attributes.get("dim")
        if op.name != "linalg.index" or not isinstance(dim, IntegerAttr):
            continue
        if not 0 <= dim.value < loops:
            raise errors.OutOfRange(
                op.location,
                operation=op.name,
                what="dimension",
                value=dim.value,
                limit=loops,
            )
