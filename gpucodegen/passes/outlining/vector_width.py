"""Vector width: elements per access along a loop, at most 16 bytes.

An access moves ``n`` elements at once along a variable ``v`` if

* neighbours in ``v`` are neighbours in memory: ``v`` occurs in the last index alone,
  with factor 1, and the last stride is 1;
* ``n`` elements are a power of two of bytes, which divides the address wherever ``v``
  is its first value plus a multiple of ``n``.

With a buffer at ``B``, elements of ``s`` bytes, strides ``t_d`` and indices ``i_d``,
the address is ``B + s * sum(i_d * t_d)``.  The alignment of ``B`` is known for
allocations, and for arguments by ``memref.assume_alignment``; the sum is divisible by
the greatest common divisor of its coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from gpucodegen.dialects import affine
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.affine import Dim, divisor_of, leaves, linear_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, element_bytes, element_type
from gpucodegen.passes.framework.indexing import ZERO, Index, from_map, substituted
from gpucodegen.passes.outlining.gpu_launch import ASSUMPTION, allocated_alignment
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WIDEST

Definitions = Mapping[Value, Operation]
Places = Mapping[Value, Index]
"""Known values of variables, in terms of others that may be any integers."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an access: ``offset`` elements after a base of known alignment.

    ``base``: bytes that divide the base address.  ``element``: bytes of an element.
    ``indices``: those of the access.  ``is_dense``: the last stride is 1.
    """

    base: int
    element: int
    offset: Index
    indices: tuple[Index, ...]
    is_dense: bool

    def alignment(self, places: Places | None = None, most: int = WIDEST) -> int:
        """Bytes that divide the address, up to ``most``.

        ``places``: known values of variables; others may be anything.
        """
        found = substituted(self.offset, {**_themselves(self.offset), **(places or {})})
        divisor = divisor_of(found.expr, [1] * len(found.values))
        return gcd(most, self.base, divisor * self.element)

    def factor(self, along: Value) -> int | None:
        """Elements from one value of a variable to the next; 0 if independent of it.

        None where the distance varies, or is not in the last dimension.
        """
        *others, last = self.indices or (ZERO,)
        inner = _factor(last, along)
        if inner == 0:
            return 0 if all(_factor(index, along) == 0 for index in others) else None
        alone = self.is_dense and not any(along in index.values for index in others)
        return inner if alone else None


def address_of(access: Operation, definitions: Definitions) -> Address | None:
    """The address of an ``affine.load`` or ``affine.store``; None if strides are open.

    ``definitions``: the operations that make its buffer and its indices.
    """
    position = 1 if access.name == "affine.store" else 0
    buffer = access.operands[position]
    given = from_map(affine.map_of(access), access.operands[position + 1 :])
    indices = tuple(composed(index, definitions) for index in given)
    ty = buffer.type
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    size = element_bytes(element_type(ty))
    if form is None or size is None:
        return None
    base, start = _origin(buffer, definitions)
    offset = Index.of(start)
    for index, stride in zip(indices, form.strides, strict=True):
        if stride is None and index.constant != 0:
            return None
        offset += index * (stride or 0)
    dense = form.strides[-1:] in ((1,), ())
    return Address(base or size, size, offset, indices, dense)


def vector_width(
    access: Operation,
    along: Value,
    definitions: Definitions,
    places: Places | None = None,
    most_bytes: int = WIDEST,
) -> int:
    """Elements that an access may move at once along a variable: a power of two.

    ``places``: what other variables are, and at which value ``along`` starts; they are
    any integers, and it starts at 0, where this says nothing.  1 where neighbours in
    the variable are no neighbours in memory, and where it has no part in the access.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.passes.framework.functions import definitions
    >>> (function,) = gcg.parse('''func.func @f(%A: memref<64x100xf16>) {
    ...   %a = memref.assume_alignment %A, 16 : memref<64x100xf16>
    ...   affine.for %i = 0 to 64 { affine.for %j = 0 to 96 {
    ...     %v = affine.load %a[%i, %j] : memref<64x100xf16>
    ...     affine.store %v, %a[%i, %j + 2] : memref<64x100xf16>
    ...   } }
    ...   return
    ... }''').operations
    >>> made, ops = definitions(function), list(function.walk())
    >>> load, store = (op for op in ops if op.name in ("affine.load", "affine.store"))
    >>> i, j = affine.Load(load).map_operands
    >>> [vector_width(op, v, made) for op in (load, store) for v in (i, j)]
    [1, 4, 1, 2]
    >>> vector_width(load, j, made, {i: Index.of(i) * 2})
    8
    """
    address = address_of(access, definitions)
    if address is None or address.factor(along) != 1:
        return 1
    start = (places or {}).get(along, ZERO)
    for width in widths(address.element, most_bytes):
        known = {**(places or {}), along: start + Index.of(along) * width}
        bytes_ = width * address.element
        if address.alignment(known, bytes_) == bytes_:
            return width
    return 1


def widths(element: int, most_bytes: int = WIDEST) -> Iterable[int]:
    """Elements of single accesses, from the most to two.

    >>> list(widths(4)), list(widths(2)), list(widths(12))
    ([4, 2], [8, 4, 2], [])
    """
    most = most_bytes // element if element & (element - 1) == 0 else 0
    return (1 << power for power in range(most.bit_length() - 1, 0, -1))


def _themselves(index: Index) -> dict[Value, Index]:
    return {value: Index.of(value) for value in index.values}


def _factor(index: Index, along: Value) -> int | None:
    """The coefficient of the variable in an index; None if not constant."""
    terms, _ = linear_form(index.expr)
    places = {n for n, value in enumerate(index.values) if value is along}
    inside = [
        term
        for term in terms
        if any(
            isinstance(leaf, Dim) and leaf.position in places for leaf in leaves(term)
        )
    ]
    if all(isinstance(term, Dim) for term in inside):
        return sum(terms[term] for term in inside)
    return None


def composed(index: Index, definitions: Definitions) -> Index:
    """The index with all ``affine.apply`` operations composed."""
    known: dict[Value, Index] = {}
    for value in index.values:
        made = definitions.get(value)
        if made is not None and made.name == "affine.apply":
            (inner,) = from_map(affine.map_of(made), made.operands)
            known[value] = composed(inner, definitions)
    return substituted(index, {**_themselves(index), **known}) if known else index


_SAME_START = frozenset(
    f"memref.{name}"
    for name in "assume_alignment cast collapse_shape expand_shape".split()
)

_MOVED = frozenset({"memref.subview", "memref.reinterpret_cast"})
"""Views whose type states their offset in the buffer."""


def _origin(buffer: Value, definitions: Definitions) -> tuple[int, int]:
    """Bytes that divide an address before a buffer, and how many elements before.

    (0, 0) where nothing is known.
    """
    base, start = _made_at(definitions.get(buffer), definitions)
    stated = [
        op.integer("alignment")
        for op in definitions.values()
        if op.name == ASSUMPTION and buffer in (op.operands[0], *op.results)
    ]
    best = max(stated, default=0)
    return (best, 0) if best > base else (base, start)


def _made_at(made: Operation | None, definitions: Definitions) -> tuple[int, int]:
    if made is None:
        return 0, 0
    allocated = allocated_alignment(made)
    if allocated:
        return allocated, 0
    if made.name in _SAME_START:
        return _origin(made.operands[0], definitions)
    moved = _moved(made) if made.name in _MOVED else None
    if moved is None:
        return 0, 0
    base, start = _origin(made.operands[0], definitions)
    return base, start + moved


def _moved(view: Operation) -> int | None:
    """Elements from the start of a buffer to that of a view of it, if known."""
    forms = [
        strided_form(v.type) if isinstance(v.type, MemRefType) else None
        for v in (view.result, view.operands[0])
    ]
    offsets = [None if form is None else form.offset for form in forms]
    after, before = offsets
    return None if after is None or before is None else after - before
