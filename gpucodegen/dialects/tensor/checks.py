"""Verifier rules of tensor operations: creation, casts, slices and padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from gpucodegen import errors
from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.constraints import (
    TypeConstraint,
    agree,
    compatible_shapes,
    require,
    shown,
)
from gpucodegen.dialects.framework.definition import Check, Types
from gpucodegen.dialects.memref import DYNAMIC_MARK, Slice
from gpucodegen.dialects.memref.checks import check_slice, reduces, static
from gpucodegen.dialects.memref.layouts import Extent, plus
from gpucodegen.dialects.shared.control_flow import check_yield
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    INDEX,
    DialectType,
    IndexType,
    IntegerType,
    Shape,
    TensorType,
    Type,
    UnrankedTensorType,
    element_type,
)


def check_extract_slice(o: Operation) -> None:
    """The result has the sizes of the slice."""
    _check_part(o, Slice(o), o.operands[0].type, o.results[0].type)


def check_insert_slice(o: Operation) -> None:
    """The inserted tensor has the sizes of the slice."""
    _check_part(o, Slice(o), o.operands[1].type, o.operands[0].type)


def _check_part(o: Operation, part: Slice, whole: Type, small: Type) -> None:
    if not isinstance(whole, TensorType) or not isinstance(small, TensorType):
        return
    check_slice(o, part, whole.shape, whole)
    sizes = static(part.sizes)
    expected = TensorType(sizes, whole.element)
    require(
        reduces(sizes, small.shape) and small.element == whole.element,
        o,
        f"needs {expected}, perhaps without dimensions of size 1, not {small}",
        "Write that type",
    )


# -- gather and scatter ----------------------------------------------------------------


def check_gather(o: Operation) -> None:
    """The result has the slices of the source that the indices select."""
    source, positions = (v.type for v in o.operands)
    _check_slices(o, source, positions, o.results[0].type, "gather_dims")


def check_scatter(o: Operation) -> None:
    """The source has one slice per index of the destination."""
    source, dest, positions = (v.type for v in o.operands)
    require(
        "unique" in o.attributes, o, "needs the word 'unique'", "Add it after the dims"
    )
    _check_slices(o, dest, positions, source, "scatter_dims")


def _check_slices(
    o: Operation, whole: Type, positions: Type, slices: Type, name: str
) -> None:
    if not isinstance(whole, TensorType) or not isinstance(positions, TensorType):
        return
    dims = _numbers(o.attributes.get(name))
    rank = len(whole.shape)
    is_increasing = all(a < b for a, b in pairwise(dims))
    require(
        dims and is_increasing and dims[0] >= 0 and dims[-1] < rank,
        o,
        f"{name} {dims} are not increasing dimensions of {whole}",
        f"Name dimensions from 0 to {rank - 1} in order",
    )
    outer, count = positions.shape[:-1], positions.shape[-1:]
    require(
        count == (len(dims),),
        o,
        f"{positions} does not hold {len(dims)} numbers per position",
        f"Make the last extent of the positions {len(dims)}",
    )
    unit = tuple(1 if d in dims else e for d, e in enumerate(whole.shape))
    rest = tuple(e for d, e in enumerate(whole.shape) if d not in dims)
    full, reduced = (TensorType(outer + s, whole.element) for s in (unit, rest))
    shape = slices.shape if isinstance(slices, TensorType) else None
    require(
        shape in (full.shape, reduced.shape)
        and getattr(slices, "element", None) == whole.element,
        o,
        f"needs {full} or {reduced}, not {slices}",
        "Write one of these types",
    )


def _numbers(value: Attribute | None) -> list[int]:
    return [int(v) for v in value.values] if isinstance(value, DenseArrayAttr) else []


# -- concat ----------------------------------------------------------------------------


def check_concat(o: Operation) -> None:
    """Inputs agree but in the concatenated dimension, which the result sums."""
    result = o.results[0].type
    if not o.operands:
        raise errors.WrongOperandCount.at(o, expected="at least 1", actual=0)
    if not isinstance(result, TensorType):
        return
    position = o.integer("dim")
    if not 0 <= position < len(result.shape):
        raise errors.OutOfRange.at(
            o, what="dimension", value=position, limit=len(result.shape)
        )
    expected = _joined(o, result, position)
    require(
        all(map(agree, expected, result.shape)),
        o,
        f"gives extents {' x '.join(map(shown, expected))}, not {result}",
        "Write these extents",
    )


def _joined(o: Operation, result: TensorType, position: int) -> Shape:
    total: Extent = 0
    extents: list[Extent] = [None] * len(result.shape)
    for value in o.operands:
        shape = _shape_like(o, value, result)
        total = plus(total, shape[position])
        for d, extent in enumerate(shape):
            require(
                d == position or agree(extents[d], extent),
                o,
                f"extents {shown(extents[d])} and {shown(extent)} in dimension {d}",
                f"Inputs may differ in dimension {position} only",
            )
            extents[d] = extent if extents[d] is None else extents[d]
    extents[position] = total
    return tuple(extents)


def _shape_like(o: Operation, value: Value, result: TensorType) -> Shape:
    ty = value.type
    shape = ty.shape if isinstance(ty, TensorType) else ()
    is_like = isinstance(ty, TensorType) and ty.element == result.element
    require(
        is_like and len(shape) == len(result.shape),
        o,
        f"cannot join {ty} to {result}",
        "Inputs and result have one rank and element type",
    )
    return shape


AnyTensor = TensorType | UnrankedTensorType


def _is_line_of_integers(ty: Type) -> bool:
    is_line = isinstance(ty, TensorType) and len(ty.shape) == 1
    return is_line and isinstance(element_type(ty), IntegerType | IndexType)


EXTENTS = TypeConstraint(
    "a tensor of rank 1 of integers or index", _is_line_of_integers
)
STATIC = TypeConstraint(
    "a tensor of static shape",
    lambda ty: isinstance(ty, TensorType) and None not in ty.shape,
)
POSITIONS = TypeConstraint(
    "a tensor of integers or index",
    lambda ty: (
        isinstance(ty, TensorType) and isinstance(ty.element, IntegerType | IndexType)
    ),
)


def elements_of_result(
    types: Types, _: Mapping[str, Attribute]
) -> Sequence[Type] | None:
    """Inference: one scalar per element of the result."""
    known = types.get("result")
    if not known or not isinstance(known[0], TensorType):
        return None
    extents = [e for e in known[0].shape if e is not None]
    return (known[0].element,) * prod(extents)


def check_elements(o: Operation) -> None:
    """One element per position."""
    expected = len(elements_of_result({"result": [o.results[0].type]}, {}) or ())
    if len(o.operands) != expected:
        raise errors.WrongOperandCount.at(
            o, expected=f"{expected} elements", actual=len(o.operands)
        )


def indices_after(position: int) -> Check:
    """A check that one index per dimension follows the tensor at ``position``."""

    def check(o: Operation) -> None:
        ty = o.operands[position].type
        count = len(o.operands) - position - 1
        if isinstance(ty, TensorType) and len(ty.shape) != count:
            raise errors.WrongRank(
                o.location, type=ty, rank=len(ty.shape), actual=count
            )

    return check


def sizes_after(position: int) -> Check:
    """A check that one size per ``?`` of the result starts at operand ``position``."""

    def check(o: Operation) -> None:
        ty = o.results[0].type
        dynamic = ty.shape.count(None) if isinstance(ty, TensorType) else 0
        if len(o.operands) - position != dynamic:
            raise errors.WrongOperandCount.at(
                o,
                expected=f"{dynamic} sizes (one per '?')",
                actual=len(o.operands) - position,
            )

    return check


# -- casts -----------------------------------------------------------------------------


def check_cast(o: Operation) -> None:
    """Element types agree, and all extents that both types state."""
    _check_cast(o, same_element=True)


def check_bitcast(o: Operation) -> None:
    """Elements of equal width; extents that both types state agree."""
    _check_cast(o, same_element=False)


def _check_cast(o: Operation, *, same_element: bool) -> None:
    source, target = o.operands[0].type, o.results[0].type
    if not isinstance(source, AnyTensor) or not isinstance(target, AnyTensor):
        return
    a, b = source.element, target.element
    fits = a == b if same_element else _width(a) == _width(b) is not None
    if isinstance(source, TensorType) and isinstance(target, TensorType):
        fits = fits and compatible_shapes(source.shape, target.shape)
    if not fits:
        what = "element type" if same_element else "width of the elements"
        raise errors.InvalidCast.at(
            o,
            source=source,
            target=target,
            hint=f"Keep the {what}, the rank and the static extents",
        )


def _width(ty: Type) -> object:
    """Bits of a number; a dialect type stands for itself."""
    return ty if isinstance(ty, DialectType) else bit_width(ty) or None


# -- bodies ----------------------------------------------------------------------------


def check_generate(o: Operation) -> None:
    """One size per ``?``; the body computes an element from its indices."""
    sizes_after(0)(o)
    _check_body(o)


def check_pad(o: Operation) -> None:
    """The result's extents are the source's plus low and high padding."""
    source, result = o.operands[0].type, o.results[0].type
    if not isinstance(source, TensorType) or not isinstance(result, TensorType):
        return
    low, high = (_static(o, name) for name in ("static_low", "static_high"))
    rank = len(source.shape)
    require(
        len(low) == len(high) == rank == len(result.shape),
        o,
        f"{len(low)} low and {len(high)} high borders, from {source} to {result}",
        "Write one border per dimension on each side",
    )
    expected = tuple(map(_padded, source.shape, low, high))
    pairs = zip(expected, result.shape, strict=True)
    padded = TensorType(expected, source.element, source.encoding)
    require(
        all(e is None or e == r for e, r in pairs) and source.element == result.element,
        o,
        f"gives {padded}, not {result}",
        "Write that type",
    )
    _check_body(o)


def _padded(extent: int | None, low: int | None, high: int | None) -> int | None:
    if extent is None or low is None or high is None:
        return None
    return extent + low + high


def _static(o: Operation, name: str) -> Shape:
    entries = o.numbers(name)
    return tuple(None if e == DYNAMIC_MARK else int(e) for e in entries)


def _check_body(o: Operation) -> None:
    ty = o.results[0].type
    rank = len(ty.shape) if isinstance(ty, TensorType) else 0
    (block,) = o.regions[0].blocks
    arguments = [a.type for a in block.arguments]
    require(
        arguments == [INDEX] * rank,
        o,
        f"the body takes ({', '.join(map(str, arguments))}), not {rank} positions",
        "Let the body take one index per dimension",
    )
    check_yield(o, [element_type(ty)])
