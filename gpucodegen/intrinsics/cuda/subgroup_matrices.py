"""Subgroup matrices (``gpu.subgroup_mma_*``): load, store, multiply, map, in fragments.

MLIR does not define which elements a lane holds; here they are the registers of
``mma.sync``.  f32 operands are rounded to tf32, the type of the matrix units. PTX ISA,
"Matrix multiply-accumulate operation using mma": with g = lane // 4, t = lane % 4 and e
elements in a register of 32 bits (f64: in one of 64),

- A: register (i, j) holds row ``8 i + g`` and columns ``4 e j + e t`` on
- B: register (i, j) holds rows ``4 e i + e t`` on of column ``8 j + g``
- C: element (i, j, n) is at row ``8 i + g`` and column ``8 j + 2 t + n``, n = 0, 1

A matrix of any extents is a grid of such registers, row by row.  Narrow elements are
packed bits; others are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cuda.instructions import instruction
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Backend,
    Lowering,
    Tile,
    carrier,
    signature,
)
from gpucodegen.intrinsics.narrow_floats import bits_type, narrow, widen
from gpucodegen.intrinsics.tile_memory import retyped
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.records import dataclass

Form = tuple[int, int, str, str]
"""Rows, columns, element type and role ("AOp", "BOp", "COp") of a matrix."""
BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i32": 32, "si8": 8, "ui8": 8}
"""Bits of the elements that matrices may have."""
_REGISTERS = {"f32": types.float32, "f64": types.float64}


class Place(NamedTuple):
    """Row and column of an element in lane 0."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """The registers of a matrix in a lane.

    >>> Fragment(16, 16, "f16", "AOp").count, Fragment(16, 8, "f32", "COp").count
    (4, 4)
    """

    rows: int
    columns: int
    element: str
    role: str

    @property
    def per(self) -> int:
        """Elements in a register."""
        return max(1, 32 // BITS[self.element])

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the grid of registers; of C, of tiles of 8 by 8."""
        along = 4 * self.per
        extents = {"AOp": (8, along), "BOp": (along, 8), "COp": (8, 8)}[self.role]
        return self.rows // extents[0], self.columns // extents[1]

    @property
    def each(self) -> int:
        """Registers in a place of the grid."""
        return 2 // min(2, self.per) if self.role == "COp" else 1

    @property
    def count(self) -> int:
        """Registers."""
        rows, columns = self.grid
        return rows * columns * self.each

    @property
    def tile(self) -> Tile:
        """The registers as one value."""
        return Tile((self.count,), _REGISTERS.get(self.element, types.int32))

    @property
    def steps(self) -> tuple[Place, Place]:
        """How far g and t move an element."""
        return {
            "AOp": (Place(1, 0), Place(0, self.per)),
            "BOp": (Place(0, 1), Place(self.per, 0)),
            "COp": (Place(1, 0), Place(0, 2)),
        }[self.role]

    def places(self) -> Iterator[list[Place]]:
        """The elements of each register, in lane 0."""
        rows, columns = self.grid
        width = min(self.per, 2) if self.role == "COp" else self.per
        for i in range(rows):
            for j in range(columns):
                for n in range(self.each):
                    yield [self._place(i, j, n * width + e) for e in range(width)]

    def _place(self, i: int, j: int, e: int) -> Place:
        along = 4 * self.per
        return {
            "AOp": Place(8 * i, along * j + e),
            "BOp": Place(along * i + e, 8 * j),
            "COp": Place(8 * i, 8 * j + e),
        }[self.role]

    def register(self, i: int, j: int, n: int = 0) -> int:
        """The index of a register of the grid."""
        return (i * self.grid[1] + j) * self.each + n

    def unpacked(self, low: Lowering, register: Any) -> list[Any]:
        """The elements of a register as numbers for arithmetic."""
        name, builder = self.element, low.builder
        if BITS[name] > 16:
            return [register]
        width = BITS[name]
        made: list[Any] = []
        for e in range(self.per):
            moved = builder.lshr(register, ir.Constant(I32, e * width))
            bits = builder.trunc(moved, ir.IntType(width))
            made.append(widen(low, bits, name) if name in NARROW else bits)
        return made

    def packed(self, low: Lowering, numbers: Sequence[Any]) -> Any:
        """A register of numbers, each rounded to the element type."""
        name = self.element
        if BITS[name] > 16:
            return numbers[0]
        given = [narrow(low, n, name) if name in NARROW else n for n in numbers]
        return joined(low, given)

    @property
    def in_memory(self) -> ir.Type:
        """The LLVM type of an element in memory."""
        if self.element in NARROW:
            return bits_type(self.element)
        width = BITS[self.element]
        floats = {"f32": ir.FloatType(), "f64": ir.DoubleType()}
        return floats.get(self.element, ir.IntType(width))


