"""Shapes and views of linalg until 2022 that memref and tensor have today."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.syntax import State, read_type
from gpucodegen.dialects.memref.shape_syntax import give_output_shape
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    IntegerAttr,
    StridedLayoutAttr,
)
from gpucodegen.ir.operation import Block, Region
from gpucodegen.ir.types import I64, INDEX, MemRefType, Shape, TensorType, Type
from gpucodegen.parser.parser import Parser


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
    """Maps ``(i, j, k) -> (i, j)`` as lists of positions."""
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
