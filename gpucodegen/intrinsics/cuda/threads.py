"""CUDA thread intrinsics: indices, barriers, grid barriers, warp shuffles and votes.

`face` provides ``cuda.threadIdx.x`` and its like, ``cuda.syncthreads()`` and
``cuda.syncwarp(mask)`` under the names of Numba's CUDA. Warp operations are one PTX
instruction each, which waits for all running lanes of its mask.

`meet_grid` is a grid barrier, as in CUDA's cooperative groups: a word of global memory
counts arrivals.  The first block adds 2**31 - (blocks - 1), every other one 1.  So the
word's highest bit changes when all have come, and the bits below are 0 again for the
next barrier. One thread of each block adds with release semantics and reads with
acquire semantics at device scope; the barriers of its block before and after it extend
that order to all threads (PTX ISA, memory consistency model: causality order).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial, reduce
from types import ModuleType
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.extending import models, typeof_impl
from numba.core.typing import templates

from gpucodegen.intrinsics.cuda.instructions import register
from gpucodegen.intrinsics.cuda.target import CODE, MODELS, TYPES
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I32,
    I64,
    Backend,
    Lowering,
    is_pointer,
    signature,
    tile_or_scalar,
)
from gpucodegen.ir.number_formats import MOST_THREADS

REGISTERS = {
    "threadIdx": "tid",
    "blockIdx": "ctaid",
    "blockDim": "ntid",
    "gridDim": "nctaid",
}
"""Numba's name: the special register of PTX."""


class Triple(types.Dummy):
    """The type of ``threadIdx``: three numbers of 32 bits."""


MODELS.register(Triple, models.OpaqueModel)


def face(face: Backend) -> ModuleType:
    """The module ``cuda`` of generated text."""
    module = ModuleType("cuda", __doc__)
    vars(module)["syncthreads"] = _syncthreads(face)
    vars(module)["syncwarp"] = _syncwarp(face)
    for name, special in REGISTERS.items():
        vars(module)[name] = _triple(face, name, special)
    return module


def _triple(face: Backend, name: str, special: str) -> Any:
    ty, place = Triple(name), type(name, (), {"__doc__": f"``cuda.{name}``."})

    class Number(templates.AttributeTemplate):
        key = ty

        def generic_resolve(self, value: Any, attr: str) -> Any:
            del value
            return types.int32 if attr in ("x", "y", "z") else None

    TYPES.register_attr(Number)
    typeof_impl.register(place)(lambda _value, _context: ty)
    for dimension in "xyz":
        read = _reader(face, f"{special}.{dimension}")
        CODE.lower_getattr(ty, dimension)(read)
    return place()


def _reader(face: Backend, special: str) -> Any:
    def read(context: Any, builder: Any, _type: Any, _value: Any) -> Any:
        low = Lowering(context, builder, None, face)
        value = register(low, special)
        end = _end(special, context.kernel.block)
        if end is not None:
            is_below = builder.icmp_unsigned("<", value, I32(end))
            low.call("llvm.assume", ir.VoidType(), [is_below])
        return value

    return read


def _end(special: str, block: tuple[int, int, int] | None) -> int | None:
    """An exclusive bound of a special register, where the block size gives one."""
    if block is None:
        return None
    name, _, dimension = special.partition(".")
    extent = max(block["xyz".index(dimension)], 1)  # no launch without threads
    return {"tid": extent, "ctaid": MOST_THREADS // extent}.get(name)


def _syncthreads(face: Backend) -> Any:
    def lower(low: Lowering) -> None:
        low.call("llvm.nvvm.barrier0", ir.VoidType(), ())

    return face.define("syncthreads", 0, lambda: signature(types.void), lower)


def _syncwarp(face: Backend) -> Any:
    def lower(low: Lowering, mask: Any) -> None:
        low.call("llvm.nvvm.bar.warp.sync", ir.VoidType(), (mask,))

    def typing_rule(_mask: Any) -> Any:
        return signature(types.void, types.int32)

    return face.define("syncwarp", 1, typing_rule, lower)


HIGHEST = 1 << 31
"""The bit that changes when all blocks have come."""


def grid_factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in GRID_FACTORIES.items()}


def meet_grid(face: Backend) -> Any:
    """``meet_grid(p)``: wait for all threads of all blocks at the word ``p``."""

    def lower(low: Lowering, pointer: Any) -> None:
        builder = low.builder
        low.call("llvm.nvvm.barrier0", ir.VoidType(), ())
        first = builder.icmp_unsigned("==", _sum(low, "tid"), I32(0))
        with builder.if_then(first, likely=False):
            _wait(low, builder.ptrtoint(pointer, I64))
        low.call("llvm.nvvm.barrier0", ir.VoidType(), ())

    def typing_rule(pointer: Any) -> Any:
        return signature(types.void, pointer) if is_pointer(pointer) else None

    return face.define("meet_grid", 1, typing_rule, lower)


