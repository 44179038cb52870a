"""What the lanes of a warp tell one another: shuffles, votes, reductions.

Each is one instruction of PTX, which waits for all lanes of its mask that run at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cuda.threads import register
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I32,
    I64,
    Face,
    Lowering,
    signature,
    tile_or_scalar,
)

WARP = 32
SHUFFLES = {"xor": "bfly", "up": "up", "down": "down", "idx": "idx"}
"""Modes of gpu, and what PTX calls them."""
REDUCTIONS = {
    "add": "add.s32",
    "and": "and.b32",
    "max": "max.s32",
    "min": "min.s32",
    "or": "or.b32",
    "umax": "max.u32",
    "umin": "min.u32",
    "xor": "xor.b32",
}
_PREDICATE = "{{ .reg .pred p, q; setp.ne.b32 p, $2, 0; {}; }}"


def factories(face: Face) -> dict[str, Any]:
    """By name; the same request gives the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


def shuffle_lanes(face: Face, mode: str, shape: tuple[int, ...], dtype: str) -> Any:
    """``shuffle_lanes(x, offset, width)``: ``x`` of another lane below ``width``.

    Lanes from there on keep theirs, as do those whose other lane would lie there.
    """
    ty = tile_or_scalar(shape, dtype)

    def lower(low: Lowering, value: Any, offset: Any, width: Any) -> Any:
        builder = low.builder
        full = ir.Constant(I32, -1)
        mask = builder.lshr(full, builder.sub(ir.Constant(I32, WARP), width))
        last = builder.sub(width, ir.Constant(I32, 1))
        clamp = ir.Constant(I32, 0) if mode == "up" else last

        def exchanged() -> Any:
            return _exchanged(low, ty, value, (mode, mask, offset, clamp))

        if isinstance(width, ir.Constant) and width.constant == WARP:
            return exchanged()
        before = builder.block
        with builder.if_then(builder.icmp_unsigned("<", _lane(low), width)):
            changed, inside = exchanged(), builder.block
        result = builder.phi(value.type)
        result.add_incoming(value, before)
        result.add_incoming(changed, inside)
        return result

    def typing_rule(_x: Any, _offset: Any, _width: Any) -> Any:
        return signature(ty, ty, types.int32, types.int32)

    return face.define(f"shuffle_lanes_{mode}", 3, typing_rule, lower)


def has_lane(face: Face, mode: str) -> Any:
    """``has_lane(offset, width)``: whether both lanes of a shuffle lie below width."""

    def lower(low: Lowering, offset: Any, width: Any) -> Any:
        builder, lane = low.builder, _lane(low)
        combine: dict[str, Callable[..., Any]] = {
            "xor": builder.xor,
            "up": builder.sub,
            "down": builder.add,
            "idx": lambda _lane, other: other,
        }
        other = combine[mode](lane, offset)
        below = [(lane, width), (other, width), (offset, ir.Constant(I32, WARP))]
        first, *rest = (builder.icmp_unsigned("<", *pair) for pair in below)
        for condition in rest:
            first = builder.and_(first, condition)
        return first

    def typing_rule(_offset: Any, _width: Any) -> Any:
        return signature(types.boolean, types.int32, types.int32)

    return face.define(f"has_lane_{mode}", 2, typing_rule, lower)


def shfl_sync(face: Face, mode: str, dtype: str) -> Any:
    """``shfl_sync(mask, x, offset, clamp)``: the instruction itself."""
    ty = tile_or_scalar((), dtype)

    def lower(low: Lowering, mask: Any, value: Any, offset: Any, clamp: Any) -> Any:
        return _exchanged(low, ty, value, (mode, mask, offset, clamp))

    def typing_rule(_mask: Any, _x: Any, _offset: Any, _clamp: Any) -> Any:
        return signature(ty, types.int32, ty, types.int32, types.int32)

    return face.define(f"shfl_sync_{mode}", 4, typing_rule, lower)


