"""``gpucodegen.check``: compares a target's results with the interpreter's.

Integers must agree; floats up to a bound, since compilers may reorder sums and fuse
multiply-adds. On request the interpreter also runs the module after every pass, mapped
kernels included, and the first pass after which a number differs is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import numpy as np

from gpucodegen import errors
from gpucodegen.compiling.targets.interp import INTERP
from gpucodegen.export.example import several
from gpucodegen.interp.values import is_array
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.types import I8, ComplexType, FloatType, Type, element_type
from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.calls.function import Function
    from gpucodegen.compiling.lowering import Stages
    from gpucodegen.dialects.builtin import Module

PLACES = 256
"""Tolerance of floats in units in the last place of the array's largest number."""
MOST_LINES = 200
"""Lines of the difference between two modules that an error quotes."""
UNKNOWN_TO_THE_INTERPRETER = (
    errors.UnsupportedOperation,
    errors.UnsupportedType,
    errors.UnregisteredOperation,
)


@dataclass(frozen=True, slots=True)
class Checked:
    """A passed check: how many numbers were compared, and the largest difference.

    ``places``: the largest difference, in units in the last place of the largest number
    of its array. ``passes``: passes that changed the module and preserved the
    interpreter's results. ``skipped``: passes after which the interpreter could not run
    the module, with the reason.
    """

    function: str
    target: str
    numbers: int
    places: float
    passes: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        told = (
            f"{self.function} on target '{self.target}': {self.numbers} numbers agree"
            f" with the interpreter, floats within {self.places:.3g} places"
        )
        if self.passes:
            told += f", and after each of {len(self.passes)} passes"
        return told + "".join(
            f"\nnot run after pass {name}: {why}" for name, why in self.skipped
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """All values of a call with names and types: arguments, then results."""

    names: Sequence[str]
    types: Sequence[Type]
    values: Sequence[Any]

    def compared(self, others: Sequence[Any], places: float) -> tuple[int, float]:
        """Number of equal numbers, and the largest difference. Raises Difference."""
        count, largest = 0, 0.0
        rows = zip(self.names, self.types, others, self.values, strict=True)
        for name, ty, actual, expected in rows:
            try:
                size, furthest = compared(ty, actual, expected, places)
            except Difference as found:
                found.details["what"] = name
                raise
            count, largest = count + size, max(largest, furthest)
        return count, largest


def checked(
    function: Function,
    arguments: Sequence[Any],
    places: float,
    *,
    each_pass: bool = False,
) -> Checked:
    """Compare a call with the interpreter, as `gpucodegen.check` says."""
    name, target = function.name, function.options.target
    expected = as_written(function, arguments)
    if INTERP.sanitizes(function.options):  # the expected results came so
        options = replace(function.options, sanitize=False)
        function = type(function)(function.source, name, options)
    ran: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    if each_pass:
        ran, skipped = check_passes(function, arguments, expected, places)
    ours = _copied(arguments)
    results = several(function(*ours))
    arrays = [argument for argument in ours if is_array(argument)]
    try:
        found = expected.compared([*arrays, *results], places)
    except Difference as difference:
        raise errors.ResultsDiffer(
            function=name, target=target, **difference.details
        ) from None
    return Checked(name, target, *found, ran, skipped)


def as_written(function: Function, arguments: Sequence[Any]) -> Outcome:
    """A call in the interpreter on the unmodified module."""
    from gpucodegen.calls.interpreted import launcher

    signature, theirs = function.signature, _copied(arguments)
    call = launcher(function.source.module, signature, function.options, theirs)
    results = several(call())
    types = function.view.type
    arrays = [n for n, argument in enumerate(theirs) if is_array(argument)]
    return Outcome(
        [signature.parameters[n].name for n in arrays]
        + [f"result {n}" for n in range(len(results))],
        [*(types.inputs[n] for n in arrays), *types.results],
        [*(theirs[n] for n in arrays), *results],
    )


def check_passes(
    function: Function, arguments: Sequence[Any], expected: Outcome, places: float
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Run the interpreter on the module after each pass that changes it.

    Returns the passes after which the results are as expected, and those after which it
    cannot run the module, with the reason. Raises PassChangesResults,
    PassBreaksProgram; if a pass refuses the program, and no earlier pass is to blame,
    its error.
    """
    in_rows: Sequence[int] = ()
    failure: errors.Error | None = None
    target = function.key_for(tuple(arguments))[0]
    try:
        executable, in_rows = function.compiled_for(tuple(_copied(arguments)))
        (_, last), *stages = executable.modules
    except errors.Error as problem:
        failure = problem
        made = _until_failure(function, arguments)
        if not made:  # no pass ran
            raise
        (_, last), *stages = made
    ran: list[str] = []
    skipped: list[tuple[str, str]] = []
    for name, module in stages:
        if module.operation is last.operation:
            continue
        details: dict[str, Any] = {"stage": name, "function": function.name}
        details["target"] = target
        try:
            values = _interpreted(function, module, arguments, in_rows)
            expected.compared(values, places)
        except UNKNOWN_TO_THE_INTERPRETER as refusal:
            skipped.append((name, refusal.message))
            continue
        except Difference as found:
            details |= found.details
            raise _blame(errors.PassChangesResults, last, module, details) from None
        except errors.Error as stopped:
            details["problem"] = stopped.message
            raise _blame(errors.PassBreaksProgram, last, module, details) from stopped
        ran.append(name)
        last = module
    if failure is not None:
        raise failure
    return tuple(ran), tuple(skipped)


def _until_failure(function: Function, arguments: Sequence[Any]) -> Stages:
    """The modules up to the pass that refuses the program."""
    from gpucodegen.compiling.lowering import map_module
    from gpucodegen.compiling.targets.registry import find
    from gpucodegen.passes.framework.functions import reachable
    from gpucodegen.runtime.host.arguments import alignments, specialized

    target, known = function.key_for(tuple(arguments))
    types = specialized(function.view.type.inputs, known)
    stages: Stages = []
    with suppress(errors.Error):
        map_module(
            reachable(function.source.module, function.name),
            function.name,
            (target, types, alignments(known)),
            find(target).settled(function.options),
            stages,
        )
    return stages


def _interpreted(
    function: Function,
    module: Module,
    arguments: Sequence[Any],
    in_rows: Sequence[int],
) -> list[Any]:
    """The arrays after a call of a function in another module, and its results.

    Arguments ``in_rows`` are copied to row-major arrays, as the compiled call does.
    """
    from gpucodegen.calls.interpreted import launcher
    from gpucodegen.calls.signature import Signature
    from gpucodegen.program_text import of_module

    signature = Signature(function.name, of_module(module).defined[function.name])
    given = _copied(arguments)
    for n in in_rows:
        given[n] = np.ascontiguousarray(given[n])
    call = launcher(module, signature, function.options, given, arbitrary=True)
    results = several(call())
    return [*(one for one in given if is_array(one)), *results]


def _blame(
    kind: type[errors.PassChangesResults],
    before: Module,
    after: Module,
    details: dict[str, Any],
) -> errors.PassChangesResults:
    """The error that quotes how a pass changed a module."""
    old, new = str(before), str(after)
    names = "before", f"after {details['stage']}"
    lines = [*unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"... ({len(lines)} lines in all)"]
    error = kind(difference="\n".join(lines), **details)
    error.before, error.after = old, new
    return error


def _copied(arguments: Sequence[Any]) -> list[Any]:
    """Copies of the arrays with the same strides."""
    from gpucodegen.calls.interpreted import memref_of

    made: dict[int, Any] = {}

    def one(argument: Any) -> Any:
        if not getattr(argument, "shape", None) and not is_array(argument):
            return argument
        array = np.asarray(argument)
        if not array.size:
            return array.copy()
        view = memref_of(array, I8)
        return replace(view, memory=view.memory.copy()).array().view(array.dtype)

    for argument in arguments:
        if id(argument) not in made:
            made[id(argument)] = one(argument)
    return [made[id(argument)] for argument in arguments]


# -- numbers ---------------------------------------------------------------------------


class Difference(Exception):
    """The first difference of two arrays."""

    def __init__(self, place: str, actual: Any, expected: Any, bound: float) -> None:
        self.details: dict[str, Any] = {
            "place": place,
            "actual": actual,
            "expected": expected,
            "bound": bound,
        }
        super().__init__(place)


def _flat(value: Any, ty: Type) -> list[Any]:
    from gpucodegen.interp.values import element, numbers, scalar_type

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


def unit_of(ty: Type) -> float:
    """The unit in the last place of 1.0; zero for integers.

    >>> from gpucodegen.ir.types import BF16, I32
    >>> unit_of(I32), unit_of(BF16) == 2.0**-7
    (0.0, True)
    """
    element = element_type(ty)
    element = element.element if isinstance(element, ComplexType) else element
    if not isinstance(element, FloatType):
        return 0.0
    return math.ldexp(1.0, 1 - FORMATS[element.name].precision)


def compared(ty: Type, actual: Any, expected: Any, places: float) -> tuple[int, float]:
    """The count of numbers, and the largest difference in ulps.

    Raises Difference.

    >>> from gpucodegen.ir.types import F32
    >>> compared(F32, 1.0, 1.0, places=0)
    (1, 0.0)
    """
    from gpucodegen.interp.values import scalar_type

    shape = getattr(expected, "shape", ())
    if getattr(actual, "shape", ()) != shape:
        raise Difference(" in shape", getattr(actual, "shape", ()), shape, 0)
    ours, theirs = _flat(actual, ty), _flat(expected, ty)
    parts = [abs(p) for value in theirs for p in _parts(value)]
    scale = max((p for p in parts if math.isfinite(p)), default=0)
    unit = unit_of(scalar_type(element_type(ty))) * scale
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
    """The distance of two numbers; NaN equals NaN, infinities equal themselves."""
    if a == b or (a != a and b != b):  # noqa: PLR0124
        return 0.0
    gap = abs(a - b)
    return gap if math.isfinite(gap) else math.inf