def joined(low: Lowering, parts: Sequence[Any]) -> Any:
    """Integers packed into one of 32 bits, the first lowest."""
    builder, word = low.builder, ir.Constant(I32, 0)
    for n, part in enumerate(parts):
        wide = builder.zext(part, I32)
        moved = builder.shl(wide, ir.Constant(I32, n * part.type.width))
        word = builder.or_(word, moved)
    return word


KINDS = {"f32": "tf32", "si8": "s8", "ui8": "u8", "i32": "s32"}
"""PTX names of element types, where they differ."""


def factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


# Memory.


def matrix_load(
    face: Backend, form: Form, leading: int, transposed: bool, packed: bool
) -> Any:
    """``matrix_load(p, offset)``: a matrix with a row stride of ``leading`` elements.

    ``transposed``: the stride of its columns.  ``packed``: registers of adjacent
    elements are aligned in memory.
    """
    fragment = Fragment(*form)

    def lower(low: Lowering, pointer: Any, offset: Any) -> Any:
        memory = _Memory(low, fragment, pointer, offset, leading, transposed)
        registers = [
            memory.word(places[0]) if packed else memory.parts(places)
            for places in fragment.places()
        ]
        return low.from_elements(fragment.tile, registers)

    def typing_rule(pointer: Any, offset: Any) -> Any:
        return signature(fragment.tile, pointer, offset)

    return face.define("matrix_load", 2, typing_rule, lower)


def matrix_store(
    face: Backend, form: Form, leading: int, transposed: bool, packed: bool
) -> Any:
    """``matrix_store(m, p, offset)``: the inverse of ``matrix_load``."""
    fragment = Fragment(*form)

    def lower(low: Lowering, value: Any, pointer: Any, offset: Any) -> None:
        memory = _Memory(low, fragment, pointer, offset, leading, transposed)
        registers = low.elements(fragment.tile, value)
        for register, places in zip(registers, fragment.places(), strict=True):
            memory.put(register, places, packed)

    def typing_rule(_m: Any, pointer: Any, offset: Any) -> Any:
        return signature(types.void, fragment.tile, pointer, offset)

    return face.define("matrix_store", 3, typing_rule, lower)


