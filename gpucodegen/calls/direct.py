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
    ``words``: how many it takes behind these, to note accesses that it left out, and
    ``told``: what they mean.
    """

    name: str
    grid: Any
    block: Any
    order: tuple[int, ...]
    results: tuple[Form, ...] = ()
    single: bool = False
    words: int = 0
    told: Any = ()

    def runner(self, runtime: Any) -> Callable[[Sequence[Any]], Any]:
        """What runs it on the values of the arguments, and returns what the call does.

        >>> from gpucodegen.runtime.cpu.engine import NumpyEngine, compiled
        >>> from gpucodegen.runtime.host.host import HostApi
        >>> made = Launch("k", None, None, (1, 0), (((2,), "f32"), ((3,), "f64")))
        >>> runtime = HostApi(NumpyEngine(compiled))
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

        launch = self._watched(runtime, alone) if self.words else alone

        def run(values: Sequence[Any]) -> Any:
            made = [make() for make in makers]
            launch([*values, *[place for place, _ in made]])
            return made[0][1] if single else tuple([array for _, array in made])

        return run if makers else launch

    def _watched(
        self, runtime: Any, launch: Callable[[Sequence[Any]], None]
    ) -> Callable[[Sequence[Any]], None]:
        """The launch with its words, and a look at them behind it."""
        make, told = runtime.maker((self.words,), "i64"), self.told

        def run(values: Sequence[Any]) -> None:
            place, status = make()
            status.fill(0)
            launch([*values, place])
            runtime.look(status, told)

        return run

    def repeated(
        self,
        runtime: Any,
        arrays: Sequence[Any],
        apart: Sequence[Touching],
        unset: ctypes.Array[ctypes.c_char],
    ) -> Direct | None:
        """What runs it on arrays like these, or returns `NotImplemented`.

        ``apart``, ``unset``: as for `gpucodegen.runtime.cpu.direct_call.direct_call`.
        """
        from gpucodegen.runtime.cpu.direct_call import direct_call

        makers = [runtime.maker(*form) for form in self.results]
        every = [*arrays, *(make()[1] for make in makers)]
        words = runtime.maker((self.words,), "i64") if self.words else None
        if words is not None:
            every.append(words()[1])
        code = runtime.address(self.name)
        call = direct_call(code, every, self.order, apart, unset)
        if call is not None and words is not None:
            call = _watching(call, words, runtime.look, self.told)
        if call is None or not makers:
            return call
        return _making_one(call, *makers) if self.single else _making(call, makers)

    def making_last(self, form: Form) -> Launch:
        """The same where the last argument is an array of that form that is made."""
        assert not self.results
        return replace(self, results=(form,), single=True)


def _watching(
    call: Direct, make: Maker, look: Callable[[Any, Any], None], told: Any
) -> Direct:
    """A call with words behind its arguments, and a look at them behind it."""

    def run(*arguments: Any) -> Any:
        status = make()[1]
        status.fill(0)
        done = call(*arguments, status)
        look(status, told)
        return done

    return run


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
        self.words = 0
        self.told: Any = ()
        self.noted = _Mark()

    def status(self, words: int) -> _Mark:
        """Once, right before the launch."""
        if self.words or self.made:
            raise TypeError
        self.words = words
        return self.noted

    def check(self, status: _Mark, told: Any) -> None:
        """Right behind the launch."""
        if status is not self.noted or not self.made:
            raise TypeError
        self.told = told

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

    >>> only_launch(lambda rt, a, b: rt.launch("k", None, None, (b, a)), 2).order
    (1, 0)
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
        every = [*marks, *seen.buffers, seen.noted]
        places = {id(mark): at for at, mark in enumerate(every)}
        order = tuple(places[id(mark)] for mark in args)
        forms, report = tuple(seen.forms), (seen.words, seen.told)
        return Launch(name, grid, block, order, forms, single, *report)
    return None
