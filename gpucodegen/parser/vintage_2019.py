"""Text of 2019 to 2021: operations without a dialect, ``func``, literal operands.

``RENAMED`` holds operations that changed their name only, ``FORMS`` those whose syntax
changed too.  All become today's operations while they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpucodegen.dialects import registry
from gpucodegen.dialects.arith import constant_attribute
from gpucodegen.dialects.ops.bufferization_syntax import tensor_like
from gpucodegen.dialects.syntax import State, Use
from gpucodegen.ir.attributes import StringAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, segment_sizes
from gpucodegen.ir.types import (
    INDEX,
    TensorType,
    Type,
    UnrankedTensorType,
    element_type,
)
from gpucodegen.parser import numbers

if TYPE_CHECKING:
    from gpucodegen.parser.parser import Parser

OldForm = Callable[["Parser", State], None]

RENAMED: dict[str, str] = {
    "absf": "math.absf",
    "addf": "arith.addf",
    "addi": "arith.addi",
    "affine_apply": "affine.apply",
    "alloc": "memref.alloc",
    "alloca": "memref.alloca",
    "and": "arith.andi",
    "assert": "cf.assert",
    "atan": "math.atan",
    "atan2": "math.atan2",
    "atomic_rmw": "memref.atomic_rmw",
    "br": "cf.br",
    "br_cond": "cf.cond_br",
    "call": "func.call",
    "call_indirect": "func.call_indirect",
    "ceilf": "math.ceil",
    "cmpf": "arith.cmpf",
    "cmpi": "arith.cmpi",
    "cond_br": "cf.cond_br",
    "constant": "arith.constant",
    "copysign": "math.copysign",
    "cos": "math.cos",
    "dealloc": "memref.dealloc",
    "divf": "arith.divf",
    "divi_signed": "arith.divsi",
    "divi_unsigned": "arith.divui",
    "divis": "arith.divsi",
    "diviu": "arith.divui",
    "dma_start": "memref.dma_start",
    "dma_wait": "memref.dma_wait",
    "exp": "math.exp",
    "exp2": "math.exp2",
    "floorf": "math.floor",
    "fpext": "arith.extf",
    "fptosi": "arith.fptosi",
    "fptrunc": "arith.truncf",
    "func": "func.func",
    "get_global_memref": "memref.get_global",
    "global_memref": "memref.global",
    "index_cast": "arith.index_cast",
    "load": "memref.load",
    "log": "math.log",
    "log10": "math.log10",
    "log2": "math.log2",
    "memref_cast": "memref.cast",
    "memref_reinterpret_cast": "memref.reinterpret_cast",
    "memref_reshape": "memref.reshape",
    "mulf": "arith.mulf",
    "muli": "arith.muli",
    "negf": "arith.negf",
    "or": "arith.ori",
    "prefetch": "memref.prefetch",
    "rank": "memref.rank",
    "remf": "arith.remf",
    "remi_signed": "arith.remsi",
    "remi_unsigned": "arith.remui",
    "remis": "arith.remsi",
    "remiu": "arith.remui",
    "return": "func.return",
    "rsqrt": "math.rsqrt",
    "select": "arith.select",
    "shift_left": "arith.shli",
    "shift_right_signed": "arith.shrsi",
    "shift_right_unsigned": "arith.shrui",
    "sexti": "arith.extsi",
    "shlis": "arith.shli",
    "shrs": "arith.shrsi",
    "sin": "math.sin",
    "sitofp": "arith.sitofp",
    "splat": "tensor.splat",
    "sqrt": "math.sqrt",
    "store": "memref.store",
    "subf": "arith.subf",
    "subi": "arith.subi",
    "subview": "memref.subview",
    "tanh": "math.tanh",
    "tensor_cast": "tensor.cast",
    "tensor_from_elements": "tensor.from_elements",
    "trunci": "arith.trunci",
    "uitofp": "arith.uitofp",
    "view": "memref.view",
    "xor": "arith.xori",
    "zexti": "arith.extui",
    "loop.for": "scf.for",
    "loop.if": "scf.if",
    "loop.yield": "scf.yield",
    "loop.parallel": "scf.parallel",
    "linalg.load": "memref.load",
    "linalg.store": "memref.store",
    "linalg.dim": "memref.dim",
    "linalg.init_tensor": "tensor.empty",
    "bufferization.to_memref": "bufferization.to_buffer",
    "memref.buffer_cast": "bufferization.to_buffer",
    "memref.tensor_load": "bufferization.to_tensor",
    "math.abs": "math.absf",
    "arith.maxf": "arith.maximumf",
    "arith.minf": "arith.minimumf",
    "affine.terminator": "affine.yield",
}


def _as(name: str) -> OldForm:
    """Read the operation in today's syntax under today's name."""

    def read(p: Parser, state: State) -> None:
        definition = registry.lookup(name)
        state.name = name
        if definition is None or definition.parse is None:
            raise p.unknown_operation(name, state.start)
        definition.parse(p, state)

    return read


# -- literal operands ------------------------------------------------------------------

Written = Use | tuple[str, bool, int]
"""A value, or a literal: its token, whether it is negative, where it starts."""


def _written(p: Parser) -> Written:
    if p.token[:1] == "%":
        return p.use()
    start = p.start
    negative = p.accept("-")
    if not p.token[:1].isdigit() and p.token not in ("true", "false"):
        raise p.unexpected("a value or a number")
    return p.advance(), negative, start


def _value(p: Parser, written: Written, ty: Type) -> Value:
    """The value; a literal becomes a constant operation before this one."""
    if isinstance(written, Use):
        return p.resolve(written, ty)
    token, negative, start = written
    if token in ("true", "false"):
        number: float = int(token == "true")
    elif ty == INDEX or "i" in str(ty)[:2] or "." in token:
        number = numbers.literal_value(p, token, ty, start, negative=negative)
    else:  # an integer literal where a float is due
        number = -p.to_int(token) if negative else p.to_int(token)
    return _constant(p, number, ty, start)


def _constant(p: Parser, number: float, ty: Type, start: int) -> Value:
    location = p.location(start)
    hint = f"c{number}" if ty == INDEX and number >= 0 else "cst"
    result = Value(ty, hint, location)
    attributes = {"value": constant_attribute(number, ty)}
    p.emit(Operation("arith.constant", (), (result,), attributes, location=location))
    return result


# -- changed forms ---------------------------------------------------------------------


def _dim(p: Parser, state: State) -> None:
    """``dim %m, 1 : type`` or ``dim %m, %c1 : type``."""
    source = p.use()
    p.expect(",")
    written = _written(p)
    state.attributes |= p.attr_dict()
    p.expect(":")
    ty = p.type()
    is_tensor = isinstance(ty, TensorType | UnrankedTensorType)
    state.name = "tensor.dim" if is_tensor else "memref.dim"
    state.operands = [p.resolve(source, ty), _value(p, written, INDEX)]
    state.result_types = [INDEX]


def _store(p: Parser, state: State) -> None:
    """``store %v, %m[..] : type`` or ``store 0 to %m[..] : type``."""
    state.name = "memref.store"
    value = _written(p)
    if p.token == "to":
        p.advance()
    else:
        p.expect(",")
    memref, indices = _element(p)
    state.attributes |= p.attr_dict()
    p.expect(":")
    ty = p.type()
    stored = _value(p, value, element_type(ty))
    state.operands = [stored, p.resolve(memref, ty), *_indices(p, indices)]


def _load(p: Parser, state: State) -> None:
    """``load %m[%i, 0] : type``."""
    state.name = "memref.load"
    memref, indices = _element(p)
    state.attributes |= p.attr_dict()
    p.expect(":")
    ty = p.type()
    state.operands = [p.resolve(memref, ty), *_indices(p, indices)]
    state.result_types = [element_type(ty)]


def _element(p: Parser) -> tuple[Use, list[Written]]:
    return p.use(), p.listed("[", "]", lambda: _written(p))


def _indices(p: Parser, written: list[Written]) -> list[Value]:
    return [_value(p, index, INDEX) for index in written]


def _alloc(name: str) -> OldForm:
    def read(p: Parser, state: State) -> None:
        """``alloc(%n)[%s] : memref<..>``."""
        state.name = name
        sizes = p.listed("(", ")", lambda: _written(p))
        symbols = p.listed("[", "]", lambda: _written(p)) if p.token == "[" else []
        state.attributes |= p.attr_dict()
        p.expect(":")
        ty = p.type()
        groups = [_indices(p, sizes), _indices(p, symbols)]
        state.operands = [value for group in groups for value in group]
        state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)
        state.result_types = [ty]

    return read


def _extract_element(p: Parser, state: State) -> None:
    """``extract_element %t[%i] : type``."""
    _load(p, state)
    ty = state.operands[0].type
    is_tensor = isinstance(ty, TensorType)
    state.name = "tensor.extract" if is_tensor else "vector.extract"


def _tensor_load(p: Parser, state: State) -> None:
    """``tensor_load %m : memref``."""
    state.name = "bufferization.to_tensor"
    source = p.use()
    state.attributes |= p.attr_dict()
    p.expect(":")
    ty = p.type()
    state.operands = [p.resolve(source, ty)]
    state.result_types = [tensor_like(ty)]


def _tensor_store(p: Parser, state: State) -> None:
    """``tensor_store %t, %m : memref`` or ``tensor_store %t to %m : memref``."""
    state.name = "bufferization.materialize_in_destination"
    source = p.use()
    if p.token == "to":
        p.advance()
    else:
        p.expect(",")
    dest = p.use()
    state.attributes |= p.attr_dict()
    p.expect(":")
    ty = p.type()
    state.attributes["writable"] = UnitAttr()
    state.operands = [p.resolve(source, tensor_like(ty)), p.resolve(dest, ty)]


def _constant_form(p: Parser, state: State) -> None:
    """``constant 1 : i32``, ``constant {value: ..}``, ``constant @f : type``."""
    name = "func.constant" if p.token[:1] == "@" else "arith.constant"
    _as(name)(p, state)


def _func(p: Parser, state: State) -> None:
    """``func @f(..)``; a function without a body is private today."""
    definition = registry.lookup("func.func")
    if definition is None or definition.parse is None:
        raise p.unknown_operation(state.name, state.start)
    definition.parse(p, state)
    state.name = "func.func"
    if not state.regions[0].blocks:
        state.attributes.setdefault("sym_visibility", StringAttr("private"))


def _dma_end(p: Parser) -> tuple[Use, list[Written]]:
    memref, indices = _element(p)
    p.expect(",")
    return memref, indices


def _dma_start(p: Parser, state: State) -> None:
    """``dma_start %s[..], %d[..], %n, %t[..] (, %stride, %per)? : types``."""
    state.name = "memref.dma_start"
    source, target = _dma_end(p), _dma_end(p)
    count = _written(p)
    p.expect(",")
    tag = _element(p)
    stride: list[Written] = []
    while p.accept(","):
        stride.append(_written(p))
    state.attributes |= p.attr_dict()
    p.expect(":")
    types = p.types()
    if len(types) != 3:
        raise p.unexpected("three memref types")
    ends = [
        [p.resolve(memref, ty), *_indices(p, indices)]
        for (memref, indices), ty in zip((source, target, tag), types, strict=True)
    ]
    number = _value(p, count, INDEX)
    state.operands = [*ends[0], *ends[1], number, *ends[2], *_indices(p, stride)]


def _dma_wait(p: Parser, state: State) -> None:
    """``dma_wait %t[..], %n : type``."""
    state.name = "memref.dma_wait"
    (memref, indices), count = _dma_end(p), _written(p)
    state.attributes |= p.attr_dict()
    p.expect(":")
    ty = p.type()
    operands = [p.resolve(memref, ty), *_indices(p, indices)]
    state.operands = [*operands, _value(p, count, INDEX)]


FORMS: dict[str, OldForm] = {
    **{old: _as(new) for old, new in RENAMED.items()},
    "alloc": _alloc("memref.alloc"),
    "alloca": _alloc("memref.alloca"),
    "constant": _constant_form,
    "dim": _dim,
    "dma_start": _dma_start,
    "dma_wait": _dma_wait,
    "extract_element": _extract_element,
    "func": _func,
    "linalg.dim": _dim,
    "linalg.load": _load,
    "linalg.store": _store,
    "load": _load,
    "store": _store,
    "tensor_load": _tensor_load,
    "tensor_store": _tensor_store,
    "memref.tensor_store": _tensor_store,
    "memref.tensor_load": _tensor_load,
}


def _old_constant(p: Parser, state: State) -> bool:
    """Inside functions ``constant`` is func.constant today; numbers are of 2019."""
    if p.token[:1] == "@" or p.token == "{":
        return False
    _as("arith.constant")(p, state)
    return True


AMBIGUOUS: dict[str, Callable[[Parser, State], bool]] = {"func.constant": _old_constant}
