"""Hand-written syntax of operations that change a shape."""

from __future__ import annotations

from gpucodegen.dialects.kinds import Kind
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I64, INDEX, MemRefType, TensorType


def parse_expand_shape(r: Reader, state: State) -> None:
    """``%src [[0, 1]] output_shape [%n, 4] : type into type``."""
    source = r.use()
    state.attributes["reassociation"] = r.attribute()
    static: list[int] = []
    dynamic: list[Use] = []
    has_shape = r.token == "output_shape"
    if has_shape:
        r.advance()
        static = r.listed("[", "]", lambda: _extent(r, dynamic))
    state.attributes |= r.attr_dict()
    r.expect(":")
    source_type = r.type()
    r.keyword("'into'")
    result = r.type()
    if not has_shape and isinstance(result, MemRefType | TensorType):
        static = [DYNAMIC_MARK if e is None else e for e in result.shape]
    state.attributes["static_output_shape"] = DenseArrayAttr(I64, tuple(static))
    state.operands = [
        r.resolve(source, source_type),
        *(r.resolve(use, INDEX) for use in dynamic),
    ]
    state.result_types = [result]


def _extent(r: Reader, dynamic: list[Use]) -> int:
    if r.token[:1] != "%":
        return r.integer()
    dynamic.append(r.use())
    return DYNAMIC_MARK


def print_expand_shape(w: Writer, o: Operation) -> None:
    """``%src [[0, 1]] output_shape [..] : type into type``."""
    source, *dynamic = o.operands
    w.write(f" {w.name(source)} {o.attributes['reassociation']}")
    static = o.attributes.get("static_output_shape")
    entries = static.values if isinstance(static, DenseArrayAttr) else ()
    if sum(e == DYNAMIC_MARK for e in entries) == len(dynamic):
        rest = iter(dynamic)
        names = [w.name(next(rest)) if e == DYNAMIC_MARK else str(e) for e in entries]
        w.write(f" output_shape [{', '.join(names)}]")
    w.attr_dict(o, ("reassociation", "static_output_shape"))
    w.write(f" : {source.type} into {o.results[0].type}")


def _read_bare_map(r: Reader) -> Attribute:
    return AffineMapAttr(r.affine_map())


def _write_bare_map(value: Attribute) -> str:
    return str(value.map) if isinstance(value, AffineMapAttr) else str(value)


BARE_MAP = Kind("an affine map", _read_bare_map, _write_bare_map)
