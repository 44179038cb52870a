"""Why tensor cores have no part in a product of tiles, in words."""

from __future__ import annotations

from gpucodegen.ir.types import FloatType, element_bytes, element_type
from gpucodegen.passes.contraction.fragments.factors import type_of
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.tiling.machine.gpu.fragments import COLUMNS, ROWS, terms_of
from gpucodegen.tiling.machine.gpu.user_tiles import MOST_WARPS, Tile, warp_tiles


def uneven(narrow: Contraction | None, tile: Tile, room: int) -> str:
    """Why fragments do not divide a tile, or have no room for their sums."""
    size = 1 if narrow is None else element_bytes(type_of(narrow.left)) or 1
    if narrow is None or warp_tiles(tile, size, room):
        return ""
    if warp_tiles(tile, size):
        return "the tiles leave no shared memory for a slice of the sums"
    least = ROWS, 2 * COLUMNS, terms_of(size)
    whole, parts = (" x ".join(map(str, sides)) for sides in (tile, least))
    most = f"{MOST_WARPS} warps or fewer"
    return f"a tile of {whole} is not shared by {most} in multiples of {parts}"


def refused(
    contraction: Contraction, narrow: Contraction | None, *, contractions: bool
) -> str:
    """Why tensor cores may not add the terms of a sum, or cannot multiply them."""
    if narrow is None:
        return _types(contraction)
    if not contractions:
        return "exact=True keeps the order of every sum"
    is_ordered = isinstance(contraction.element, FloatType)
    return ORDERED if is_ordered and not contraction.reassociable else ""


ORDERED = (
    "the text orders the terms of its float sums; reassociate=True, or"
    " fastmath<reassoc> in the text, lets tensor cores add them"
)


def _types(contraction: Contraction) -> str:
    """Why tensor cores do not take some types."""
    factors = contraction.left, contraction.right
    left, right = (element_type(factor.memref.type) for factor in factors)
    sums = contraction.element
    hint = (
        "; precision='tf32' allows it"
        if str(sums) == "f32" and left == right == sums
        else ""
    )
    return f"tensor cores do not multiply {left} by {right} in {sums}{hint}"
