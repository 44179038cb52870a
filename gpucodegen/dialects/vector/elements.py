"""Table, syntax and rules of vector operations that copy elements, rows and slices.

These are broadcasts, extracts, inserts, slices and shuffles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    IndexList,
    ParsedElements,
    Printed,
    read_indices,
)
from gpucodegen.dialects.framework.constraints import (
    TypeConstraint,
    require,
    types_differ,
)
from gpucodegen.dialects.framework.declare import pure
from gpucodegen.dialects.framework.definition import Check, Types
from gpucodegen.dialects.framework.syntax import Reader
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.vector import (
    Extent,
    extents,
    integers,
    is_scalable,
    vector_of,
    vector_or_scalar,
)
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I64, Type, VectorType, element_type
from gpucodegen.records import dataclass

POISON = -1
"""The index of a poison element."""


# -- all elements ----------------------------------------------------------------------


def check_broadcast(o: Operation) -> None:
    """The source is a scalar or a vector whose extents end the result's."""
    source, target = o.operands[0].type, o.results[0].type
    inner, outer = extents(source), extents(target)
    tail = outer[len(outer) - len(inner) :]
    is_vector = isinstance(source, VectorType) or source == element_type(source)
    fits = is_vector and len(inner) <= len(outer)
    fits = fits and all(a in ((1, False), b) for a, b in zip(inner, tail, strict=True))
    if not fits or element_type(source) != element_type(target):
        raise errors.InvalidCast.at(
            o,
            source=source,
            target=target,
            hint="Broadcast a scalar, or a vector whose extents end the result's",
        )


def check_count(o: Operation) -> None:
    """One scalar per element of the vector."""
    scalars, vectors = (o.operands, o.results)
    if o.name == "vector.to_elements":
        scalars, vectors = vectors, scalars
    count = prod(extent for extent, _ in extents(vectors[0].type))
    require(
        len(scalars) == count,
        o,
        f"{len(scalars)} elements for {vectors[0].type}",
        f"Write {count}",
    )


def check_interleave(o: Operation) -> None:
    """The result's last extent is twice the operands'."""
    _check_doubled(o, o.operands[0].type, o.results[0].type)


def check_deinterleave(o: Operation) -> None:
    """The source's last extent is twice the results'."""
    _check_doubled(o, o.results[0].type, o.operands[0].type)


def _check_doubled(o: Operation, half: Type, whole: Type) -> None:
    *outer, (last, scales) = extents(half) or ((1, False),)
    expected = vector_of([*outer, (2 * last, scales)], element_type(half))
    require(
        expected == whole,
        o,
        f"two vectors of type {half} make {expected}, not {whole}",
        "Write types of which one is twice as long in its last dimension",
    )


def check_shuffle(o: Operation) -> None:
    """Both vectors have equal rows; mask entries name rows of either, or poison."""
    first, second = (extents(v.type) for v in o.operands)
    mask = integers(o, "mask")
    rows = sum(dims[0][0] if dims else 1 for dims in (first, second))
    a, b = (v.type for v in o.operands)
    require(
        len(first) == len(second)
        and first[1:] == second[1:]
        and element_type(a) == element_type(b),
        o,
        f"{a} and {b} differ in more than their first dimension",
        "Shuffle vectors of one element type and one shape of rows",
    )
    require(mask, o, "the mask is empty", "Name at least one element")
    for entry in mask:
        if not POISON <= entry < rows:
            raise errors.OutOfRange.at(o, what="element", value=entry, limit=rows)


# -- one element or row ----------------------------------------------------------------


def check_extract(o: Operation) -> None:
    """The position lies in the vector, and the result has the type found there."""
    source, result = o.operands[0].type, o.results[0].type
    inner = _at_position(o, source)
    is_single = isinstance(source, VectorType) and result == vector_of(
        ((1, False),), source.element
    )
    if is_single and not isinstance(inner, VectorType):
        is_same = extents(source) == ((1, False),)
    else:
        is_same = inner == result
    _check_same(o, inner, result, fits=is_same)


def check_insert(o: Operation) -> None:
    """The position lies in the vector, and the value has the type found there."""
    value, dest = (v.type for v in o.operands[:2])
    inner = _at_position(o, dest)
    fits = (
        len(extents(value)) == len(extents(inner))
        and element_type(value) == element_type(inner)
        and isinstance(value, VectorType) == isinstance(inner, VectorType)
    )
    _check_same(o, inner, value, fits=fits)


def _at_position(o: Operation, ty: Type) -> Type:
    """The vector's type below a position, once the position is in range."""
    position = integers(o, "static_position")
    dims = extents(ty)
    if len(position) > len(dims):
        raise errors.WrongRank(
            o.location, type=ty, rank=len(dims), actual=len(position)
        )
    for entry, (extent, _) in zip(position, dims, strict=False):
        if not POISON <= entry < extent and entry != DYNAMIC_MARK:
            raise errors.OutOfRange.at(o, what="position", value=entry, limit=extent)
    if not position:
        return ty if dims else element_type(ty)
    return vector_or_scalar(dims[len(position) :], element_type(ty))


