"""``gpucodegen.check``: what a target computes against what the program says.

The interpreter runs the module as it is written.  Integers must agree; floats up to a
bound, as compilers may reorder sums and fuse products with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpucodegen import errors
from gpucodegen.compiling.targets.interp import INTERP
from gpucodegen.export.example import several
from gpucodegen.interp.values.elements import is_array
from gpucodegen.ir.data.float_formats import FORMATS
from gpucodegen.ir.types import I8, ComplexType, FloatType, Type, element_type

if TYPE_CHECKING:
    from gpucodegen.calls.function import Function

PLACES = 256
"""By so many units in the last place of an array's largest number floats may differ."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A function on which both agree: how many numbers, and by how much at most.

    ``places``: the largest difference, in units in the last place of the largest number
    of its array.
    """

    function: str
    target: str
    numbers: int
    places: float

    def __str__(self) -> str:
        return (
            f"{self.function} on target '{self.target}': {self.numbers} numbers agree"
            f" with the interpreter, floats within {self.places:.3g} places"
        )


def checked(function: Function, arguments: Sequence[Any], places: float) -> Checked:
    """A call of a function against the interpreter, as `gpucodegen.check` says."""
    from gpucodegen.calls.interpreted import launcher

    name, target, signature = function.name, function.options.target, function.signature
    ours, theirs = _copied(arguments), _copied(arguments)
    module = function.source.module
    expected = launcher(module, signature, function.options, theirs)()
    if INTERP.sanitizes(function.options):  # the expected results came so
        options = replace(function.options, sanitize=False)
        function = type(function)(function.source, name, options)
    actual = function(*ours)
    types = function.view.type
    rows: list[tuple[str, Type, Any, Any]] = [
        (p.name, ty, a, b)
        for p, ty, a, b in zip(
            signature.parameters, types.inputs, ours, theirs, strict=True
        )
        if is_array(a)
    ]
    results = zip(types.results, several(actual), several(expected), strict=True)
    rows += [(f"result {n}", ty, a, b) for n, (ty, a, b) in enumerate(results)]
    count, largest = 0, 0.0
    for what, ty, a, b in rows:
        try:
            size, furthest = compared(ty, a, b, places)
        except Difference as found:
            raise errors.ResultsDiffer(
                function=name, target=target, what=what, **found.details
            ) from None
        count, largest = count + size, max(largest, furthest)
    return Checked(name, target, count, largest)


def _copied(arguments: Sequence[Any]) -> list[Any]:
    """Arrays with memory of their own, and the same strides."""
    from gpucodegen.calls.interpreted import memref_of

    made: dict[int, Any] = {}

    def one(argument: Any) -> Any:
        if not getattr(argument, "shape", None) and not is_array(argument):
            return argument
        array = np.asarray(argument)
        if not array.size:
            return array.copy()
        view = memref_of(array, I8)
        return replace(view, memory=view.memory.copy()).array()

    for argument in arguments:
        if id(argument) not in made:
            made[id(argument)] = one(argument)
    return [made[id(argument)] for argument in arguments]


# -- numbers ---------------------------------------------------------------------------


class Difference(Exception):
    """Where two arrays differ."""

    def __init__(self, place: str, actual: Any, expected: Any, bound: float) -> None:
        self.details: dict[str, Any] = {
            "place": place,
            "actual": actual,
            "expected": expected,
            "bound": bound,
        }
        super().__init__(place)


def _flat(value: Any, ty: Type) -> list[Any]:
    from gpucodegen.interp.values.elements import element, numbers, scalar_type

    if is_array(value):
        scalar = scalar_type(element_type(ty))
        is_foreign = value.dtype.kind not in "biufcO"  # bits of a narrow float
        bits = value.view(element(scalar).dtype) if is_foreign else value
        return numbers(bits, scalar)
    return [value]


def _parts(value: Any) -> Iterator[float]:
    if isinstance(value, complex):
        yield value.real
        yield value.imag
    else:
        yield value


def _unit(ty: Type) -> float:
    """One unit in the last place of one; zero of integers."""
    ty = ty.element if isinstance(ty, ComplexType) else ty
    if not isinstance(ty, FloatType):
        return 0.0
    return math.ldexp(1.0, 1 - FORMATS[ty.name].precision)


def compared(ty: Type, actual: Any, expected: Any, places: float) -> tuple[int, float]:
    """How many numbers, and the largest difference in places.  Raises Difference.

    >>> from gpucodegen.ir.types import F32
    >>> compared(F32, 1.0, 1.0, places=0)
    (1, 0.0)
    """
    from gpucodegen.interp.values.elements import scalar_type

    shape = getattr(expected, "shape", ())
    if getattr(actual, "shape", ()) != shape:
        raise Difference(" in shape", getattr(actual, "shape", ()), shape, 0)
    ours, theirs = _flat(actual, ty), _flat(expected, ty)
    parts = [abs(p) for value in theirs for p in _parts(value)]
    scale = max((p for p in parts if math.isfinite(p)), default=0)
    unit = _unit(scalar_type(element_type(ty))) * scale
    furthest = 0.0
    for n, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        gap = max(_gap(x, y) for x, y in zip(_parts(a), _parts(b), strict=True))
        if gap > unit * places:
            index = tuple(map(int, np.unravel_index(n, shape))) if shape else ()
            place = f" at {list(index)}" if shape else ""
            raise Difference(place, a, b, unit * places)
        furthest = max(furthest, gap / unit if unit else 0.0)
    return len(ours), furthest


def _gap(a: float, b: float) -> float:
    """How far two numbers are apart; NaN is NaN, and infinities are themselves."""
    if a == b or (a != a and b != b):  # noqa: PLR0124
        return 0.0
    gap = abs(a - b)
    return gap if math.isfinite(gap) else math.inf
