"""The operations of arith, math and complex for StableHLO's, by kind of number."""

from __future__ import annotations

from gpucodegen.dialects.arith import CMPF_PREDICATES, CMPI_PREDICATES
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    I1,
    I64,
    ComplexType,
    FloatType,
    IntegerType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder

FLOAT, SIGNED, UNSIGNED, TRUTH, COMPLEX = range(5)

_ROWS = """
add        | arith.addf      | arith.addi  | arith.addi  | arith.ori  | complex.add
subtract   | arith.subf      | arith.subi  | arith.subi  | arith.xori | complex.sub
multiply   | arith.mulf      | arith.muli  | arith.muli  | arith.andi | complex.mul
divide     | arith.divf      | arith.divsi | arith.divui | -          | complex.div
remainder  | arith.remf      | arith.remsi | arith.remui | -          | -
maximum    | arith.maximumf  | arith.maxsi | arith.maxui | arith.ori  | -
minimum    | arith.minimumf  | arith.minsi | arith.minui | arith.andi | -
power      | math.powf       | math.ipowi  | math.ipowi  | -          | complex.pow
atan2      | math.atan2      | -           | -           | -          | complex.atan2
and        | -               | arith.andi  | arith.andi  | arith.andi | -
or         | -               | arith.ori   | arith.ori   | arith.ori  | -
xor        | -               | arith.xori  | arith.xori  | arith.xori | -
abs        | math.absf       | math.absi   | =           | =          | complex.abs
ceil       | math.ceil       | -           | -           | -          | -
floor      | math.floor      | -           | -           | -          | -
cbrt       | math.cbrt       | -           | -           | -          | -
cosine     | math.cos        | -           | -           | -          | complex.cos
sine       | math.sin        | -           | -           | -          | complex.sin
tan        | math.tan        | -           | -           | -          | complex.tan
tanh       | math.tanh       | -           | -           | -          | complex.tanh
exponential | math.exp       | -           | -           | -          | complex.exp
exponential_minus_one | math.expm1 | -     | -           | -          | complex.expm1
log        | math.log        | -           | -           | -          | complex.log
log_plus_one | math.log1p    | -           | -           | -          | complex.log1p
sqrt       | math.sqrt       | -           | -           | -          | complex.sqrt
rsqrt      | math.rsqrt      | -           | -           | -          | complex.rsqrt
round_nearest_afz  | math.round     | -    | -           | -          | -
round_nearest_even | math.roundeven | -    | -           | -          | -
is_finite  | math.isfinite   | -           | -           | -          | -
popcnt     | -               | math.ctpop  | math.ctpop  | -          | -
count_leading_zeros | -      | math.ctlz   | math.ctlz   | -          | -
complex    | complex.create  | -           | -           | -          | -
real       | =               | -           | -           | -          | complex.re
imag       | -               | -           | -           | -          | complex.im
optimization_barrier | =     | =           | =           | =          | =
"""
TABLE = {
    name: cells
    for name, *cells in (
        [cell.strip() for cell in row.split("|")] for row in _ROWS.strip().splitlines()
    )
}
"""By name: the operation for each kind of number; ``=`` changes nothing."""

CHLO = {
    **{name: f"math.{name}" for name in ("acos", "acosh", "asin", "asinh", "atan")},
    **{
        name: f"math.{name}" for name in ("atanh", "cosh", "erf", "erfc", "sinh", "tan")
    },
    "is_inf": "math.isinf",
}


def kind_of(ty: Type) -> int:
    """Which column of the table a type belongs to."""
    element = element_type(ty)
    if isinstance(element, ComplexType):
        return COMPLEX
    if isinstance(element, FloatType):
        return FLOAT
    if element == I1:
        return TRUTH
    unsigned = isinstance(element, IntegerType) and str(element).startswith("u")
    return UNSIGNED if unsigned else SIGNED


def compared(b: Builder, predicate: str, x: Value, y: Value) -> Value:
    """A comparison by its predicate in arith, without the kind in front."""
    is_float = kind_of(x.type) == FLOAT
    names = CMPF_PREDICATES if is_float else CMPI_PREDICATES
    attributes = {"predicate": IntegerAttr(names.index(predicate), I64)}
    result = with_element(x.type, I1)
    return b.add(f"arith.cmp{'f' if is_float else 'i'}", (x, y), [result], attributes)[
        0
    ]