def _wait(low: Lowering, address: Any) -> None:
    """Arrives, and waits until the highest bit has changed."""
    builder = low.builder
    blocks = reduce(builder.mul, _each(low, "nctaid"))
    others = builder.sub(blocks, I32(1))
    is_first = builder.icmp_unsigned("==", _sum(low, "ctaid"), I32(0))
    share = builder.select(is_first, builder.sub(I32(HIGHEST), others), I32(1))
    old = _grid_instruction(
        low, "atom.add.release.gpu.global.u32 $0, [$1], $2;", [address, share]
    )
    again, done = (builder.append_basic_block(f"meet_{s}") for s in ("wait", "done"))
    builder.branch(again)
    builder.position_at_end(again)
    now = _grid_instruction(low, "ld.acquire.gpu.global.u32 $0, [$1];", [address])
    changed = builder.and_(builder.xor(old, now), I32(HIGHEST))
    builder.cbranch(builder.icmp_unsigned("==", changed, I32(0)), again, done)
    builder.position_at_end(done)


def _each(low: Lowering, special: str) -> list[Any]:
    return [register(low, f"{special}.{dimension}") for dimension in "xyz"]


def _sum(low: Lowering, special: str) -> Any:
    """Zero for the first thread or block only."""
    return reduce(low.builder.or_, _each(low, special))


def _grid_instruction(low: Lowering, text: str, arguments: Sequence[Any]) -> Any:
    """One PTX instruction on a word, which orders all memory."""
    kinds = [argument.type for argument in arguments]
    inputs = ",".join("l" if kind == I64 else "r" for kind in kinds)
    return low.builder.asm(
        ir.FunctionType(I32, kinds),
        text,
        f"=r,{inputs},~{{memory}}",
        arguments,
        side_effect=True,
    )


GRID_FACTORIES = {"meet_grid": meet_grid}


WARP = 32
SHUFFLES = {"xor": "bfly", "up": "up", "down": "down", "idx": "idx"}
"""Modes of ``gpu.shuffle``, and their PTX names."""
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


def warp_factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in WARP_FACTORIES.items()}


def shuffle_lanes(face: Backend, mode: str, shape: tuple[int, ...], dtype: str) -> Any:
    """``shuffle_lanes(x, offset, width)``: ``x`` of another lane below ``width``.

    Other lanes, and those whose source lane is not below ``width``, keep their value.
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


def has_lane(face: Backend, mode: str) -> Any:
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


def shfl_sync(face: Backend, mode: str, dtype: str) -> Any:
    """``shfl_sync(mask, x, offset, clamp)``: the instruction itself."""
    ty = tile_or_scalar((), dtype)

    def lower(low: Lowering, mask: Any, value: Any, offset: Any, clamp: Any) -> Any:
        return _exchanged(low, ty, value, (mode, mask, offset, clamp))

    def typing_rule(_mask: Any, _x: Any, _offset: Any, _clamp: Any) -> Any:
        return signature(ty, types.int32, ty, types.int32, types.int32)

    return face.define(f"shfl_sync_{mode}", 4, typing_rule, lower)


def vote_sync(face: Backend, kind: str) -> Any:
    """``vote_sync(mask, p)``: a bit for each lane, or one truth value."""
    is_ballot = kind == "ballot"
    result = types.int32 if is_ballot else types.boolean
    target = "b32 $0" if is_ballot else "pred q"
    vote = f"vote.sync.{kind}.{target}, p, $1"
    text = _PREDICATE.format(vote if is_ballot else f"{vote}; selp.u32 $0, 1, 0, q")

    def lower(low: Lowering, mask: Any, predicate: Any) -> Any:
        word = low.builder.zext(predicate, I32)
        voted = _warp_instruction(low, text, (mask, word))
        return voted if is_ballot else low.builder.trunc(voted, I1)

    def typing_rule(_mask: Any, _predicate: Any) -> Any:
        return signature(result, types.int32, types.boolean)

    return face.define(f"vote_sync_{kind}", 2, typing_rule, lower)


def redux_sync(face: Backend, kind: str) -> Any:
    """``redux_sync(x, mask)``: a reduction of integers over the lanes of the mask."""
    text = f"redux.sync.{REDUCTIONS[kind]} $0, $1, $2;"

    def lower(low: Lowering, value: Any, mask: Any) -> Any:
        return _warp_instruction(low, text, (value, mask))

    def typing_rule(_x: Any, _mask: Any) -> Any:
        return signature(types.int32, types.int32, types.int32)

    return face.define(f"redux_sync_{kind}", 2, typing_rule, lower)


WARP_FACTORIES = {
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
    """The integer type of the same width."""
    return {"float": I32, "double": I64}.get(str(ty), ty)


def _word(low: Lowering, word: Any, how: tuple[Any, ...]) -> Any:
    mode, mask, offset, clamp = how
    name = SHUFFLES.get(mode, mode)
    text = f"shfl.sync.{name}.b32 $0, $1, $2, $3, $4;"
    return _warp_instruction(low, text, (word, offset, clamp, mask))


def _warp_instruction(low: Lowering, text: str, args: Sequence[Any]) -> Any:
    """One 32-bit result of a convergent instruction, which LLVM may not move."""
    function = ir.FunctionType(I32, [arg.type for arg in args])
    constraints = ",".join(["=r", *["r"] * len(args)])
    code = ir.InlineAsm(function, text, constraints, side_effect=True)
    return low.builder.call(code, args, attrs=("convergent",))