class _Memory:
    """A matrix in memory, addressed by the executing lane."""

    def __init__(
        self,
        low: Lowering,
        fragment: Fragment,
        pointer: Any,
        offset: Any,
        leading: int,
        transposed: bool,
    ) -> None:
        self.low, self.fragment, builder = low, fragment, low.builder
        self.steps = (1, leading) if transposed else (leading, 1)
        lane = low.call("llvm.nvvm.read.ptx.sreg.laneid", I32, ())
        group = builder.lshr(lane, ir.Constant(I32, 2))
        turn = builder.and_(lane, ir.Constant(I32, 3))
        moved = offset
        for part, step in zip((group, turn), fragment.steps, strict=True):
            wide = part if offset.type == I32 else builder.zext(part, offset.type)
            scaled = builder.mul(wide, ir.Constant(offset.type, self._at(step)))
            moved = builder.add(moved, scaled)
        typed = retyped(low, pointer, fragment.in_memory)
        self.first = builder.gep(typed, [moved])

    def _at(self, place: Place) -> int:
        return place.row * self.steps[0] + place.column * self.steps[1]

    def _address(self, place: Place) -> Any:
        return self.low.builder.gep(self.first, [ir.Constant(I32, self._at(place))])

    def word(self, place: Place) -> Any:
        """A register whose elements are adjacent and aligned."""
        typed = self._as_word(place)
        return self.low.builder.load(typed, align=self.fragment.per * self._size)

    def _as_word(self, place: Place) -> Any:
        whole = self.low.value_type(self.fragment.tile.dtype)
        return retyped(self.low, self._address(place), whole)

    def parts(self, places: list[Place]) -> Any:
        """A register of elements at any addresses."""
        parts = [
            self.low.builder.load(self._address(place), align=self._size)
            for place in places
        ]
        return joined(self.low, parts) if self.fragment.per > 1 else parts[0]

    def put(self, register: Any, places: list[Place], packed: bool) -> None:
        """Store the elements of a register."""
        builder, fragment = self.low.builder, self.fragment
        if fragment.per == 1 or packed:
            align = fragment.per * self._size
            builder.store(register, self._as_word(places[0]), align=align)
            return
        for e, place in enumerate(places):
            width = BITS[fragment.element]
            moved = builder.lshr(register, ir.Constant(I32, e * width))
            bits = builder.trunc(moved, ir.IntType(width))
            builder.store(bits, self._address(place), align=self._size)

    @property
    def _size(self) -> int:
        return BITS[self.fragment.element] // 8


# Products.


def matrix_multiply(face: Backend, a: Form, b: Form, c: Form) -> Any:
    """``matrix_multiply(A, B, C)``: A B + C, by ``mma.sync``.

    A matrix of 8 rows is the upper half of one of 16, whose lower half is zero.
    """
    forms = [Fragment(*form) for form in (a, b, c)]
    left, right, total = forms
    tall = 1 if left.element == "f64" else 2
    depth = left.grid[1]
    deepest = 1 if left.element == "f64" else 2

    def lower(low: Lowering, *values: Any) -> Any:
        held = [low.elements(f.tile, v) for f, v in zip(forms, values, strict=True)]
        ours, theirs = (
            _factors(low, *pair) for pair in zip(forms[:2], held[:2], strict=True)
        )
        sums = held[2]
        empty = ir.Constant(ours[0].type, None)

        def of_left(i: int, k: int) -> Any:
            return ours[left.register(i, k)] if i < left.grid[0] else empty

        for i, j in product(range(0, total.grid[0], tall), range(total.grid[1])):
            rows = range(i, i + tall)
            for k in range(0, depth, deepest):
                steps = range(k, min(k + deepest, depth))
                words = [of_left(row, s) for s in steps for row in rows]
                words += [theirs[right.register(s, j)] for s in steps]
                _step(low, forms, words, (sums, i, j), len(steps))
        return low.from_elements(total.tile, sums)

    def typing_rule(*_: Any) -> Any:
        return signature(total.tile, *(f.tile for f in forms))

    return face.define("matrix_multiply", 3, typing_rule, lower)


def _factors(low: Lowering, fragment: Fragment, registers: list[Any]) -> list[Any]:
    """Registers of an operand in the order of ``mma``."""
    if fragment.element != "f32":
        return registers
    text = "cvt.rna.tf32.f32 $0, $1;"
    return [instruction(low, text, (r,), (I32,))[0] for r in registers]


