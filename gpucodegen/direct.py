"""Calls that are one launch of a kernel on the arguments themselves and new results.

Comes in: a host program.  Goes out: its only kernel, which arguments it takes and which
arrays it makes, or None.  Later calls then pass addresses and numbers, and describe no
buffers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Never

Form = tuple[tuple[int, ...], str]
"""Shape and element type of an array."""
Maker = Callable[[], tuple[int, Any]]
"""Makes an array, and tells its address."""
Direct = Callable[..., Any]
"""A call that returns `NotImplemented` where its arguments need other checks."""
Touching = tuple[int, int, int, int]
"""Two arguments that must not overlap, and the distances of their addresses between
which they do."""


class _Mark:
    """Stands for an argument or a new buffer; nothing can be known of it."""

    def __bool__(self) -> Never:
        raise TypeError

    def __eq__(self, other: object) -> Never:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel, its grid and block, and which arguments it takes, in order.

    ``results``: shapes and element types of the arrays that it makes for the caller,
    which it takes as further arguments.  ``single``: the call returns one, no tuple.
    """

    name: str
    grid: Any
    block: Any
    order: tuple[int, ...]
    results: tuple[Form, ...] = ()
    single: bool = False

    def runner(self, runtime: Any) -> Callable[[Sequence[Any]], Any]:
        """What runs it on the values of the arguments, and returns what the call does.

        >>> from gpucodegen.runtime.host import make_host
        >>> made = Launch("k", None, None, (1, 0), (((2,), "f32"), ((3,), "f64")))
        >>> runtime = make_host("cpu", [])
        >>> runtime.kernel = lambda *_: lambda *args: print(args[1])
        >>> [array.shape for array in made.runner(runtime)([7])]
        7
        [(2,), (3,)]
        """
        taken, single = _picked(self.order), self.single
        makers = [runtime.maker(*form) for form in self.results]
        kernel: Any = None

        def alone(values: Sequence[Any]) -> None:
            nonlocal kernel
            if kernel is None:
                kernel = runtime.kernel(self.name, self.grid, self.block)
            kernel(*taken(values))

        def run(values: Sequence[Any]) -> Any:
            made = [make() for make in makers]
            alone([*values, *[place for place, _ in made]])
            return made[0][1] if single else tuple([array for _, array in made])

        return run if makers else alone

    def repeated(
        self,
        runtime: Any,
        arrays: Sequence[Any],
        apart: Sequence[Touching],
        unset: ctypes.Array[ctypes.c_char],
    ) -> Direct | None:
        """What runs it on arrays like these, or returns `NotImplemented`.

        ``apart``, ``unset``: as for `gpucodegen.runtime.direct_call.direct_call`.
        """
        from gpucodegen.runtime.direct_call import direct_call

        makers = [runtime.maker(*form) for form in self.results]
        every, code = [*arrays, *(make()[1] for make in makers)], runtime.address
        call = direct_call(code(self.name), every, self.order, apart, unset)
        if call is None or not makers:
            return call
        return _making_one(call, *makers) if self.single else _making(call, makers)

    def making_last(self, form: Form) -> Launch:
        """The same where the last argument is an array of that form that is made."""
        assert not self.results
        return replace(self, results=(form,), single=True)


def _making_one(call: Direct, make: Maker) -> Direct:
    """A call with a new array behind its arguments, which it returns."""

    def run(*arguments: Any) -> Any:
        result = make()[1]
        done = call(*arguments, result)
        return result if done is None else done

    return run


def _making(call: Direct, makers: Sequence[Maker]) -> Direct:
    """The same with several arrays."""

    def run(*arguments: Any) -> Any:
        results = tuple([make()[1] for make in makers])
        done = call(*arguments, *results)
        return results if done is None else done

    return run


def _picked(places: tuple[int, ...]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What picks the values at these places.

    >>> _picked((1, 0))("ab"), _picked((1,))("ab")
    (('b', 'a'), ['b'])
    """
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: [values[place] for place in places]


class _Launches:
    """A runtime that writes allocations and one launch down, and does nothing else."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any, Any, tuple[Any, ...]]] = []
        self.buffers: list[_Mark] = []
        self.forms: list[Form] = []

    def alloc(self, shape: tuple[int, ...], dtype: str) -> _Mark:
        """Before the launch."""
        if self.made or dtype == "tag" or min(shape, default=0) < 0:
            raise TypeError
        self.forms.append((shape, dtype))
        self.buffers.append(_Mark())
        return self.buffers[-1]

    def launch(self, name: str, grid: Any, block: Any, args: tuple[Any, ...]) -> None:
        """Once."""
        if self.made:
            raise TypeError
        self.made.append((name, grid, block, args))


def only_launch(host: Callable[..., Any], count: int) -> Launch | None:
    """What a host program of ``count`` arguments does, if it is one launch.

    It runs once, on marks: one that asks for more than memory for its results and a
    launch, or looks at an argument, does not come to its end.

    >>> only_launch(lambda rt, a, b: rt.launch("k", None, None, (b, a)), 2)
    Launch(name='k', grid=None, block=None, order=(1, 0), results=(), single=False)
    >>> only_launch(lambda rt, a: rt.launch("k", None, None, (a, rt.dim(a, 0))), 1)
    >>> def twice(rt, a):
    ...     b = rt.alloc((2, 3), "f32")
    ...     rt.launch("k", None, None, (a, b))
    ...     return b
    >>> only_launch(twice, 1).order, only_launch(twice, 1).results
    ((0, 1), (((2, 3), 'f32'),))
    """
    marks, seen = [_Mark() for _ in range(count)], _Launches()
    with suppress(Exception):  # whatever a program raises that meets a mark
        result = host(seen, *marks)
        ((name, grid, block, args),) = seen.made
        single = isinstance(result, _Mark)
        given = (result,) if single else result or ()
        if [id(one) for one in given] != [id(buffer) for buffer in seen.buffers]:
            return None  # buffers of its own, or an argument returned
        places = {id(mark): at for at, mark in enumerate([*marks, *seen.buffers])}
        order = tuple(places[id(mark)] for mark in args)
        return Launch(name, grid, block, order, tuple(seen.forms), single)
    return None
