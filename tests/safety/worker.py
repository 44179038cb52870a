"""A process that runs made programs: a seed on each line in, a verdict on each out.

A verdict is "right", "refused", or what is wrong.  Every program is called several
times, so that first calls, repeated ones and bound ones are all seen.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

import gpucodegen as gcg
from gpucodegen.errors import Error, OutOfBounds

from .made import Array, Made
from .memory import Guarded, guarded
from .programs import made
from .reference import OutsideError

Call = list[Any]


def verdict(seed: int) -> str:
    """What became of the program of a seed."""
    program = made(seed)
    wanted = _meaning(program)
    try:
        function = gcg.compile(program.text, target="cpu", **program.options).f
    except Error as error:
        return _refused(error, wanted)
    found = ["bound", "called", "called", "called"]
    for number, way in enumerate(found):
        found[number] = _called(function, program, wanted, way, at_end=bool(number % 2))
    wrong = [one for one in found if one not in ("right", "refused")]
    return wrong[0] if wrong else found[0]


def _meaning(program: Made) -> list[np.ndarray] | None:
    """The arrays as they should be afterwards; None where the call is wrong."""
    plain = [a.values.copy() if isinstance(a, Array) else a for a in program.arguments]
    if program.refused:
        return None
    try:
        program.meaning(*plain)
    except OutsideError:
        return None
    return [a for a in plain if isinstance(a, np.ndarray)]


def _called(
    function: Any,
    program: Made,
    wanted: list[np.ndarray] | None,
    way: str,
    *,
    at_end: bool,
) -> str:
    arguments: Call = []
    memory: list[Guarded] = []
    for argument in program.arguments:
        if isinstance(argument, Array):
            held = argument.values
            made_ = guarded(held.shape, argument.steps, held.dtype, at_end=at_end)
            made_.array[...] = held
            memory.append(made_)
            arguments.append(made_.array)
        else:
            arguments.append(argument)
    try:
        if way == "bound":
            function.bind(*arguments)()
        else:
            function(*arguments)
    except Error as error:
        if not all(m.is_intact() for m in memory):
            return "wrote outside"
        return _refused(error, wanted)
    if not all(m.is_intact() for m in memory):
        return "wrote outside"
    if wanted is None:
        return "accepted, but wrong"
    same = all(
        np.array_equal(m.array, w, equal_nan=True)
        for m, w in zip(memory, wanted, strict=True)
    )
    return "right" if same else "wrong result"


def _refused(error: Error, wanted: list[np.ndarray] | None) -> str:
    """An access that is wrong whenever it runs is refused also where it does not."""
    if wanted is None or isinstance(error, OutOfBounds):
        return "refused"
    return f"refused, but right: {error}"


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        try:
            found = verdict(int(line))
        except Exception as error:  # noqa: BLE001 - the verdict on what came up raw
            found = f"raw {type(error).__name__}: {error}"
        sys.stdout.write(found.splitlines()[0] + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