def _step(
    low: Lowering,
    forms: list[Fragment],
    words: list[Any],
    place: tuple[list[Any], int, int],
    steps: int,
) -> None:
    """One ``mma``, which accumulates in place."""
    (left, right, total), (sums, i, j) = forms, place
    height = 1 if left.element == "f64" else 2
    numbers = [
        total.register(row, j, n) if row < total.grid[0] else -1
        for row in range(i, i + height)
        for n in range(total.each)
    ]
    zero = ir.Constant(sums[0].type, None)
    addends = [sums[n] if n >= 0 else zero for n in numbers]
    kinds = [KINDS.get(f.element, f.element) for f in (left, right)]
    kind = total.element if total.element in ("f16", "f32", "f64") else "s32"
    shape = f"m{8 * height}n8k{4 * left.per * steps}"
    name = f"mma.sync.aligned.{shape}.row.col.{kind}.{kinds[0]}.{kinds[1]}.{kind}"
    made = len(addends)
    split = made + len(words) * height // (height + 1)
    operands = [
        _row(0, made),
        _row(made, split),
        _row(split, made + len(words)),
        _row(made + len(words), 2 * made + len(words)),
    ]
    results = [addend.type for addend in addends]
    text = f"{name} {', '.join(operands)};"
    found = instruction(low, text, [*words, *addends], results)
    for n, value in zip(numbers, found, strict=True):
        if n >= 0:
            sums[n] = value


def _row(first: int, end: int) -> str:
    """Operands in braces."""
    return f"{{{', '.join(f'${n}' for n in range(first, end))}}}"


# Elements.


def matrix_constant(face: Backend, form: Form) -> Any:
    """``matrix_constant(x)``: a matrix of equal elements."""
    fragment = Fragment(*form)
    name = fragment.element.lstrip("su") if fragment.per > 2 else fragment.element

    def lower(low: Lowering, value: Any) -> Any:
        register = fragment.packed(low, [value] * fragment.per)
        return low.from_elements(fragment.tile, [register] * fragment.count)

    def typing_rule(_x: Any) -> Any:
        return signature(fragment.tile, carrier(name))

    return face.define("matrix_constant", 1, typing_rule, lower)


def matrix_map(face: Backend, kind: str, form: Form, made: Form) -> Any:
    """``matrix_map(m, ..)``: an elementwise operation of MLIR."""
    source, target = Fragment(*form), Fragment(*made)
    arity = 1 if kind in _UNARY else 2

    def lower(low: Lowering, *values: Any) -> Any:
        columns = [
            [n for r in low.elements(source.tile, v) for n in source.unpacked(low, r)]
            for v in values
        ]
        rows = zip(*columns, strict=True)
        results = [_computed(low, kind, row, target) for row in rows]
        per = target.per
        registers = [
            target.packed(low, results[n : n + per])
            for n in range(0, len(results), per)
        ]
        return low.from_elements(target.tile, registers)

    def typing_rule(*_: Any) -> Any:
        return signature(target.tile, *[source.tile] * arity)

    return face.define(f"matrix_{kind}", arity, typing_rule, lower)


_UNARY = frozenset({"negatef", "negates", "extf", "truncf"})
_BUILDERS = {
    "addf": "fadd",
    "mulf": "fmul",
    "subf": "fsub",
    "divf": "fdiv",
    "addi": "add",
    "muli": "mul",
    "subi": "sub",
    "divs": "sdiv",
    "divu": "udiv",
    "negatef": "fneg",
    "negates": "neg",
}
"""Methods of LLVM's builder."""
_OVERLOADED = {"maxf": "maximum", "minf": "minimum"}


def _computed(low: Lowering, kind: str, row: tuple[Any, ...], made: Fragment) -> Any:
    if kind in ("extf", "truncf"):
        wide = ir.DoubleType() if made.element == "f64" else ir.FloatType()
        cast = low.builder.fpext if kind == "extf" else low.builder.fptrunc
        return row[0] if row[0].type == wide else cast(row[0], wide)
    if kind in _OVERLOADED:
        return low.overloaded(_OVERLOADED[kind], row)
    return getattr(low.builder, _BUILDERS[kind])(*row)


MADE = {
    "matrix_constant": matrix_constant,
    "matrix_load": matrix_load,
    "matrix_map": matrix_map,
    "matrix_multiply": matrix_multiply,
    "matrix_store": matrix_store,
}
