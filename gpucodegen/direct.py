"""Calls that are one launch of a kernel on the arguments themselves and new results.

Comes in: a host program.  Goes out: its only kernel, which arguments it takes and which
arrays it makes, or None.  Later calls then pass addresses and numbers, and describe no
buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Never


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
    results: tuple[tuple[tuple[int, ...], str], ...] = ()
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
        self.forms: list[tuple[tuple[int, ...], str]] = []

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
