"""The plan of a call: how every call of one form is checked and made.

Comes in: a compiled function, and the arguments of a first call that passed all checks.
Goes out: guards, the action, and how an argument becomes a word, in one record that
never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.addresses import address
from gpucodegen.calls.launch import Entry, Touching, on_arrays, on_words, unlike
from gpucodegen.calls.signature import Signature
from gpucodegen.compiling.executable import Executable
from gpucodegen.compiling.targets.registry import find
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import storage
from gpucodegen.runtime.host.scalars import scalar_conversion

Word = Callable[[Any], Any]
"""How an argument becomes a word."""
Taken = Callable[[np.ndarray[Any, Any], int], Buffer]
"""How an array and its address become a buffer."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How calls of one form are made; their arguments are used where they are.

    Guards: the form itself, ``words``, which raise for a number that does not fit, and
    ``apart``.  Action: ``launch`` of words, where the artifact states one, else the
    host program, for which ``buffers`` describe the arrays among the arguments.
    ``entry``: the same call of arrays in machine code, or `unlike`.
    """

    executable: Executable
    words: tuple[Word, ...]
    apart: tuple[Touching, ...]
    buffers: tuple[tuple[int, Taken], ...]
    launch: Callable[..., Any] | None
    entry: Entry

    def take(self, arguments: Sequence[Any]) -> list[Any] | None:
        """The words of a call; None if one does not fit or two arrays overlap."""
        try:
            words = [word(a) for word, a in zip(self.words, arguments, strict=True)]
        except Exception:  # noqa: BLE001 - a first call explains it
            return None
        for one, other, least, most in self.apart:
            if least < words[one] - words[other] < most:
                return None
        return words

    def run(self, arguments: Sequence[Any], words: Sequence[Any]) -> Any:
        """A call."""
        if self.launch is not None:
            return self.launch(*words)
        executable, values = self.executable, self._values(arguments, words)
        return executable.run(executable.runtime, arguments, values)

    def bound(
        self, arguments: Sequence[Any], words: Sequence[Any]
    ) -> Callable[[], Any]:
        """A callable for calls with the same arguments."""
        if self.launch is None:
            values = self._values(arguments, words)
            return self.executable.launcher(arguments, values)
        call = partial(self.launch, *words)
        vars(call)["arrays"] = arguments  # they live as long as what leads to them
        return call

    def _values(self, arguments: Sequence[Any], words: Sequence[Any]) -> list[Any]:
        values = [*words]
        for n, take in self.buffers:
            values[n] = take(arguments[n], words[n])
        return values

    def making_last(self, arguments: Sequence[Any], dtype: str) -> Entry:
        """The call in machine code, without the last array, which it makes and returns.

        ``dtype``: the type of its elements.  `unlike` where the call is more than one
        launch on arrays.
        """
        launch, last = self.executable.artifact.launch, arguments[-1]
        if launch is None or launch.results or self.entry is unlike:
            return unlike
        if last.dtype != storage(dtype) or not last.flags.c_contiguous:
            return unlike
        made = replace(launch, results=((last.shape, dtype),), single=True)
        return on_arrays(made, self.executable.runtime, arguments[:-1], self.apart)


def plan_of(
    executable: Executable,
    signature: Signature,
    arguments: Sequence[Any],
    values: Sequence[Any],
    apart: tuple[Touching, ...],
) -> Plan | None:
    """The plan of a first call; None where arguments are not used where they are.

    ``values`` are those that the ``arguments`` were checked and turned into, and
    ``apart`` is what they have to fulfil.
    """
    if not find(executable.target).repeats_calls:
        return None
    words: list[Word] = []
    buffers: list[tuple[int, Taken]] = []
    for n, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        if not isinstance(value, Buffer):
            words.append(scalar_conversion(signature.parameters[n].dtype) or _unknown)
        elif type(argument) is np.ndarray and value.array is argument:
            words.append(address)
            buffers.append((n, _taken(value)))
        else:
            return None
    stated, runtime = executable.artifact.launch, executable.runtime
    launch, entry = None, unlike
    if stated is not None:
        launch = on_words(stated, runtime, len(words))
        if len(buffers) == len(words):
            entry = on_arrays(stated, runtime, arguments, apart)
    return Plan(executable, tuple(words), apart, tuple(buffers), launch, entry)


def checked_apart(
    executable: Executable, signature: Signature, values: Sequence[Any]
) -> tuple[Touching, ...]:
    """The arguments that must not overlap.  Raises OverlappingArguments.

    One of the two is written, and no group has both.  Arguments of a group may overlap
    where they stay in place.
    """
    written = executable.artifact.written
    travels = find(executable.target).has_own_memory
    groups = [
        None if travels and getattr(value, "device", "") == CPU else g
        for value, g in zip(values, executable.artifact.groups, strict=True)
    ]
    found: list[Touching] = []
    for one, other in combinations(range(len(values)), 2):
        a, b = values[one], values[other]
        may_write = written[one] or written[other]
        together = groups[one] is not None and groups[one] == groups[other]
        if not may_write or together or not _are_buffers(a, b):
            continue
        distances = _touching(a, b)
        if distances is None:
            continue
        if distances[0] < a.pointer - b.pointer < distances[1]:
            names = (signature.parameters[n].name for n in (one, other))
            first, second = sorted(names)
            raise errors.OverlappingArguments(
                function=signature.function, first=first, second=second
            )
        found.append((one, other, *distances))
    return tuple(found)


def _are_buffers(*values: object) -> bool:
    return all(isinstance(value, Buffer) for value in values)


def _touching(one: Buffer, other: Buffer) -> tuple[int, int] | None:
    """Between which differences of their addresses two buffers overlap.

    [a + low, a + high) and [b + start, b + end) share a byte, if none is empty, iff
    start - high < a - b < end - low.

    >>> a, b = (Buffer.of(np.zeros(8, np.float32), "f32") for _ in "ab")
    >>> _touching(a, b)
    (-32, 32)
    """
    low, high = (bound - one.pointer for bound in one.byte_range)
    start, end = (bound - other.pointer for bound in other.byte_range)
    return None if low == high or start == end else (start - high, end - low)


def _taken(first: Buffer) -> Taken:
    """How arrays of the form of ``first`` become buffers."""
    dtype, shape, strides = first.dtype, first.shape, first.strides
    writable = first.writable

    def take(array: np.ndarray[Any, Any], place: int) -> Buffer:
        return Buffer(array, dtype, shape, strides, place, CPU, writable)

    return take


def _unknown(value: object) -> Any:
    raise TypeError(value)
