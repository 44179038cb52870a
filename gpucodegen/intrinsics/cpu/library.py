"""Functions of C's library on the CPU: Numba's own, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from numba.core import types

from gpucodegen.intrinsics.framework.lowering import Lowering, number

LN2 = math.log(2.0)


def function(low: Lowering, name: str, dtype: Any, args: Sequence[Any]) -> Any:
    """The value of a function for scalars of one type."""
    if name in DERIVED:
        return DERIVED[name](low, dtype, *args)
    typing_context = low.context.typing_context
    resolved = typing_context.resolve_value_type(getattr(math, name))
    wanted = resolved.get_call_type(typing_context, (dtype,) * len(args), {})
    implementation = low.context.get_function(resolved, wanted)
    return implementation(low.builder, args)


def _exp2(low: Lowering, dtype: Any, x: Any) -> Any:
    return function(low, "pow", dtype, (number(x.type, 2.0), x))


def _log2(low: Lowering, dtype: Any, x: Any) -> Any:
    log = function(low, "log", types.float64, (_double(low, x),))
    quotient = low.builder.fdiv(log, number(log.type, LN2))
    return _back(low, quotient, dtype)


def _cbrt(low: Lowering, dtype: Any, x: Any) -> Any:
    """A power, and one step of Newton's method for f64.

    The rounding error of the exponent times the logarithm of ``x`` is up to 60 ULP of
    f64, which the step corrects.
    """
    builder, wide = low.builder, _double(low, x)
    size = low.overloaded("fabs", (wide,))
    third = number(wide.type, 1.0 / 3.0)
    root = function(low, "pow", types.float64, (size, third))
    if x.type == wide.type:
        rest = builder.fsub(builder.fdiv(size, builder.fmul(root, root)), root)
        better = builder.fadd(root, builder.fdiv(rest, number(wide.type, 3.0)))
        is_nan = builder.fcmp_unordered("uno", better, better)
        root = builder.select(is_nan, root, better)
    # In the narrow type: LLVM would round a sign of f64 to f16 by `__truncdfhf2`,
    # a routine that processes lack.
    return low.overloaded("copysign", (_back(low, root, dtype), x))


def _rsqrt(low: Lowering, _dtype: Any, x: Any) -> Any:
    return low.builder.fdiv(number(x.type, 1.0), low.overloaded("sqrt", (x,)))


def _double(low: Lowering, x: Any) -> Any:
    wide = low.value_type(types.float64)
    return x if x.type == wide else low.builder.fpext(x, wide)


def _back(low: Lowering, x: Any, dtype: Any) -> Any:
    narrow = low.value_type(dtype)
    return x if x.type == narrow else low.builder.fptrunc(x, narrow)


DERIVED: dict[str, Callable[..., Any]] = {
    "exp2": _exp2,
    "log2": _log2,
    "cbrt": _cbrt,
    "rsqrt": _rsqrt,
}
