"""Atomic read-modify-write of one element, by hardware or compare-and-swap.

Compare-and-swap works on words: an element, or the 32 bits around a narrow one.
Generated text uses them for updates that it computes itself::

    while True:
        word = atomic_word(p, i)
        old = element_of(p, i, word)
        new = ...
        if exchange(p, i, word, new):
            break
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics import tile_memory
from gpucodegen.intrinsics.elementwise import ELEMENTWISE
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I8,
    I32,
    I64,
    Backend,
    Lowering,
    carrier,
    is_pointer,
    llvm_scalar,
    signature,
)
from gpucodegen.intrinsics.narrow_floats import bits_type, narrow, widen
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.records import dataclass

SPACES = {"": 0, "shared": 3}
"""Address spaces as PTX names them, and their numbers in LLVM; "" is all of memory."""


@dataclass(frozen=True, slots=True)
class _Coding:
    """The integer representation of an element in memory."""

    low: Lowering
    name: str

    @property
    def type(self) -> Any:
        """As wide as the element in memory."""
        return _code_type(self.name)

    def value(self, code: Any) -> Any:
        """The element that an integer stands for."""
        builder = self.low.builder
        if self.name in NARROW:
            return widen(self.low, code, self.name)
        if self.name == "i1":
            return builder.trunc(code, I1)
        return builder.bitcast(code, llvm_scalar(carrier(self.name)))

    def code(self, value: Any) -> Any:
        """The integer of an element."""
        builder = self.low.builder
        if self.name in NARROW:
            return narrow(self.low, value, self.name)
        if self.name == "i1":
            return builder.zext(value, I8)
        return builder.bitcast(value, self.type)


def _code_type(name: str) -> Any:
    if name in NARROW:
        return bits_type(name)
    if name == "i1":
        return I8
    scalar = llvm_scalar(carrier(name))
    return ir.IntType(_WIDTHS.get(str(scalar)) or scalar.width)


_WIDTHS = {"float": 32, "double": 64}


@dataclass(frozen=True, slots=True)
class AtomicWord:
    """The integer in memory that is swapped: an element, or the 32 bits around it.

    ``shift``: the bit offset of the element in these; None if it has its own word.
    """

    coding: _Coding
    cell: Any
    shift: Any = None

    def value(self, word: Any) -> Any:
        """The element in a word."""
        if self.shift is None:
            return self.coding.value(word)
        builder = self.coding.low.builder
        bits = builder.trunc(builder.lshr(word, self.shift), self.coding.type)
        return self.coding.value(bits)

    def merged(self, word: Any, element: Any) -> Any:
        """A word with a new element; its neighbours are unchanged."""
        code = self.coding.code(element)
        if self.shift is None:
            return code
        builder = self.coding.low.builder
        ones = ir.Constant(I32, (1 << self.coding.type.width) - 1)
        others = builder.not_(builder.shl(ones, self.shift))
        placed = builder.shl(builder.zext(code, I32), self.shift)
        return builder.or_(builder.and_(word, others), placed)

    def read(self) -> Any:
        """The present word; a plain load would race."""
        size = self.cell.type.pointee.width // 8
        return self.coding.low.builder.load_atomic(self.cell, "monotonic", size)

    def exchange(self, old: Any, new: Any) -> tuple[Any, Any]:
        """Compare-and-swap: the old word, and whether it was swapped."""
        builder = self.coding.low.builder
        outcome = builder.cmpxchg(self.cell, old, new, "monotonic", "monotonic")
        return builder.extract_value(outcome, 0), builder.extract_value(outcome, 1)


def place_in(low: Lowering, p: Any, i: Any, space: str) -> Any:
    """The address of the ``i``-th element, as one of an address space.

    Atomic instructions of two spaces stay separate; those of generic addresses may be
    merged into one, which then has to find out the space of the address.
    """
    place = tile_memory.address(low, p, i)
    if not space:
        return place
    return tile_memory.in_address_space(low, place, SPACES[space])


def word_of(
    face: Backend, low: Lowering, name: str, p: Any, i: Any, space: str = ""
) -> AtomicWord:
    """The word of the ``i``-th element, which lies in an address space."""
    builder, coding = low.builder, _Coding(low, name)
    place = place_in(low, p, i, space)
    if coding.type.width >= face.atomic_bits:
        return AtomicWord(coding, tile_memory.retyped(low, place, coding.type))
    address = builder.ptrtoint(place, I64)
    start = builder.and_(address, ir.Constant(I64, -4))
    cell = builder.inttoptr(start, ir.PointerType(I32, place.type.addrspace))
    part = builder.trunc(builder.and_(address, ir.Constant(I64, 3)), I32)
    return AtomicWord(coding, cell, builder.shl(part, ir.Constant(I32, 3)))


def atomic_word(face: Backend, name: str) -> Any:
    """``atomic_word(p, i)``: the word of an element, as `exchange` expects it."""

    def typing_rule(p: Any, i: Any) -> Any:
        return signature(_word_type(face, name), p, i) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any) -> Any:
        return word_of(face, low, name, p, i).read()

    return face.define(f"atomic_word_{name}", 2, typing_rule, lower)


def element_of(face: Backend, name: str) -> Any:
    """``element_of(p, i, word)``: the element in its word."""
    word_type = _word_type(face, name)

    def typing_rule(p: Any, i: Any, _word: Any) -> Any:
        return signature(carrier(name), p, i, word_type) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any, word: Any) -> Any:
        return word_of(face, low, name, p, i).value(word)

    return face.define(f"element_of_{name}", 3, typing_rule, lower)


def exchange(face: Backend, name: str) -> Any:
    """``exchange(p, i, word, x)``: stores ``x`` if the word is unchanged."""
    word_type, dtype = _word_type(face, name), carrier(name)

    def typing_rule(p: Any, i: Any, _word: Any, _x: Any) -> Any:
        fits = is_pointer(p)
        return signature(types.boolean, p, i, word_type, dtype) if fits else None

    def lower(low: Lowering, p: Any, i: Any, word: Any, x: Any) -> Any:
        place = word_of(face, low, name, p, i)
        return place.exchange(word, place.merged(word, x))[1]

    return face.define(f"exchange_{name}", 4, typing_rule, lower)


def _word_type(face: Backend, name: str) -> Any:
    """The Numba type of the words that an element is swapped in."""
    return getattr(types, f"int{max(_code_type(name).width, face.atomic_bits)}")


DIRECT = {
    "addi": "add",
    "maxsi": "max",
    "minsi": "min",
    "maxui": "umax",
    "minui": "umin",
    "andi": "and",
    "ori": "or",
    "xori": "xor",
}
"""Operations on integers that LLVM has as an atomic instruction; others swap."""

EXCHANGED = "assign"
"""The operation that replaces the old value (an exchange)."""


def atomic(face: Backend, operation: str, name: str, space: str = "") -> Any:
    """``atomic(p, i, x)``: combines ``x`` into an element, returns the old value.

    ``space``: the address space of the element, as PTX names it.
    """
    dtype = carrier(name)

    def typing_rule(p: Any, i: Any, _x: Any) -> Any:
        return signature(dtype, p, i, dtype) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any, x: Any) -> Any:
        word = word_of(face, low, name, p, i, space)
        if word.shift is not None:
            return _swap_loop(word, x, operation)
        if operation in DIRECT and name != "i1":
            return low.builder.atomic_rmw(DIRECT[operation], word.cell, x, "monotonic")
        if operation == EXCHANGED:
            new = word.coding.code(x)
            old = low.builder.atomic_rmw("xchg", word.cell, new, "monotonic")
            return word.value(old)
        if operation == "addf" and face.is_gpu:
            return _hardware_sum(low, place_in(low, p, i, space), x, space)
        return _swap_loop(word, x, operation)

    hint = "_".join(filter(None, ("atomic", operation, name, space)))
    return face.define(hint, 3, typing_rule, lower)


def _combined(low: Lowering, old: Any, x: Any, operation: str) -> Any:
    return x if operation == EXCHANGED else ELEMENTWISE[operation][1](low, old, x)


def _hardware_sum(low: Lowering, place: Any, x: Any, space: str) -> Any:
    """``atom.add`` of floats; ptxas makes it ``red`` where the old value is unused."""
    address = low.builder.ptrtoint(place, I64)
    kind, register = ("f32", "f") if str(x.type) == "float" else ("f64", "d")
    return low.builder.asm(
        ir.FunctionType(x.type, [I64, x.type]),
        f"{'.'.join(filter(None, ('atom', space, 'add', kind)))} $0, [$1], $2;",
        f"={register},l,{register},~{{memory}}",
        [address, x],
        side_effect=True,
    )


def _swap_loop(word: AtomicWord, x: Any, operation: str) -> Any:
    """Compares and swaps until it succeeds; returns the old value."""
    low = word.coding.low
    builder = low.builder
    first = word.read()
    entry = builder.block
    loop, done = (builder.append_basic_block(f"atomic_{s}") for s in ("try", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    old = builder.phi(first.type)
    old.add_incoming(first, entry)
    value = word.value(old)
    new = word.merged(old, _combined(low, value, x, operation))
    seen, swapped = word.exchange(old, new)
    old.add_incoming(seen, builder.block)
    builder.cbranch(swapped, done, loop)
    builder.position_at_end(done)
    return value
