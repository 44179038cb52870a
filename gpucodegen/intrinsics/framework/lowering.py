"""Definition of intrinsics for the CPU and CUDA backends: typing, tiles, code.

A `Backend` is one Numba target.  `Backend.define` makes an intrinsic from a typing rule
and a function that builds its code through a `Lowering`. `Tile` is the Numba type of
register tiles: ``n`` or ``m x n`` elements in one variable. In LLVM a tile is an array
of pieces, row after row.  A piece is a vector as wide as the machine's registers (CPU)
or one element (CUDA); the last piece of a row may be padded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import types, typing

from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.records import dataclass


class Tile(types.Type):
    """``vector<n x T>`` or ``vector<m x n x T>``; ``dtype`` is a Numba scalar type."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        super().__init__(name=f"tile({'x'.join(map(str, shape))}x{dtype})")

    @property
    def rows(self) -> int:
        """Rows of a 2-d tile, 1 otherwise."""
        return self.shape[0] if len(self.shape) == 2 else 1

    @property
    def columns(self) -> int:
        """Elements of one row."""
        return self.shape[-1]

    def like(self, dtype: Any) -> Tile:
        """The same shape with another element type."""
        return Tile(self.shape, dtype)


@cache
def llvm_scalar(dtype: Any) -> ir.Type:
    """The LLVM type of a scalar in a register."""
    if isinstance(dtype, types.Complex):
        return ir.LiteralStructType([llvm_scalar(dtype.underlying_float)] * 2)
    if isinstance(dtype, types.Float):
        return ir.FloatType() if dtype.bitwidth == 32 else ir.DoubleType()
    return ir.IntType(1 if dtype == types.boolean else dtype.bitwidth)


@cache
def lanes_per_piece(columns: int, dtype: Any, register_bytes: int) -> int:
    """Elements of one piece: a full register, or the power of two that holds a row.

    Elements of less than four bytes take as many lanes as float32, so that narrow types
    and masks line up with the values they come from.
    """
    is_wide = llvm_scalar(dtype) in {ir.IntType(64), ir.DoubleType()}
    full = max(1, register_bytes // (8 if is_wide else 4))
    return min(full, 1 << (columns - 1).bit_length())


@cache
def piece_type(tile: Tile, register_bytes: int) -> ir.Type:
    """The LLVM type of one piece: a vector, or a scalar where lanes are single."""
    scalar = llvm_scalar(tile.dtype)
    width = lanes_per_piece(tile.columns, tile.dtype, register_bytes)
    return scalar if width == 1 else ir.VectorType(scalar, width)


def pieces_per_row(tile: Tile, register_bytes: int) -> int:
    """Pieces of one row."""
    return -(-tile.columns // lanes_per_piece(tile.columns, tile.dtype, register_bytes))


@cache
def llvm_tile(tile: Tile, register_bytes: int) -> ir.ArrayType:
    count = tile.rows * pieces_per_row(tile, register_bytes)
    return ir.ArrayType(piece_type(tile, register_bytes), count)


I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))

Signature = Any
"""A Numba signature; None where the argument types do not fit."""
FORMULA = "formula."
"""Name prefix of functions whose operations keep their own fast-math flags."""


