"""Operations that do to vectors, lane by lane, what they do to scalars."""

from __future__ import annotations

from gpucodegen.dialects import math
from gpucodegen.dialects.arith import bit_width
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, IndexType, IntegerType, Type

_ARITHMETIC = (
    "addf subf mulf divf negf maximumf minimumf maxnumf minnumf addi subi muli andi "
    "ori xori shli shrsi shrui minsi maxsi minui maxui cmpi cmpf select"
).split()
_CASTS = (
    "extf truncf extsi extui trunci sitofp uitofp fptosi fptoui bitcast index_cast "
    "index_castui"
).split()

ELEMENTWISE = frozenset(f"arith.{name}" for name in (*_ARITHMETIC, *_CASTS)).union(
    ["math.absi"], math.names(math.INSTRUCTIONS), math.names(math.POLYNOMIALS)
)
"""Those that the processor computes in vectors; divisions of integers it does not."""


def lane_bits(ty: Type) -> int | None:
    """Width of a type in registers in bits, if vectors hold it.

    It is 0 for a bit, 64 for ``index``; halves are computed with in f32.

    >>> from gpucodegen.ir.types import F32, I1, INDEX
    >>> lane_bits(F32), lane_bits(I1), lane_bits(INDEX), lane_bits(FloatType("bf16"))
    (32, 0, 64, 32)
    """
    match ty:
        case FloatType("f16" | "bf16"):
            return 32
        case FloatType("f32" | "f64") | IndexType():
            return bit_width(ty) or 64
        case IntegerType(width=1):
            return 0
        case IntegerType(width=8 | 16 | 32 | 64):
            return ty.width
        case _:
            return None


_POLYNOMIALS = math.names(math.POLYNOMIALS)
FUNCTION_COST = 20
"""About the operations that the polynomial of a function takes."""


def cost(op: Operation) -> int:
    """How many vector operations an operation takes, about.

    >>> from gpucodegen.ir.operation import Operation
    >>> cost(Operation("arith.addf")), cost(Operation("math.exp"))
    (1, 20)
    """
    return FUNCTION_COST if op.name in _POLYNOMIALS else 1