def _check_same(o: Operation, expected: Type, actual: Type, *, fits: bool) -> None:
    if not fits:
        raise types_differ(o, "the position", expected, "the value", actual)


# -- slices ----------------------------------------------------------------------------


def check_extract_slice(o: Operation) -> None:
    """Offsets, sizes and strides of the leading dimensions; trailing ones are whole."""
    source, result = o.operands[0].type, o.results[0].type
    dims = extents(source)
    sizes = integers(o, "sizes")
    offsets, strides = integers(o, "offsets"), integers(o, "strides")
    require(
        len(offsets) == len(sizes) == len(strides) <= len(dims),
        o,
        f"{len(offsets)} offsets, {len(sizes)} sizes and {len(strides)} strides"
        f" for {source}",
        "Write one of each per sliced dimension, first dimension first",
    )
    _check_strides(o, strides)
    for offset, size, dim in zip(offsets, sizes, dims, strict=False):
        _check_inside(o, offset, size, dim)
    inner = tuple((size, dim[1]) for size, dim in zip(sizes, dims, strict=False))
    expected = vector_of((*inner, *dims[len(sizes) :]), element_type(source))
    require(
        expected == result,
        o,
        f"the slice is {expected}, not {result}",
        f"Write {expected} as the result's type",
    )


def check_insert_slice(o: Operation) -> None:
    """One offset per dimension of the target, one stride per dimension of the slice."""
    source, target = (v.type for v in o.operands)
    inner, outer = extents(source), extents(target)
    offsets, strides = integers(o, "offsets"), integers(o, "strides")
    require(
        len(offsets) == len(outer) >= len(inner) == len(strides),
        o,
        f"{len(offsets)} offsets and {len(strides)} strides for {source} in {target}",
        "Write one offset per dimension of the target and one stride per dimension"
        " of the slice",
    )
    require(
        element_type(source) == element_type(target),
        o,
        f"{source} and {target} have different elements",
        "Convert the slice first",
    )
    _check_strides(o, strides)
    leading = len(outer) - len(inner)
    sizes = ((1, False),) * leading + inner
    for offset, size, dim in zip(offsets, sizes, outer, strict=True):
        _check_inside(o, offset, size[0], dim)
    for size, dim in zip(inner, outer[leading:], strict=True):
        require(
            size[1] == dim[1] and (not size[1] or size == dim),
            o,
            f"{source} in {target}: scalable dimensions are inserted whole",
            "Use equal scalable dimensions",
        )


def _check_strides(o: Operation, strides: tuple[int, ...]) -> None:
    is_dense = all(stride == 1 for stride in strides)
    require(is_dense, o, "strides must be 1", "Write 1 for each stride")


def _check_inside(o: Operation, offset: int, size: int, dim: Extent) -> None:
    extent, scales = dim
    is_inside = 0 <= offset < extent and size > 0 and offset + size <= extent
    require(
        is_inside and (not scales or (offset, size) in ((0, extent), (offset, 1))),
        o,
        f"{size} elements from {offset} on are not inside a dimension of {extent}",
        "Keep the slice inside; scalable dimensions are sliced whole",
    )


def check_scalable(whole: int) -> Check:
    """A fixed vector lies in a scalable one at a multiple of its length.

    ``whole`` is the position of the scalable vector among operands and results.
    """

    def check(o: Operation) -> None:
        large, small = (o.operands[0], o.results[0])
        if whole:
            large, small = o.operands[1], o.operands[0]
        outer, inner = extents(large.type), extents(small.type)
        position = o.integer("pos")
        require(
            len(outer) == len(inner) == 1
            and outer[0][1]
            and element_type(large.type) == element_type(small.type),
            o,
            f"{small.type} is no part of {large.type}",
            "Use a vector of rank 1 and a scalable vector of rank 1 and the same"
            " elements",
        )
        require(
            position % max(1, inner[0][0]) == 0,
            o,
            f"position {position} is no multiple of {inner[0][0]}",
            "Use a multiple of the fixed vector's length",
        )

    return check


# -- elements --------------------------------------------------------------------------


