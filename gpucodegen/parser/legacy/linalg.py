"""Linalg syntax of 2019 to 2025: readers by the operation's old name.

``FORMS`` are operations that no longer exist; ``SPELLINGS`` are operations whose
operands were once written in another order. Readers return today's operations or those
of ``gpucodegen.dialects.linalg.legacy``; they return False without reading anything
when the text is today's. A tensor result of 2020 without an output operand gets an
empty tensor as its output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.syntax import State, read_type
from gpucodegen.dialects.linalg import iterator, scalar_of, yield_
from gpucodegen.dialects.linalg.legacy import read_call
from gpucodegen.dialects.linalg.named_bodies import scalar_body
from gpucodegen.dialects.linalg.named_definitions import default_maps, map_of, numbers
from gpucodegen.dialects.linalg.named_tables import CONTRACTIONS, NAMED, POINTWISE
from gpucodegen.dialects.linalg.syntax import set_segments
from gpucodegen.dialects.memref.reshapes import give_output_shape
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseElementsAttr,
    IntegerAttr,
    StridedLayoutAttr,
)
from gpucodegen.ir.operation import Block, Operation, Region, Value, single_block
from gpucodegen.ir.types import (
    I64,
    INDEX,
    DialectType,
    MemRefType,
    Shape,
    TensorType,
    Type,
)
from gpucodegen.parser.legacy import linalg_generic
from gpucodegen.parser.legacy.linalg_generic import add_outputs
from gpucodegen.parser.legacy.text_2019 import OldForm, renamed
from gpucodegen.parser.legacy.text_2020 import Spelling
from gpucodegen.parser.parser import Parser

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


def init_tensor(p: Parser, state: State) -> None:
    """``linalg.init_tensor [%n, 4] : type``; numbers follow from the type."""
    state.name = "tensor.empty"
    entries = p.listed("[", "]", lambda: p.use() if p.token[:1] == "%" else p.integer())
    state.attributes |= p.attr_dict()
    p.expect(":")
    state.operands = [p.resolve(e, INDEX) for e in entries if not isinstance(e, int)]
    state.result_types = [p.type()]


def pad_tensor(p: Parser, state: State) -> None:
    """``linalg.pad_tensor``: ``tensor.pad`` whose body ends in ``linalg.yield``."""
    definition = registry.lookup("tensor.pad")
    if definition is None or definition.parse is None:
        raise p.unknown_operation(state.name, state.start)
    definition.parse(p, state)
    state.name = "tensor.pad"
    state.regions = [
        Region(tuple(_ending_in(block, "tensor.yield") for block in region.blocks))
        for region in state.regions
    ]


def _ending_in(block: Block, name: str) -> Block:
    body, last = block.operations[:-1], block.operations[-1:]
    return block.with_operations([*body, *(end.with_(name=name) for end in last)])


# -- reshapes --------------------------------------------------------------------------


def reshape(p: Parser, state: State) -> None:
    """``linalg.reshape %m [(i, j) -> (i, j)] : type into type``, by maps or numbers."""
    source = p.use()
    groups = p.attribute()
    ty = read_type(p, state)
    p.one_of(("into",), "'into'")
    result = p.type()
    state.attributes["reassociation"] = _groups(groups)
    state.operands = [p.resolve(source, ty)]
    state.result_types = [result]
    state.name = _reshape_name(ty, result)
    if state.name.endswith("expand_shape"):
        give_output_shape(p, state)


def _shape(ty: Type) -> tuple[int | None, ...]:
    return ty.shape if isinstance(ty, MemRefType | TensorType) else ()


def _reshape_name(source: Type, result: Type) -> str:
    dialect = "tensor" if isinstance(source, TensorType) else "memref"
    is_collapse = len(_shape(source)) > len(_shape(result))
    return f"{dialect}.{'collapse' if is_collapse else 'expand'}_shape"


def _groups(value: Attribute) -> Attribute:
    """Maps ``(i, j, k) -> (i, j)`` as lists of dimensions."""
    entries = value.values if isinstance(value, ArrayAttr) else ()
    return ArrayAttr(tuple(map(_group, entries)))


def _group(entry: Attribute) -> Attribute:
    if not isinstance(entry, AffineMapAttr):
        return entry
    positions = [r.position for r in entry.map.results if isinstance(r, Dim)]
    return ArrayAttr(tuple(IntegerAttr(i, I64) for i in positions))


# -- transpose -------------------------------------------------------------------------


def transposed(p: Parser, state: State) -> bool:
    """``linalg.transpose %m (i, j) -> (j, i) : type``: a view with other strides."""
    if p.token[:1] != "%":
        return False
    state.name = "memref.transpose"
    source = p.use()
    permutation = p.affine_map()
    state.attributes |= p.attr_dict()
    state.attributes["permutation"] = AffineMapAttr(permutation)
    p.expect(":")
    start = p.start
    ty = p.type()
    if not isinstance(ty, MemRefType):
        raise errors.InvalidType(
            p.location(start),
            problem=f"{ty} is no memref",
            hint="linalg.transpose of 2019 permutes a memref",
        )
    state.operands = [p.resolve(source, ty)]
    order = [r.position for r in permutation.results if isinstance(r, Dim)]
    if sorted(order) != list(range(len(ty.shape))):
        raise errors.InvalidAffine(
            p.location(start),
            problem=f"{permutation} is no permutation of {ty}",
            hint="Name every dimension once",
        )
    state.result_types = [_permuted(ty, order)]
    return True


def _permuted(ty: MemRefType, order: list[int]) -> MemRefType:
    shape = tuple(ty.shape[i] for i in order)
    layout = ty.layout
    if isinstance(layout, AffineMapAttr):
        sources = tuple(Dim(order.index(i)) for i in range(len(order)))
        permutation = AffineMap(len(order), 0, sources)
        layout = AffineMapAttr(layout.map.compose(permutation))
    else:
        strides = _row_major(ty.shape)
        if isinstance(layout, StridedLayoutAttr):
            strides = list(layout.strides)
        offset = layout.offset if isinstance(layout, StridedLayoutAttr) else 0
        layout = StridedLayoutAttr(tuple(strides[i] for i in order), offset)
    return MemRefType(shape, ty.element, layout, ty.memory_space)


def _row_major(shape: Shape) -> list[int | None]:
    strides: list[int | None] = [1]
    for extent in reversed(shape[1:]):
        inner = strides[-1]
        strides.append(None if extent is None or inner is None else inner * extent)
    return strides[::-1][-len(shape) :] if shape else []


# -- names -----------------------------------------------------------------------------

_NAMES = {
    "conv_1d_input_nwc_filter_wcf": "conv_1d_nwc_wcf",
    "conv_1d_ncw": "conv_1d_ncw_fcw",
    "conv_2d_input_nhwc_filter_hwcf": "conv_2d_nhwc_hwcf",
    "conv_2d_input_nhwc_filter_ohwi_poly": "conv_2d_nhwc_fhwc",
    "conv_2d_input_nhwc_filter_ohwi_poly_q": "conv_2d_nhwc_fhwc_q",
    "conv_2d_nchw": "conv_2d_nchw_fchw",
    "conv_2d_nhwc": "conv_2d_nhwc_fhwc",
    "conv_3d_input_ndhwc_filter_dhwcf": "conv_3d_ndhwc_dhwcf",
    "conv_3d_ncdhw": "conv_3d_ncdhw_fcdhw",
    "depthwise_conv2D_nhw": "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv2D_nhw_q": "depthwise_conv_2d_nhwc_hwc_q",
    "depthwise_conv2D_nhwc": "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv2D_nhwc_q": "depthwise_conv_2d_nhwc_hwcm_q",
    "depthwise_conv_1d_nwc": "depthwise_conv_1d_nwc_wc",
    "depthwise_conv_2d_input_nhwc_filter_hwc": "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_input_nhwc_filter_hwc_poly": "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_input_nhwc_filter_hwcf": "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_2d_nhwc": "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_2d_nchw": "depthwise_conv_2d_nchw_chw",
    "pooling_nhwc_max_poly": "pooling_nhwc_max",
    "pooling_nhwc_sum_poly": "pooling_nhwc_sum",
}
_TYPED = re.compile(
    r"(matmul|matvec|vecmat|dot|batch_matmul)(_i\d+){3}|(pooling_nhwc)_i\d+(_\w+)"
)


def modern_name(name: str) -> str | None:
    """Today's name of a structured operation that was only renamed."""
    dialect, _, short = name.partition(".")
    if dialect != "linalg":
        return None
    if short == "indexed_generic":
        return "linalg.generic"
    match = _TYPED.fullmatch(short)
    if match is not None:
        found = match[1] or f"{match[3]}{match[4]}"
    else:
        found = _NAMES.get(short)
    return f"linalg.{found}" if found else None


