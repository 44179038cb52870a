"""Structured operations written like calls: ``linalg.matmul(%a, %b, %c) : types``.

A reader returns False, having read nothing, when the text is today's.  A tensor result
that no output stood for in 2020 gets an empty tensor as its output.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.linalg import iterator, scalar_of, yield_
from gpucodegen.dialects.linalg.named.bodies import scalar_body
from gpucodegen.dialects.linalg.named.definitions import default_maps, numbers
from gpucodegen.dialects.linalg.named.tables import NAMED, POINTWISE
from gpucodegen.dialects.linalg.old import read_call
from gpucodegen.dialects.linalg.syntax import set_segments
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseElementsAttr,
)
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import I64, DialectType, MemRefType, TensorType
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages.linalg.outputs import add_outputs

_STARTS = ("(", "%")


def _is_shaped(value: Value) -> bool:
    return isinstance(value.type, MemRefType | TensorType | DialectType)


def read_named(p: Parser, state: State) -> bool:
    """``(%a, %b, %c) {attrs} : types``; the last operand is the output."""
    if p.token[:1] not in _STARTS:
        return False
    read_call(p, state)
    name = state.name.removeprefix("linalg.")
    entry = NAMED.get(name)
    inputs = len(entry.inputs) if entry else POINTWISE[name]
    if len(state.operands) == inputs and state.result_types:
        fake = Value(state.result_types[0])
        whole = Operation(state.name, (*state.operands, fake), (), state.attributes)
        add_outputs(p, state, default_maps(whole), inputs)
    set_segments(state, inputs)
    return True


def read_fill(p: Parser, state: State) -> bool:
    """``(%out, %value) : types``, from 2021 on ``(%value, %out) : types``."""
    if not read_named(p, state):
        return False
    shaped = [_is_shaped(value) for value in state.operands]
    if shaped == [True, False]:
        state.operands.reverse()
    return True


# -- copies with permutations ----------------------------------------------------------


def read_copy(p: Parser, state: State) -> bool:
    """``(%a, %b) {inputPermutation = .., outputPermutation = ..} : types``."""
    if not read_named(p, state):
        return False
    maps = [_permutation(p, state, side) for side in ("input", "output")]
    if maps == [None, None] or len(state.operands) != 2:
        return True
    rank = len(getattr(state.operands[-1].type, "shape", ()))
    identity = AffineMap.identity(rank)
    scalars = [Value(scalar_of(v.type)) for v in state.operands]
    body = [yield_(scalars[:1], location=p.location(state.start))]
    _become_generic(state, [m or identity for m in maps], rank, 0)
    state.regions = [single_block(body, scalars)]
    return True


def _permutation(p: Parser, state: State, side: str) -> AffineMap | None:
    name, other = f"{side}Permutation", f"{side}_permutation"
    if other in state.attributes:
        place = p.location(state.start)
        p.warn(errors.OldSpelling(place, written=other, meant=name))
        state.attributes[name] = state.attributes.pop(other)
    value = state.attributes.pop(name, None)
    return value.map if isinstance(value, AffineMapAttr) else None


def _become_generic(
    state: State, maps: Sequence[AffineMap], parallel: int, reduction: int
) -> None:
    kinds = ["parallel"] * parallel + ["reduction"] * reduction
    state.name = "linalg.generic"
    state.attributes["indexing_maps"] = ArrayAttr(tuple(map(AffineMapAttr, maps)))
    state.attributes["iterator_types"] = ArrayAttr(tuple(map(iterator, kinds)))


# -- convolutions and poolings of any rank ---------------------------------------------

_CONVOLUTIONS = {3: "conv_1d_nwc_wcf", 4: "conv_2d_nhwc_hwcf", 5: "conv_3d_ndhwc_dhwcf"}


def read_convolution(p: Parser, state: State) -> bool:
    """``(%filter, %input, %output) {strides = [..], dilations = [..]} : types``.

    Without padding, and with up to three windows, it has a name of today.
    """
    if p.token[:1] not in _STARTS:
        return False
    read_call(p, state)
    rank = _rank(state)
    if "padding" in state.attributes or rank not in _CONVOLUTIONS:
        return True
    filter_, image, output = state.operands
    state.name = f"linalg.{_CONVOLUTIONS[rank]}"
    state.operands = [image, filter_, output]
    for name in ("strides", "dilations"):
        value = state.attributes.pop(name, None)
        if value is not None:
            state.attributes[name] = _dense(value)
    set_segments(state, 2)
    return True


def _dense(value: Attribute) -> Attribute:
    """``[1, 2]`` as a dense vector of i64."""
    if not isinstance(value, ArrayAttr):
        return value
    entries = numbers(Operation("", attributes={"": value}), "")
    stored = entries[:1] if len(set(entries)) == 1 else entries
    return DenseElementsAttr(stored, TensorType((len(entries),), I64), I64)


def read_pooling(p: Parser, state: State) -> bool:
    """``(%input, %window, %output) {strides = [..], dilations = [..]} : types``.

    Without padding it becomes a generic operation.
    """
    if p.token[:1] not in _STARTS:
        return False
    read_call(p, state)
    rank = _rank(state)
    factors = [_factors(state, name, rank) for name in ("strides", "dilations")]
    if "padding" in state.attributes or not rank or {*map(len, factors)} != {rank}:
        return True
    strides, dilations = factors
    for name in ("strides", "dilations"):
        state.attributes.pop(name, None)
    points, taps = ([Dim(i + start) for i in range(rank)] for start in (0, rank))
    image = [
        x * stride + w * dilation
        for x, w, stride, dilation in zip(points, taps, strides, dilations, strict=True)
    ]
    kind = state.name.removeprefix("linalg.pooling_")
    location = p.location(state.start)
    op = Operation(state.name, location=location)
    body = scalar_body(f"pool_{kind}", op, state.operands[:2], state.operands[2:])
    maps = [AffineMap(2 * rank, 0, tuple(r)) for r in (image, taps, points)]
    _become_generic(state, maps, rank, rank)
    state.regions = [single_block(body.operations, body.arguments)]
    set_segments(state, 2)
    return True


def _rank(state: State) -> int:
    """Rank of the output; 0 unless there are three operands."""
    is_whole = len(state.operands) == 3
    return len(getattr(state.operands[-1].type, "shape", ())) if is_whole else 0


def _factors(state: State, name: str, rank: int) -> tuple[int, ...]:
    value = state.attributes.get(name)
    if value is None:
        return (1,) * rank
    return numbers(Operation("", attributes={"": value}), "")
