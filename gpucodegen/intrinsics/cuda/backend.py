"""CUDA backend of intrinsics: tiles of scalars, 32-bit indices, device functions.

Numba computes integers with 64 bits, and generated text truncates the result.  LLVM
does not always see that the upper half is unused: addresses and trip counts then take
64 bits, and loops are not unrolled.  So operators of 32-bit integers stay 32 bits wide
here, with fitting literals. Minima, maxima and products of complex numbers are
instructions too; Numba's own are Python functions. Functions of C's library are
formulas, each a function of the module.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from llvmlite import ir
from numba.core import types, typing
from numba.core.datamodel import models
from numba.core.extending import intrinsic
from numba.core.typing import templates

from gpucodegen.intrinsics import vector_math
from gpucodegen.intrinsics.cuda.target import CODE, MODELS, NAME, TYPES, GlobalPointer
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import (
    FORMULA,
    Backend,
    Lowering,
    Tile,
    llvm_tile,
    suffix,
)
from gpucodegen.intrinsics.vector_math.exponential import LOG2_E
from gpucodegen.intrinsics.vector_math.lanes import F32, Lanes
from gpucodegen.intrinsics.vector_math.without_library import FORMULAS


def _exp2(x: Lanes) -> Lanes:
    """``ex2.approx.ftz.f32``: relative error 2^-22.5 (PTX ISA); f64 is accurate."""
    if x.scalar != F32:
        return vector_math.FORMULAS["exp2"](x)
    return x.of(x.low.call("llvm.nvvm.ex2.approx.ftz.f", F32, [x.value]))


def _exp(x: Lanes) -> Lanes:
    return _exp2(x * LOG2_E) if x.scalar == F32 else vector_math.FORMULAS["exp"](x)


ALL = {
    **vector_math.FORMULAS,
    **FORMULAS,
    "pow": vector_math.FORMULAS["powf"],
    "exp_approximate": _exp,
    "exp2_approximate": _exp2,
}


def device_function(low: Lowering, name: str, dtype: Any, args: Sequence[Any]) -> Any:
    """The value of a function for scalars of one type."""
    del dtype
    kind = args[0].type
    module, symbol = low.builder.module, f"{FORMULA}{name}.{suffix(kind)}"
    made = module.globals.get(symbol)
    if made is None:
        made = ir.Function(module, ir.FunctionType(kind, [kind] * len(args)), symbol)
        made.linkage = "internal"
        builder = ir.IRBuilder(made.append_basic_block())
        inside = Lowering(low.context, builder, None, low.face)
        result = ALL[name](*(Lanes(inside, arg) for arg in made.args))
        builder.ret(result.value)
    return low.builder.call(made, args)


COMBINED = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.and_: "and_",
    operator.or_: "or_",
    operator.xor: "xor",
    operator.lshift: "shl",
    operator.rshift: "ashr",
}
COMPARED = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}
CHANGED = {operator.neg: "neg", operator.invert: "not_"}
EXTREMES: dict[Callable[..., Any], str] = {min: "<", max: ">"}
Build = Callable[..., Any]
"""The code of an operation: of a builder and of its operands."""


def provide() -> None:
    """Lets the target prefer these implementations."""
    for ty in (types.complex64, types.complex128):
        CODE.lower(operator.mul, ty, ty)(_complex_product)
    for function, method in COMBINED.items():
        _define(function, types.int32, 2, _method(method))
    for function, relation in COMPARED.items():
        _define(function, types.boolean, 2, _comparison(relation))
    for function, method in CHANGED.items():
        _define(function, types.int32, 1, _method(method))
    for function, relation in EXTREMES.items():
        for kind in (types.int32, types.int64):
            _define(function, kind, None, _extreme(relation), kind)


def _fits(ty: Any, kind: Any) -> bool:
    if isinstance(ty, types.IntegerLiteral):
        return kind.minval <= ty.literal_value <= kind.maxval
    return ty in {types.int32, kind}


def _define(
    function: Any,
    result: Any,
    arity: int | None,
    build: Build,
    kind: Any = types.int32,
) -> None:
    """Operations of ``arity`` operands of a type, or of two and more."""

    class Narrow(templates.AbstractTemplate):
        key = function
        metadata = {"target": NAME}  # noqa: RUF012 - Numba reads it from the class

        def generic(self, args: Any, kws: Any) -> Any:
            fits = len(args) == arity if arity else len(args) > 1
            if kws or not fits or kind not in args:
                return None
            if not all(_fits(arg, kind) for arg in args):
                return None
            return typing.signature(result, *[kind] * len(args))

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return build(builder, *args)

    TYPES.register_global(function)(Narrow)
    kinds = [kind] * arity if arity else [types.VarArg(kind)]
    CODE.lower(function, *kinds)(lower)


def _method(name: str) -> Build:
    return lambda builder, *args: getattr(builder, name)(*args)


def _comparison(relation: str) -> Build:
    return lambda builder, a, b: builder.icmp_signed(relation, a, b)


def _extreme(relation: str) -> Build:
    def build(builder: Any, *args: Any) -> Any:
        def better(first: Any, second: Any) -> Any:
            chosen = builder.icmp_signed(relation, second, first)
            return builder.select(chosen, second, first)

        return reduce(better, args)

    return build


def _complex_product(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    (x, y), (u, v) = ([builder.extract_value(z, i) for i in (0, 1)] for z in args)
    real = builder.fsub(builder.fmul(x, u), builder.fmul(y, v))
    imaginary = builder.fadd(builder.fmul(x, v), builder.fmul(y, u))
    whole = ir.Constant(args[0].type, ir.Undefined)
    for i, part in enumerate((real, imaginary)):
        whole = builder.insert_value(whole, part, i)
    return whole


BACKEND = Backend(
    intrinsic(prefer_literal=True, target=NAME),
    0,
    device_function,
    index_bits=32,
    global_space=1,
    atomic_bits=32,
    is_gpu=True,
    has_noundef=True,
)
provide()


class _TileModel(models.PrimitiveModel):
    """A tile is an array of scalars, which the compiler keeps in registers."""

    def __init__(self, manager: Any, tile: Tile) -> None:
        super().__init__(manager, tile, llvm_tile(tile, BACKEND.register_bytes))


MODELS.register(Tile, _TileModel)


def parameter(kind: str, name: str) -> Any:
    """The Numba type of a kernel parameter; an index is 32 bits on a GPU."""
    if kind == "pointer":
        return GlobalPointer(getattr(types, element(name).pointee))
    if name == "index":
        return types.int32
    return getattr(types, element(name).carrier)
