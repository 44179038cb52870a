"""vector: rows, columns and tiles in memory, whole, masked or past the caches."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from gpucodegen.dialects import affine
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import stored_bytes
from gpucodegen.emit.tables.memory.addressing import Descriptor
from gpucodegen.emit.tables.memory.memory import access, buffer_of
from gpucodegen.emit.tables.vectors.types import suffix, vector_dtype, vector_type
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.ir.affine.expressions import AffineExpr, Const, Dim
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType

WIDTHS = 16, 8, 4, 2
"""Bytes of single memory accesses."""
WIDEST = WIDTHS[0]
"""Bytes of the alignment of shared memory, too."""


@dataclass(frozen=True, slots=True)
class _Access:
    """A vector in memory: where it starts, one stride per vector dimension.

    ``left`` is how many rows and columns exist, where it may leave the buffer.
    ``stated``: bytes that the program says to divide the address.
    """

    ty: VectorType
    kind: str
    buffer: Descriptor
    start: AffineExpr
    strides: tuple[AffineExpr, ...]
    left: tuple[AffineExpr, ...] = ()
    stated: int = 1

    @property
    def contiguous(self) -> bool:
        return self.strides[-1] == Const(1)

    def intrinsic(self, e: Emitter, action: str) -> str:
        """``load`` or ``store`` in the form that fits the strides."""
        masked = "_masked" if self.left else ""
        shape = suffix(self.ty.shape, self.kind)
        if len(self.ty.shape) == 2:
            strided = () if self.contiguous else (False,)
            name = f"{action}_tile{masked}"
            hint = f"{name}{'' if self.contiguous else '_strided'}_{shape}"
            return e.make(hint, name, *self.ty.shape, self.kind, *strided)
        if not self.contiguous:
            name = f"{action}_strided{masked}"
            return e.make(f"{name}_{shape}", name, *self.ty.shape, self.kind)
        name = f"v{action}{masked}"
        align = self._alignment(e)
        if masked or not align:
            return e.make(f"{name}_{shape}", name, *self.ty.shape, self.kind)
        hint = f"{name}_{shape}_align{align}"
        return e.make(hint, name, *self.ty.shape, self.kind, align)

    def _alignment(self, e: Emitter) -> int:
        """Bytes that surely divide the address, if they allow accesses of several.

        A processor with vector registers asks for none.
        """
        if not e.spelling.in_blocks:
            return 0
        size = stored_bytes(self.kind)
        is_shared = self.buffer.pointer in e.facts.shared
        base = WIDEST if is_shared else self.buffer.alignment
        proven = gcd(base, e.divisor(self.start) * size) if base else 0
        widths = (n for n in WIDTHS if n > size)
        return next((n for n in widths if max(proven, self.stated) % n == 0), 0)

    def arguments(self, e: Emitter) -> list[Text]:
        """Pointer, offset, and the strides that the intrinsic asks for."""
        strides = self.strides[:-1] if self.contiguous else self.strides
        others = [e.narrow(e.affine(expr)) for expr in (*strides, *self.left)]
        return [Text(self.buffer.pointer), e.offset(self.start), *others]


def _plain_access(e: Emitter, op: Operation, ty: VectorType, first: int) -> _Access:
    """The access of vector.load / store: the last dimensions of the buffer."""
    buffer, indices = access(e, op, first)
    strides = buffer.strides[len(buffer.strides) - len(ty.shape) :]
    kind, start = vector_dtype(e, op, ty), buffer.at(indices)
    stated = op.integer("alignment", 1)
    return _Access(ty, kind, buffer, start, strides, stated=stated)


def load(e: Emitter, op: Operation) -> None:
    """``vector.load`` and ``affine.vector_load``."""
    where = _plain_access(e, op, vector_type(e, op, op.result), 0)
    e.define(op.result, call(where.intrinsic(e, "load"), *where.arguments(e)))


def store(e: Emitter, op: Operation) -> None:
    """``vector.store`` and ``affine.vector_store``."""
    value = op.operands[0]
    where = _plain_access(e, op, vector_type(e, op, value), 1)
    if _is_streaming(op, where):
        name = "vstore_streaming" if len(where.ty.shape) == 1 else _TILES_STREAM
        hint = f"{name}_{suffix(where.ty.shape, where.kind)}"
        made = e.make(hint, name, *where.ty.shape, where.kind)
        e.writer.line(str(call(made, *where.arguments(e), e.text(value))))
    else:
        _store(e, where, value)


def _is_streaming(op: Operation, where: _Access) -> bool:
    """Whether a store of consecutive elements is marked to go past the caches."""
    flag = op.attributes.get("nontemporal")
    is_set = isinstance(flag, IntegerAttr) and bool(flag.value)
    return is_set and where.contiguous


_TILES_STREAM = "store_tile_streaming"


def _store(e: Emitter, where: _Access, value: Value) -> None:
    function = where.intrinsic(e, "store")
    e.writer.line(str(call(function, *where.arguments(e), e.text(value))))


def transfer_read(e: Emitter, op: Operation) -> None:
    """``vector.transfer_read`` along any dimensions of the buffer."""
    where = _transfer(e, op, vector_type(e, op, op.result), 0)
    arguments = where.arguments(e)
    if where.left:
        arguments.append(e.text(op.operands[1 + len(where.buffer.sizes)]))
    e.define(op.result, call(where.intrinsic(e, "load"), *arguments))


def transfer_write(e: Emitter, op: Operation) -> None:
    """``vector.transfer_write``."""
    value = op.operands[0]
    _store(e, _transfer(e, op, vector_type(e, op, value), 1), value)


def _transfer(e: Emitter, op: Operation, ty: VectorType, first: int) -> _Access:
    target, *rest = op.operands[first:]
    buffer = buffer_of(e, op, target)
    rank = len(buffer.sizes)
    if len(rest) > rank + (1 - first):
        raise e.refusal(op, "Express the mask by in_bounds")
    indices = [e.index(value) for value in rest[:rank]]
    dims = _dimensions(e, op, rank, len(ty.shape))
    flags = _flags(op, len(dims))
    left: tuple[AffineExpr, ...] = ()
    if not all(flags):
        left = tuple(
            Const(extent) if inside else buffer.sizes[d] - indices[d]
            for d, inside, extent in zip(dims, flags, ty.shape, strict=True)
        )
    strides = tuple(buffer.strides[d] for d in dims)
    return _Access(
        ty, vector_dtype(e, op, ty), buffer, buffer.at(indices), strides, left
    )


def _dimensions(e: Emitter, op: Operation, rank: int, count: int) -> list[int]:
    """The buffer's dimension of each vector dimension."""
    if not isinstance(op.attributes.get("permutation_map"), AffineMapAttr):
        return list(range(rank - count, rank))
    results = affine.map_of(op, "permutation_map").results
    dims = [r.position for r in results if isinstance(r, Dim)]
    if len(dims) != len(results):
        raise e.refusal(op, "Broadcast after reading, with vector.broadcast")
    return dims


