"""Text of 2019 to 2021 whose syntax changed: ``func``, ``store 0 to %m[0]``, ``dim``.

``FORMS`` are read after their name and become today's operations. Operations that only
changed their name are in ``spellings``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gpucodegen.dialects.bufferization import tensor_like
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.syntax import State, Use, read_type
from gpucodegen.dialects.memref import ADDRESS, DYNAMIC_MARK
from gpucodegen.ir.attributes import DenseArrayAttr, IntegerAttr, StringAttr, UnitAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, segment_sizes
from gpucodegen.ir.types import (
    I64,
    INDEX,
    TensorType,
    UnrankedTensorType,
    VectorType,
    element_type,
)
from gpucodegen.parser import types
from gpucodegen.parser.legacy import generic_forms
from gpucodegen.parser.parser import Parser

OldForm = Callable[[Parser, State], None]


def renamed(name: str) -> OldForm:
    """A reader of today's syntax that returns the operation under today's name."""

    def read(p: Parser, state: State) -> None:
        definition = registry.lookup(name)
        state.name = name
        if definition is None or definition.parse is None:
            raise p.unknown_operation(name, state.start)
        definition.parse(p, state)

    return read


_FUNCTION = re.compile(r"^\s*(?:func|mlfunc|cfgfunc|extfunc)\s", re.MULTILINE)


def is_of_2021(text: str) -> bool:
    """Whether a text has functions of before 2022."""
    return _FUNCTION.search(text) is not None


# -- changed forms ---------------------------------------------------------------------


def _dim(p: Parser, state: State) -> None:
    """``dim %m, 1 : type`` or ``dim %m, %c1 : type``."""
    source = p.use()
    p.expect(",")
    written = generic_forms.written(p)
    ty = read_type(p, state)
    is_tensor = isinstance(ty, TensorType | UnrankedTensorType)
    state.name = "tensor.dim" if is_tensor else "memref.dim"
    generic_forms.check_dimension(p, state.name, written, ty)
    state.operands = [p.resolve(source, ty), generic_forms.value(p, written, INDEX)]
    state.result_types = [INDEX]


def _linalg_dim(p: Parser, state: State) -> None:
    """``linalg.dim %m, 1``, perhaps with the type of the source or of the result."""
    source = p.use()
    p.expect(",")
    position = generic_forms.written(p)
    ty = p.type() if p.accept(":") else INDEX
    state.name = "memref.dim"
    memref = p.resolve(source, None if ty == INDEX else ty)
    state.operands = [memref, generic_forms.value(p, position, INDEX)]
    state.result_types = [INDEX]


def _rank(p: Parser, state: State) -> None:
    """``rank %x : type`` of a memref or a tensor."""
    use = p.use()
    ty = read_type(p, state)
    is_tensor = isinstance(ty, TensorType | UnrankedTensorType)
    state.name = "tensor.rank" if is_tensor else "memref.rank"
    state.operands, state.result_types = [p.resolve(use, ty)], [INDEX]


def _store(p: Parser, state: State) -> None:
    """``store %v, %m[..] : type`` or ``store 0 to %m[..] : type``."""
    state.name = "memref.store"
    value = generic_forms.written(p)
    if not p.accept("to"):
        p.expect(",")
    memref, indices = _element(p)
    ty = read_type(p, state)
    stored = generic_forms.value(p, value, element_type(ty))
    state.operands = [stored, p.resolve(memref, ty), *generic_forms.values(p, indices)]


def _load(p: Parser, state: State) -> None:
    """``load %m[%i, 0] : type``."""
    state.name = "memref.load"
    memref, indices = _element(p)
    ty = read_type(p, state)
    state.operands = [p.resolve(memref, ty), *generic_forms.values(p, indices)]
    state.result_types = [element_type(ty)]


def _element(p: Parser) -> tuple[Use, list[generic_forms.Written]]:
    return p.use(), p.listed("[", "]", lambda: generic_forms.written(p))


def _alloc(name: str) -> OldForm:
    def read(p: Parser, state: State) -> None:
        """``alloc(%n)[%s] : memref<..>``, also without the word."""
        state.name = name
        sizes = p.listed("(", ")", lambda: generic_forms.written(p))
        symbols = (
            p.listed("[", "]", lambda: generic_forms.written(p))
            if p.token == "["
            else []
        )
        state.attributes |= p.attr_dict()
        p.expect(":")
        ty = types.parse_bare_memref(p) if p.token == "<" else p.type()
        groups = [generic_forms.values(p, sizes), generic_forms.values(p, symbols)]
        state.give(groups)
        state.result_types = [ty]

    return read


def _extract_element(p: Parser, state: State) -> None:
    """``extract_element %t[%i] : type``."""
    _load(p, state)
    source, *indices = state.operands
    state.name = "tensor.extract"
    if isinstance(source.type, VectorType):
        state.name = "vector.extract"
        positions = DenseArrayAttr(I64, (DYNAMIC_MARK,) * len(indices))
        state.attributes["static_position"] = positions


def _from_elements(p: Parser, state: State) -> None:
    """``tensor_from_elements(%a, %b) : type``, also without parentheses."""
    is_bare = p.token[:1] == "%"
    uses = p.uses() if is_bare else p.listed("(", ")", p.use)
    state.name = "tensor.from_elements"
    ty = read_type(p, state)
    state.operands = [p.resolve(use, element_type(ty)) for use in uses]
    state.result_types = [ty]


def _alloc_static(p: Parser, state: State) -> None:
    """``alloc_static(0x1232a00) : type``: an allocation that carries its address."""
    p.expect("(")
    address = p.integer()
    p.expect(")")
    state.name, state.attributes = "memref.alloc", p.attr_dict()
    p.expect(":")
    state.result_types = [p.type()]
    state.attributes |= {
        ADDRESS: IntegerAttr(address),
        OPERAND_SEGMENTS: segment_sizes([[], []]),
    }


def _tensor_load(p: Parser, state: State) -> None:
    """``tensor_load %m : memref``."""
    state.name = "bufferization.to_tensor"
    source = p.use()
    ty = read_type(p, state)
    state.operands = [p.resolve(source, ty)]
    state.result_types = [tensor_like(ty)]


def _tensor_store(p: Parser, state: State) -> None:
    """``tensor_store %t, %m : memref`` or ``tensor_store %t to %m : memref``."""
    state.name = "bufferization.materialize_in_destination"
    source = p.use()
    if not p.accept("to"):
        p.expect(",")
    dest = p.use()
    ty = read_type(p, state)
    state.attributes["writable"] = UnitAttr()
    state.operands = [p.resolve(source, tensor_like(ty)), p.resolve(dest, ty)]


def _constant_form(p: Parser, state: State) -> None:
    """``constant 1 : i32``, ``constant {value: ..}``, ``constant @f : type``."""
    name = "func.constant" if p.token[:1] == "@" else "arith.constant"
    renamed(name)(p, state)


def _func(p: Parser, state: State) -> None:
    """``func @f(..)``; a function without a body is private today."""
    definition = registry.lookup("func.func")
    if definition is None or definition.parse is None:
        raise p.unknown_operation(state.name, state.start)
    definition.parse(p, state)
    state.name = "func.func"
    if not state.regions[0].blocks:
        state.attributes.setdefault("sym_visibility", StringAttr("private"))


def _splat(p: Parser, state: State) -> None:
    """``splat %x : type`` of a vector or a tensor."""
    use = p.use()
    ty = read_type(p, state)
    state.operands = [p.resolve(use, element_type(ty))]
    state.result_types = [ty]
    generic_forms.name_splat(p, state)


def _memref_cast(p: Parser, state: State) -> None:
    """``memref_cast %m : type to type``, also with an arrow."""
    state.name = "memref.cast"
    use = p.use()
    state.attributes = p.attr_dict()
    p.expect(":")
    state.operands = [p.resolve(use, p.type())]
    if not p.accept("->"):
        p.one_of(("to",), "'to'")
    state.result_types = [p.type()]


def _dma_end(p: Parser) -> tuple[Use, list[generic_forms.Written]]:
    memref, indices = _element(p)
    p.expect(",")
    return memref, indices


def _dma_start(p: Parser, state: State) -> None:
    """``dma_start %s[..], %d[..], %n, %t[..] (, %stride, %per)? : types``."""
    state.name = "memref.dma_start"
    source, target = _dma_end(p), _dma_end(p)
    count = generic_forms.written(p)
    p.expect(",")
    tag = _element(p)
    stride: list[generic_forms.Written] = []
    while p.accept(","):
        stride.append(generic_forms.written(p))
    state.attributes |= p.attr_dict()
    p.expect(":")
    types = p.types()
    if len(types) != 3:
        raise p.unexpected("three memref types")
    ends = [
        [p.resolve(memref, ty), *generic_forms.values(p, indices)]
        for (memref, indices), ty in zip((source, target, tag), types, strict=True)
    ]
    number = generic_forms.value(p, count, INDEX)
    state.operands = [
        *ends[0],
        *ends[1],
        number,
        *ends[2],
        *generic_forms.values(p, stride),
    ]


def _dma_wait(p: Parser, state: State) -> None:
    """``dma_wait %t[..], %n : type``."""
    state.name = "memref.dma_wait"
    (memref, indices), count = _dma_end(p), generic_forms.written(p)
    ty = read_type(p, state)
    operands = [p.resolve(memref, ty), *generic_forms.values(p, indices)]
    state.operands = [*operands, generic_forms.value(p, count, INDEX)]


FORMS: dict[str, OldForm] = {
    "alloc": _alloc("memref.alloc"),
    "alloc_static": _alloc_static,
    "alloca": _alloc("memref.alloca"),
    "constant": _constant_form,
    "dim": _dim,
    "dma_start": _dma_start,
    "dma_wait": _dma_wait,
    "extract_element": _extract_element,
    "func": _func,
    "linalg.dim": _linalg_dim,
    "linalg.load": _load,
    "linalg.store": _store,
    "load": _load,
    "memref_cast": _memref_cast,
    "rank": _rank,
    "splat": _splat,
    "store": _store,
    "tensor_from_elements": _from_elements,
    "yield": renamed("tensor.yield"),
    "tensor_load": _tensor_load,
    "tensor_store": _tensor_store,
    "memref.tensor_store": _tensor_store,
    "memref.tensor_load": _tensor_load,
}