def lookup(name: str) -> OldForm | None:
    """The reader of a linalg operation that no longer exists."""
    modern = modern_name(name)
    return FORMS.get(name) or (_structured(modern) if modern else None)


# -- structured operations -------------------------------------------------------------


def _structured(name: str) -> OldForm:
    """A reader of a renamed structured operation in any operand order."""

    def read(p: Parser, state: State) -> None:
        state.name = name
        if not read_named(p, state):
            renamed(name)(p, state)

    return read


def _transposed(name: str, inputs: tuple[str, ...]) -> OldForm:
    """A contraction with a transposed input, as maps."""
    entry = CONTRACTIONS[name]
    maps = [map_of(entry.loops, text) for text in (*inputs, entry.output)]
    attribute = ArrayAttr(tuple(map(AffineMapAttr, maps)))

    def read(p: Parser, state: State) -> None:
        _structured(f"linalg.{name}")(p, state)
        state.attributes["indexing_maps"] = attribute

    return read


FORMS: dict[str, OldForm] = {
    "linalg.indexed_generic": linalg_generic.read_indexed,
    "linalg.init_tensor": init_tensor,
    "linalg.pad_tensor": pad_tensor,
    "linalg.reshape": reshape,
    "linalg.tensor_reshape": reshape,
    "linalg.collapse_shape": reshape,
    "linalg.expand_shape": reshape,
    "linalg.tensor_collapse_shape": reshape,
    "linalg.tensor_expand_shape": reshape,
    "linalg.for": renamed("scf.for"),
    "linalg.terminator": renamed("scf.yield"),
    "linalg.matmul_transpose_a": _transposed("matmul", ("k m", "k n")),
    "linalg.matmul_transpose_b": _transposed("matmul", ("m k", "n k")),
    "linalg.batch_matmul_transpose_a": _transposed("batch_matmul", ("b k m", "b k n")),
    "linalg.batch_matmul_transpose_b": _transposed("batch_matmul", ("b m k", "b n k")),
    "tensor.pack": renamed("linalg.pack"),
    "tensor.unpack": renamed("linalg.unpack"),
}

SPELLINGS: dict[str, Spelling] = {
    **{f"linalg.{name}": read_named for name in (*NAMED, *POINTWISE)},
    "linalg.copy": read_copy,
    "linalg.fill": read_fill,
    "linalg.conv": read_convolution,
    **{f"linalg.pooling_{kind}": read_pooling for kind in ("max", "min", "sum")},
    "linalg.generic": linalg_generic.read_old,
    "linalg.transpose": transposed,
}

GENERIC: dict[str, OldForm] = {"linalg.generic": linalg_generic.adapt}