@dataclass(frozen=True)
class Backend:
    """A Numba target for intrinsics.

    ``intrinsic`` is its decorator, set to keep literal types.  ``register_bytes`` is
    the width of a vector register, 0 for scalar code.
    ``function(low, name, type, arguments)`` computes a function of C's library.
    ``index_bits`` is the width of an index, ``global_space`` the address space of
    constants, ``atomic_bits`` the width of the narrowest atomic.  ``is_gpu``:
    instructions convert halves and add floats atomically.  ``has_noundef``: its LLVM
    knows this attribute, which came with LLVM 11.
    """

    intrinsic: Callable[..., Any]
    register_bytes: int
    function: Callable[..., Any]
    index_bits: int = 64
    global_space: int = 0
    atomic_bits: int = 1
    is_gpu: bool = False
    has_noundef: bool = False

    def define(
        self,
        name: str,
        arity: int,
        typing_rule: Callable[..., Signature],
        build: Callable[..., Any],
        *,
        is_pure: bool = False,
    ) -> Any:
        """An intrinsic of ``arity`` arguments.

        ``typing_rule`` maps argument types to a signature; ``build`` takes a Lowering
        and the LLVM arguments; a result of None stands for no value.
        """

        def type_call(*arguments: Any) -> Any:
            signature = typing_rule(*arguments)
            return None if signature is None else (signature, generate)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            result = build(Lowering(context, builder, signature, self), *args)
            return context.get_dummy_value() if result is None else result

        function = _with_arity(type_call, arity)
        function.__name__ = name
        made = self.intrinsic(function)
        made.is_pure = is_pure
        return made


def _with_arity(function: Callable[..., Any], arity: int) -> Any:
    """``function`` with exactly ``arity`` positional parameters after the context.

    Numba reads the parameters of an intrinsic and takes no ``*args``.
    """
    names = ", ".join(f"a{i}" for i in range(arity))
    text = f"lambda context, {names}: function({names})"
    return eval(text, {"function": function})  # noqa: S307 - counted names only


@dataclass(frozen=True, slots=True, eq=False)
class Unpacked:
    """A tile in pieces, of which `CachingBuilder` makes one value where it is needed.

    ``pieces`` builds the code for them at the current place.
    """

    type: ir.ArrayType
    pieces: Callable[[], Sequence[Any]]


class CachingBuilder(ir.IRBuilder):
    """A builder that does not extract the parts of a value twice in one basic block.

    Numba's numbers have 64 bits: a truncated one is a number at once.
    """

    def __init__(self, block: ir.Block) -> None:
        super().__init__(block)
        self._parts: dict[Any, tuple[Any, list[Any]]] = {}
        self._kept: dict[Any, tuple[Any, list[Any]]] = {}

    def parts(self, of: Hashable, value: Any, make: Callable[[], list[Any]]) -> Any:
        """The list that ``make`` returns, or an earlier one; ``of`` says which parts.

        Code at the end of a block follows all other code of the block, so parts that
        were extracted there are known; elsewhere nothing is kept.
        """
        if (of, id(value)) in self._kept:
            return self.kept(of, value)
        block = self.block
        if not self._is_at_end():
            return make()
        key = of, block, id(value)
        if key not in self._parts:
            made = make()
            if self.block is not block or not self._is_at_end():
                return made
            self._parts[key] = value, made  # the value lives, so its id stays its own
        return list(self._parts[key][1])

    def keep(self, of: Hashable, value: Any, parts: Sequence[Any]) -> None:
        """Note the parts that a value was made from, so they are known where it is."""
        self._kept[of, id(value)] = value, list(parts)

    def kept(self, of: Hashable, value: Any) -> list[Any] | None:
        """The parts that a value was made from, if they were noted."""
        found = self._kept.get((of, id(value)))
        return list(found[1]) if found else None

    def forget(self) -> None:
        """Forget all parts, among which are tiles that refer to the builder."""
        self._parts.clear()
        self._kept.clear()

    def pieces(self, tile: Any) -> list[Any]:
        if isinstance(tile, Unpacked):
            return self.parts(Unpacked, tile, lambda: list(tile.pieces()))
        return [self.extract_value(tile, n) for n in range(tile.type.count)]

    def _insert(self, instr: Any) -> None:
        """Insert an instruction, whose operands become values."""
        for operand in instr.operands:
            if isinstance(operand, Unpacked):
                instr.operands = [
                    self._value(each) if isinstance(each, Unpacked) else each
                    for each in instr.operands
                ]
                break
        super()._insert(instr)

    def _value(self, tile: Unpacked) -> Any:
        """One value that holds all pieces."""
        whole = ir.Constant(tile.type, ir.Undefined)
        for n, piece in enumerate(self.pieces(tile)):
            whole = self.insert_value(whole, piece, n)
        return whole

    def trunc(self, value: Any, typ: Any, *args: Any, **more: Any) -> Any:
        is_number = isinstance(value, ir.Constant) and isinstance(value.constant, int)
        if not is_number or not isinstance(typ, ir.IntType):
            return super().trunc(value, typ, *args, **more)
        half = 1 << (typ.width - 1)
        return ir.Constant(typ, (value.constant + half) % (2 * half) - half)

    def _is_at_end(self) -> bool:
        block: Any = self.block
        return self._anchor == len(block.instructions)


