"""Hand-written syntax of bufferization operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects.framework.declare import result_list
from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import Attribute, UnitAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments, segment_sizes
from gpucodegen.ir.types import (
    I1,
    INDEX,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
)


def _flags(r: Reader, state: State, names: Sequence[str]) -> None:
    for name in names:
        if r.token == name:
            r.advance()
            state.attributes[name] = UnitAttr()


def _shown(o: Operation, names: Sequence[str]) -> str:
    return "".join(f" {name}" for name in names if name in o.attributes)


def tensor_like(ty: Type) -> Type:
    """The tensor type with a memref's shape and element."""
    if isinstance(ty, MemRefType):
        return TensorType(ty.shape, ty.element)
    return UnrankedTensorType(ty.element) if isinstance(ty, UnrankedMemRefType) else ty


def memref_like(ty: Type) -> Type:
    """The memref type with a tensor's shape and element."""
    if isinstance(ty, TensorType):
        return MemRefType(ty.shape, ty.element)
    return UnrankedMemRefType(ty.element) if isinstance(ty, UnrankedTensorType) else ty


def parse_to_tensor(r: Reader, state: State) -> None:
    """``%m restrict writable : memref to tensor``; older text has the memref only."""
    source = r.use()
    _flags(r, state, ("restrict", "writable"))
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    result = tensor_like(ty)
    if r.token == "to":
        r.advance()
        result = r.type()
    state.operands = [r.resolve(source, ty)]
    state.result_types = [result]


def print_to_tensor(w: Writer, o: Operation) -> None:
    """``%m restrict writable : memref to tensor``."""
    source = o.operands[0]
    w.write(f" {w.name(source)}{_shown(o, ('restrict', 'writable'))}")
    w.attr_dict(o, ("restrict", "writable"))
    w.write(f" : {source.type} to {o.results[0].type}")


def parse_to_buffer(r: Reader, state: State) -> None:
    """``%t read_only : tensor to memref``; older text has the memref only."""
    source = r.use()
    _flags(r, state, ("read_only",))
    state.attributes |= r.attr_dict()
    r.expect(":")
    first = r.type()
    result = first
    if r.token == "to":
        r.advance()
        result = r.type()
    else:
        first = tensor_like(first)
    state.operands = [r.resolve(source, first)]
    state.result_types = [result]


def print_to_buffer(w: Writer, o: Operation) -> None:
    """``%t read_only : tensor to memref``."""
    source = o.operands[0]
    w.write(f" {w.name(source)}{_shown(o, ('read_only',))}")
    w.attr_dict(o, ("read_only",))
    w.write(f" : {source.type} to {o.results[0].type}")


def one_per_retained(
    types: Types, attributes: Mapping[str, Attribute]
) -> Sequence[Type]:
    """``i1`` for every memref that bufferization.dealloc keeps."""
    del attributes
    return [I1] * len(types.get("retained", ()))


def parse_alloc_tensor(r: Reader, state: State) -> None:
    """``(%sizes) copy(%t) size_hint=%n : tensor``."""
    sizes = r.listed("(", ")", lambda: r.resolve(r.use(), INDEX))
    copied = []
    if r.token == "copy":
        r.advance()
        copied = r.listed("(", ")", r.use)
    hint = []
    if r.token == "size_hint":
        r.advance()
        r.expect("=")
        hint = [r.resolve(r.use(), INDEX)]
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    groups = [sizes, [r.resolve(use, ty) for use in copied], hint]
    state.operands = [value for group in groups for value in group]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)
    state.result_types = [ty]


def print_alloc_tensor(w: Writer, o: Operation) -> None:
    """``(%sizes) copy(%t) size_hint=%n : tensor``."""
    sizes, copied, hint = operand_segments(o, 3)
    w.write(f"({w.names(sizes)})")
    if copied:
        w.write(f" copy({w.names(copied)})")
    if hint:
        w.write(f" size_hint={w.names(hint)}")
    w.properties(o, ("memory_space",))
    w.attr_dict(o, (OPERAND_SEGMENTS, "memory_space"))
    w.write(f" : {o.results[0].type}")


def parse_materialize(r: Reader, state: State) -> None:
    """``%t in restrict writable %dest : (types) -> type``."""
    source = r.use()
    r.one_of(("in",), "'in'")
    _flags(r, state, ("restrict", "writable"))
    dest = r.use()
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    ty = r.function_type()
    state.operands = r.resolve_all([source, dest], ty.inputs, start)
    state.result_types = list(ty.results)


def print_materialize(w: Writer, o: Operation) -> None:
    """``%t in restrict writable %dest : (types) -> type``."""
    source, dest = o.operands
    flags = _shown(o, ("restrict", "writable"))
    w.write(f" {w.name(source)} in{flags} {w.name(dest)}")
    w.attr_dict(o, ("restrict", "writable"))
    w.write(f" : ({source.type}, {dest.type}) -> {result_list(o.results)}")
