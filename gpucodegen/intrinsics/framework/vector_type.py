"""The Numba type of register tiles: ``n`` or ``m x n`` elements in one variable.

In LLVM a tile is an array of pieces, row after row.  A piece is a vector as wide as the
machine's registers (CPU) or one element (CUDA); the last piece of a row may be padded.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types


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


def llvm_scalar(dtype: Any) -> ir.Type:
    """The LLVM type of a scalar in a register."""
    if isinstance(dtype, types.Complex):
        return ir.LiteralStructType([llvm_scalar(dtype.underlying_float)] * 2)
    if isinstance(dtype, types.Float):
        return ir.FloatType() if dtype.bitwidth == 32 else ir.DoubleType()
    return ir.IntType(1 if dtype == types.boolean else dtype.bitwidth)


def lanes(columns: int, dtype: Any, register_bytes: int) -> int:
    """Elements of one piece: a full register, or the power of two that holds a row.

    Elements of less than four bytes take as many lanes as float32, so that narrow
    types and masks line up with the values they come from.
    """
    is_wide = llvm_scalar(dtype) in {ir.IntType(64), ir.DoubleType()}
    full = max(1, register_bytes // (8 if is_wide else 4))
    return min(full, 1 << (columns - 1).bit_length())


def piece_type(tile: Tile, register_bytes: int) -> ir.Type:
    """The LLVM type of one piece: a vector, or a scalar where lanes are single."""
    scalar = llvm_scalar(tile.dtype)
    width = lanes(tile.columns, tile.dtype, register_bytes)
    return scalar if width == 1 else ir.VectorType(scalar, width)


def pieces_per_row(tile: Tile, register_bytes: int) -> int:
    """Pieces of one row."""
    return -(-tile.columns // lanes(tile.columns, tile.dtype, register_bytes))


def llvm_tile(tile: Tile, register_bytes: int) -> ir.ArrayType:
    """The LLVM type of a tile."""
    count = tile.rows * pieces_per_row(tile, register_bytes)
    return ir.ArrayType(piece_type(tile, register_bytes), count)