@dataclass(frozen=True, slots=True)
class Lowering:
    """A call of an intrinsic during code generation."""

    context: Any
    builder: Any
    signature: Any
    face: Backend

    def value_type(self, ty: Any) -> ir.Type:
        """The LLVM type of a Numba type."""
        return self.context.get_value_type(ty)

    def call(self, name: str, result: ir.Type, args: Sequence[Any]) -> Any:
        """Call an LLVM intrinsic or a C function by its full name."""
        function_type = ir.FunctionType(result, [a.type for a in args])
        module = self.builder.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, function_type, name)
        return self.builder.call(function, args)

    def overloaded(self, name: str, args: Sequence[Any]) -> Any:
        """Call ``llvm.NAME`` overloaded on the type of its first argument."""
        ty = args[0].type
        return self.call(f"llvm.{name}.{suffix(ty)}", ty, args)

    # Tiles and their pieces.

    def lanes(self, tile: Tile) -> int:
        """Elements of a piece."""
        bytes_ = self.face.register_bytes
        return lanes_per_piece(tile.columns, tile.dtype, bytes_)

    def per_row(self, tile: Tile) -> int:
        """Pieces of a row."""
        return pieces_per_row(tile, self.face.register_bytes)

    def piece_type(self, tile: Tile) -> ir.Type:
        """The LLVM type of a piece."""
        return piece_type(tile, self.face.register_bytes)

    def pieces(self, value: Any) -> list[Any]:
        """The pieces of a tile, row after row."""
        if isinstance(self.builder, CachingBuilder):
            return self.builder.pieces(value)
        count = value.type.count
        return [self.builder.extract_value(value, i) for i in range(count)]

    def pack(self, tile: Tile, pieces: Sequence[Any]) -> Any:
        ty = llvm_tile(tile, self.face.register_bytes)
        if isinstance(self.builder, CachingBuilder):
            known = list(pieces)
            return Unpacked(ty, lambda: known)
        value = ir.Constant(ty, ir.Undefined)
        for i, piece in enumerate(pieces):
            value = self.builder.insert_value(value, piece, i)
        return value

    def splat(self, scalar: Any, width: int) -> Any:
        """A piece with the same scalar in every lane."""
        if width == 1:
            return scalar
        ty = ir.VectorType(scalar.type, width)
        undefined = ir.Constant(ty, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, ir.Constant(I32, 0))
        return self.shuffle(first, undefined, [0] * width)

    def shuffle(self, left: Any, right: Any, order: Iterable[int]) -> Any:
        """Lanes of two pieces in the given order."""
        mask = list(order)
        lanes = ir.Constant(ir.VectorType(I32, len(mask)), mask)
        return self.builder.shuffle_vector(left, right, lanes)

    def elements(self, tile: Tile, value: Any) -> list[Any]:
        """The scalars of a tile, row-major, without the padding."""
        return self.parts(tile, value, lambda: self._extracted(tile, value))

    def parts(self, of: Hashable, value: Any, make: Callable[[], list[Any]]) -> Any:
        """What ``make`` returns, which a builder may know already: `CachingBuilder`."""
        if isinstance(self.builder, CachingBuilder):
            return self.builder.parts(of, value, make)
        return make()

    def keep(self, of: Hashable, value: Any, parts: Sequence[Any]) -> None:
        """Note the parts that a value was made from."""
        if isinstance(self.builder, CachingBuilder):
            self.builder.keep(of, value, parts)

    def kept(self, of: Hashable, value: Any) -> list[Any] | None:
        """The parts that a value was made from, if they were noted."""
        if isinstance(self.builder, CachingBuilder):
            return self.builder.kept(of, value)
        return None

    def lazily(self, tile: Tile, scalars: Callable[[], Sequence[Any]]) -> Any:
        """A tile from its scalars, row-major, which are made where they are needed."""
        if isinstance(self.builder, CachingBuilder) and self.lanes(tile) == 1:
            return Unpacked(llvm_tile(tile, self.face.register_bytes), scalars)
        return self.from_elements(tile, scalars())

    def _extracted(self, tile: Tile, value: Any) -> list[Any]:
        width, per_row = self.lanes(tile), self.per_row(tile)
        pieces = self.pieces(value)
        return [
            self.lane(pieces[row * per_row + column // width], column % width)
            for row in range(tile.rows)
            for column in range(tile.columns)
        ]

    def lane(self, piece: Any, index: int) -> Any:
        """One scalar of a piece."""
        if not isinstance(piece.type, ir.VectorType):
            return piece
        return self.builder.extract_element(piece, ir.Constant(I32, index))

    def from_elements(self, tile: Tile, scalars: Sequence[Any]) -> Any:
        """A tile from its scalars, row-major; the padding is zero."""
        width, per_row = self.lanes(tile), self.per_row(tile)
        pieces: list[Any] = []
        for row in range(tile.rows):
            line = scalars[row * tile.columns : (row + 1) * tile.columns]
            parts = [line[i * width : (i + 1) * width] for i in range(per_row)]
            pieces += [self._piece(tile, part, width) for part in parts]
        value = self.pack(tile, pieces)
        self.keep(tile, value, scalars[: tile.rows * tile.columns])
        return value

    def _piece(self, tile: Tile, scalars: Sequence[Any], width: int) -> Any:
        if width == 1:
            return scalars[0]
        piece = ir.Constant(self.piece_type(tile), None)
        for i, scalar in enumerate(scalars):
            piece = self.builder.insert_element(piece, scalar, ir.Constant(I32, i))
        return piece


def suffix(ty: ir.Type) -> str:
    """The overload suffix of an LLVM intrinsic: ``v16f32``, ``i64``."""
    if isinstance(ty, ir.VectorType):
        return f"v{ty.count}{suffix(ty.element)}"
    if isinstance(ty, ir.IntType):
        return f"i{ty.width}"
    names = {"half": "f16", "float": "f32", "double": "f64"}
    return names[str(ty)]


def number(ty: ir.Type, value: float) -> Any:
    """A constant scalar, or the same constant in every lane."""
    if isinstance(ty, ir.VectorType):
        return ir.Constant(ty, [number(ty.element, value)] * ty.count)
    return ir.Constant(ty, value)


def shaped_like(scalar: ir.Type, shape: ir.Type) -> ir.Type:
    """The scalar, or a vector of it with as many lanes as ``shape``."""
    is_vector = isinstance(shape, ir.VectorType)
    return ir.VectorType(scalar, shape.count) if is_vector else scalar


def carrier(name: str) -> Any:
    """The Numba type that represents an MLIR element type in a kernel."""
    return getattr(types, element(name).carrier)


def tile_or_scalar(shape: tuple[int, ...], dtype: str) -> Any:
    """The Numba type of ``vector<shape x dtype>``; a scalar for an empty shape."""
    return Tile(shape, carrier(dtype)) if shape else carrier(dtype)


def is_pointer(ty: Any) -> bool:
    """Whether a Numba type is a kernel's flat pointer."""
    return isinstance(ty, types.CPointer)


def signature(result: Any, *arguments: Any) -> Signature:
    """A Numba signature with literal types generalised."""
    return typing.signature(result, *(types.unliteral(a) for a in arguments))