def elements_of_dest(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
    """One scalar type per element of the result."""
    return _elements(types.get("dest"))


def elements_of_source(
    types: Types, _: Mapping[str, Attribute]
) -> Sequence[Type] | None:
    """One scalar type per element of the source."""
    return _elements(types.get("source"))


def _elements(known: Sequence[Type] | None) -> Sequence[Type] | None:
    if not known or not isinstance(known[0], VectorType):
        return None
    return (known[0].element,) * prod(known[0].shape)


# -- positions -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExtractedTypes(FormatElement):
    """``element from vector``; older text names the vector only."""

    def parse(self, parsed: ParsedElements) -> None:
        vector = element = parsed.reader.type()
        if parsed.reader.accept("from"):
            vector = parsed.reader.type()
        else:
            position = parsed.state.attributes["static_position"]
            element = inner_type(vector, len(getattr(position, "values", ())))
        parsed.types |= {"source": [vector], "result": [element]}

    def print(self, printed: Printed) -> None:
        (source, *_), (result,) = printed.op.operands, printed.op.results
        printed.put(f"{result.type} from {source.type}")


def inner_type(ty: Type, depth: int) -> Type:
    """The vector's type below a position of ``depth`` entries."""
    if depth == 0 and extents(ty):
        return ty
    return vector_or_scalar(extents(ty)[depth:], element_type(ty))


# -- shuffle ---------------------------------------------------------------------------


def shuffled(types: Types, attributes: Mapping[str, Attribute]) -> Sequence[Type]:
    """Inference: the first vector's type with one row per mask entry."""
    first = types["v1"][0]
    if not isinstance(first, VectorType):
        return (first,)
    count = len(getattr(attributes["mask"], "values", ()))
    return (VectorType((count, *first.shape[1:]), first.element),)


def _typed_numbers(r: Reader) -> Attribute:
    """Read numbers that may carry their types, as in old text."""
    return DenseArrayAttr(I64, tuple(read_indices(r, typed=True)[1]))


MASK = replace(kinds.integers(), read=_typed_numbers)


_STATIC = {"static_position": kinds.integers()}
_POSITION = IndexList("dynamic_position", "static_position", typed=True)


def _is_fixed(ty: Type) -> bool:
    return isinstance(ty, VectorType) and not is_scalable(ty)


_FIXED = TypeConstraint("a vector without scalable dimensions", _is_fixed)

OPERATIONS = (
    pure(
        "vector.broadcast",
        "source -> vector:vector",
        "$source attr-dict `:` type($source) `to` type($vector)",
        checks=[check_broadcast],
    ),
    pure(
        "vector.from_elements",
        "elements* -> dest",
        "$elements attr-dict `:` type($dest)",
        infer={"elements": elements_of_dest},
        types={"dest": _FIXED},
        checks=[check_count],
    ),
    pure(
        "vector.to_elements",
        "source:vector -> elements*",
        "$source attr-dict `:` type($source)",
        infer={"elements": elements_of_source},
        checks=[check_count],
    ),
    pure(
        "vector.extract",
        "source:vector dynamic_position* -> result",
        "$source `` custom<Position> attr-dict `:` custom<Types>",
        custom={"Position": _POSITION, "Types": ExtractedTypes()},
        attributes=_STATIC,
        checks=[check_extract],
    ),
    pure(
        "vector.insert",
        "valueToStore dest:vector dynamic_position* -> result",
        "$valueToStore `,` $dest `` custom<Position> attr-dict"
        " `:` type($valueToStore) `into` type($dest)",
        custom={"Position": _POSITION},
        attributes=_STATIC,
        same="dest result",
        checks=[check_insert],
    ),
    pure(
        "vector.extract_strided_slice",
        "source:vector -> result:vector",
        "$source (`offsets` `=` $offsets^ `,` `sizes` `=` $sizes"
        " `,` `strides` `=` $strides)? attr-dict"
        " `:` type($source) `to` type($result)",
        attributes={
            "offsets": kinds.ARRAY,
            "sizes": kinds.ARRAY,
            "strides": kinds.ARRAY,
        },
        checks=[check_extract_slice],
    ),
    pure(
        "vector.insert_strided_slice",
        "valueToStore:vector dest:vector -> result",
        "$valueToStore `,` $dest"
        " (`offsets` `=` $offsets^ `,` `strides` `=` $strides)? attr-dict"
        " `:` type($valueToStore) `into` type($dest)",
        attributes={"offsets": kinds.ARRAY, "strides": kinds.ARRAY},
        same="dest result",
        checks=[check_insert_slice],
    ),
    pure(
        "vector.shuffle",
        "v1 v2 -> vector",
        "$v1 `,` $v2 $mask attr-dict `:` type($v1) `,` type($v2)",
        attributes={"mask": MASK},
        implied={"vector": shuffled},
        types={"v1": _FIXED, "v2": _FIXED},
        checks=[check_shuffle],
    ),
    pure(
        "vector.interleave",
        "lhs:vector rhs -> result:vector",
        "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)",
        same="lhs rhs",
        checks=[check_interleave],
    ),
    pure(
        "vector.deinterleave",
        "source:vector -> res1:vector res2",
        "$source attr-dict `:` type($source) `->` type($res1)",
        same="res1 res2",
        checks=[check_deinterleave],
    ),
    pure(
        "vector.scalable.insert",
        "valueToStore:vector dest:vector -> res",
        "$valueToStore `,` $dest `[` $pos `]` attr-dict"
        " `:` type($valueToStore) `into` type($dest)",
        attributes={"pos": kinds.INT64},
        same="dest res",
        checks=[check_scalable(1)],
    ),
    pure(
        "vector.scalable.extract",
        "source:vector -> res:vector",
        "$source `[` $pos `]` attr-dict `:` type($res) `from` type($source)",
        attributes={"pos": kinds.INT64},
        checks=[check_scalable(0)],
    ),
)