def _flags(op: Operation, count: int) -> list[bool]:
    value = op.attributes.get("in_bounds")
    if not isinstance(value, ArrayAttr):
        return [False] * count
    return [bool(v.value) for v in value.values if isinstance(v, IntegerAttr)]


def masked_load(e: Emitter, op: Operation) -> None:
    """``vector.maskedload``."""
    where = _plain_access(e, op, vector_type(e, op, op.result), 0)
    mask, otherwise = op.operands[-2:]
    _require_row(e, op, where)
    function = _selected(e, where, "load")
    arguments = (*where.arguments(e), e.text(mask), e.text(otherwise))
    e.define(op.result, call(function, *arguments))


def masked_store(e: Emitter, op: Operation) -> None:
    """``vector.maskedstore``."""
    mask, value = op.operands[-2:]
    where = _plain_access(e, op, vector_type(e, op, value), 0)
    _require_row(e, op, where)
    function = _selected(e, where, "store")
    e.writer.line(str(call(function, *where.arguments(e), e.text(mask), e.text(value))))


def _selected(e: Emitter, where: _Access, action: str) -> str:
    name = f"v{action}_selected"
    shape = suffix(where.ty.shape, where.kind)
    return e.make(f"{name}_{shape}", name, *where.ty.shape, where.kind)


def _require_row(e: Emitter, op: Operation, where: _Access) -> None:
    if len(where.ty.shape) != 1 or not where.contiguous:
        raise e.refusal(op, "Mask one row of consecutive elements")


HANDLERS: dict[str, Handler] = {
    "vector.load": load,
    "vector.store": store,
    "affine.vector_load": load,
    "affine.vector_store": store,
    "vector.transfer_read": transfer_read,
    "vector.transfer_write": transfer_write,
    "vector.maskedload": masked_load,
    "vector.maskedstore": masked_store,
}
