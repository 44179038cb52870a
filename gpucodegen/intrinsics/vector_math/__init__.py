"""Functions of the math dialect on vector registers, without library calls.

Each module has a family of formulas; `FORMULAS` names them as the dialect does.  The
errors, in units of the last place, are stated in docs/vector-math.md and tested there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpucodegen.intrinsics.framework.lowering import Backend, Lowering
from gpucodegen.intrinsics.vector_math import exponential, trigonometric
from gpucodegen.intrinsics.vector_math.lanes import Lanes

FORMULAS: dict[str, Callable[..., Lanes]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log": exponential.log,
    "log2": exponential.log2,
    "log10": exponential.log10,
    "log1p": exponential.log1p,
    "tanh": exponential.tanh,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "erf": exponential.erf,
    "powf": exponential.power,
    "rsqrt": lambda x: x.of(1.0) / x.llvm("sqrt"),
}


APPROXIMATE = {"exp_approximate": "exp", "exp2_approximate": "exp2"}
"""Functions that may have fewer digits; here they have all of them."""


def formulas(face: Backend) -> dict[str, Callable[..., Any]]:
    """The code of functions for pieces of tiles, by name, for vector backends."""
    names = (*FORMULAS, *APPROXIMATE)
    return dict.fromkeys(names, formula) if face.register_bytes else {}


def formula(low: Lowering, name: str, *pieces: Any) -> Any:
    """The code of a function for the pieces of its arguments."""
    made = FORMULAS[APPROXIMATE.get(name, name)]
    return made(*(Lanes(low, piece) for piece in pieces)).value