def vote_sync(face: Face, kind: str) -> Any:
    """``vote_sync(mask, p)``: a bit for each lane, or a truth value of all lanes."""
    is_ballot = kind == "ballot"
    result = types.int32 if is_ballot else types.boolean
    target = "b32 $0" if is_ballot else "pred q"
    vote = f"vote.sync.{kind}.{target}, p, $1"
    text = _PREDICATE.format(vote if is_ballot else f"{vote}; selp.u32 $0, 1, 0, q")

    def lower(low: Lowering, mask: Any, predicate: Any) -> Any:
        word = low.builder.zext(predicate, I32)
        voted = _instruction(low, text, (mask, word))
        return voted if is_ballot else low.builder.trunc(voted, I1)

    def typing_rule(_mask: Any, _predicate: Any) -> Any:
        return signature(result, types.int32, types.boolean)

    return face.define(f"vote_sync_{kind}", 2, typing_rule, lower)


def redux_sync(face: Face, kind: str) -> Any:
    """``redux_sync(x, mask)``: an integer of all lanes of the mask combined."""
    text = f"redux.sync.{REDUCTIONS[kind]} $0, $1, $2;"

    def lower(low: Lowering, value: Any, mask: Any) -> Any:
        return _instruction(low, text, (value, mask))

    def typing_rule(_x: Any, _mask: Any) -> Any:
        return signature(types.int32, types.int32, types.int32)

    return face.define(f"redux_sync_{kind}", 2, typing_rule, lower)


MADE = {
    "has_lane": has_lane,
    "redux_sync": redux_sync,
    "shfl_sync": shfl_sync,
    "shuffle_lanes": shuffle_lanes,
    "vote_sync": vote_sync,
}


def _lane(low: Lowering) -> Any:
    return register(low, "laneid")


def _exchanged(low: Lowering, ty: Any, value: Any, how: tuple[Any, ...]) -> Any:
    """A value of any type, in words of 32 bits."""
    if not isinstance(value.type, ir.ArrayType):
        return _scalar(low, value, how)
    scalars = [_scalar(low, scalar, how) for scalar in low.elements(ty, value)]
    return low.from_elements(ty, scalars)


def _scalar(low: Lowering, value: Any, how: tuple[Any, ...]) -> Any:
    builder, ty = low.builder, value.type
    bits = builder.bitcast(value, _integer(ty))
    if bits.type.width <= WARP:
        word = bits if bits.type.width == WARP else builder.zext(bits, I32)
        moved = _word(low, word, how)
        narrow = moved if bits.type.width == WARP else builder.trunc(moved, bits.type)
        return builder.bitcast(narrow, ty)
    high = builder.trunc(builder.lshr(bits, ir.Constant(I64, WARP)), I32)
    parts = [_word(low, part, how) for part in (builder.trunc(bits, I32), high)]
    lower, upper = (builder.zext(part, I64) for part in parts)
    whole = builder.or_(lower, builder.shl(upper, ir.Constant(I64, WARP)))
    return builder.bitcast(whole, ty)


def _integer(ty: Any) -> Any:
    """The integer of as many bits."""
    return {"float": I32, "double": I64}.get(str(ty), ty)


def _word(low: Lowering, word: Any, how: tuple[Any, ...]) -> Any:
    mode, mask, offset, clamp = how
    name = SHUFFLES.get(mode, mode)
    text = f"shfl.sync.{name}.b32 $0, $1, $2, $3, $4;"
    return _instruction(low, text, (word, offset, clamp, mask))


def _instruction(low: Lowering, text: str, args: Sequence[Any]) -> Any:
    """One result of 32 bits; no lane may come to it by another way than written."""
    function = ir.FunctionType(I32, [arg.type for arg in args])
    constraints = ",".join(["=r", *["r"] * len(args)])
    code = ir.InlineAsm(function, text, constraints, side_effect=True)
    return low.builder.call(code, args, attrs=("convergent",))
