"""Products of complex numbers, built in place.

Numba's own are a Python function that it compiles beside the kernel.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cuda.target import CODE


def provide() -> None:
    """Let the target prefer these."""
    for ty in (types.complex64, types.complex128):
        CODE.lower(operator.mul, ty, ty)(_product)


def _product(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    (x, y), (u, v) = ([builder.extract_value(z, i) for i in (0, 1)] for z in args)
    real = builder.fsub(builder.fmul(x, u), builder.fmul(y, v))
    imaginary = builder.fadd(builder.fmul(x, v), builder.fmul(y, u))
    whole = ir.Constant(args[0].type, ir.Undefined)
    for i, part in enumerate((real, imaginary)):
        whole = builder.insert_value(whole, part, i)
    return whole
