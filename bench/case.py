"""A program against its peers, as a line of a table.

Comes in: a program, its arguments, its peers and its work.  Goes out: a row; a case is
checked against its answer before it is timed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.ceilings import ceiling
from bench.harness import SETTLE, Clock, race
from bench.row import OURS, Limit, Row, Settings, Work
from examples.catalogue import Program
from examples.problems import RESULT, Answer, Arguments, Array, Size

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Peer:
    """Another way to do the same work; left out where its package is missing.

    ``make`` maps the arguments of a call to the call.
    """

    name: str
    make: Callable[[Arguments], Call]
    package: str = "numpy"

    @property
    def is_installed(self) -> bool:
        """Whether it can take part."""
        try:
            return find_spec(self.package) is not None
        except ModuleNotFoundError:  # what the package is a part of is not there
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program, its arguments and its peers.

    ``source`` is MLIR text or a path, ``arguments`` makes those of one call of
    ``entry``.  ``answer`` maps them to what the call must leave by position (`RESULT`:
    return), up to ``tolerance`` of the largest value.  The rate is that of what
    ``limit``s the program.  With ``restore``, arrays get their first contents back
    before each call, outside the timed part.  ``unbound`` calls check their arguments
    each time.
    """

    name: str
    source: str | Path
    entry: str
    arguments: Callable[[np.random.Generator], Arguments]
    answer: Callable[..., Answer]
    peers: tuple[Peer, ...]
    work: Work
    limit: Limit = Limit.FMA
    dtype: str = "f32"
    tolerance: float = 1e-4
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    restore: bool = False
    unbound: bool = False

    @classmethod
    def of(
        cls, program: Program, size: Size, peers: tuple[Peer, ...], **more: Any
    ) -> Case:
        """A program of the examples at a size; ``more`` fields as in `Case`."""
        problem = program.problem
        extents = "x".join(map(str, size.values()))
        fields: dict[str, Any] = {
            "name": f"{program.name} {extents}",
            "source": program.path,
            "entry": program.entry,
            "arguments": lambda rng: problem.arguments(rng, size),
            "answer": problem.answer,
            "work": Work(problem.work(size)),
            "dtype": dtype_of(program.arguments()),
            "tolerance": program.tolerance,
        }
        return cls(peers=peers, **fields | more)

    def measure(self, settings: Settings) -> Row:
        """Compile, check and race."""
        options: dict[str, Any] = {"threads": settings.threads, **self.options}
        compiled = gcg.compile(self.source, target="cpu", **options)[self.entry]
        given = self.arguments(np.random.default_rng(0))
        self.check(given, compiled)
        contenders = {OURS: self._ours(compiled, copied(given))}
        for peer in self.peers:
            theirs = copied(given)
            call = self._call_of(peer, theirs)
            if call is not None:
                contenders[peer.name] = (theirs, call)
        clock = settings.clock
        if self.restore:
            clock = restoring(given, list(contenders.values()), clock)
        times = race(
            *(call for _, call in contenders.values()),
            clock=clock,
            budget=settings.budget,
            settle=SETTLE if settings.threads > 1 else 0.0,
        )
        return Row(
            self.name,
            dict(zip(contenders, times, strict=True)),
            self.work,
            self.limit,
            self.dtype,
            ceiling(self.limit, self.dtype, settings),
        )

    def check(self, given: Arguments, call: Callable[..., object]) -> None:
        """Raise an AssertionError unless a call leaves the answer."""
        expected = self.answer(*given)
        arguments = copied(given)
        result = call(*arguments)
        for position, right in expected.items():
            found = np.asarray(result if position == RESULT else arguments[position])
            scale = float(np.abs(right).max(initial=1))
            np.testing.assert_allclose(
                found.astype(right.dtype),
                right,
                rtol=self.tolerance,
                atol=self.tolerance * scale,
                err_msg=f"{self.name}: value {position}",
            )

    def _call_of(self, peer: Peer, arguments: Arguments) -> Call | None:
        """The call of a peer; None, and a word about it, if it cannot take part."""
        if not peer.is_installed:
            return None
        try:
            call = peer.make(arguments)
            call()
        except Exception as error:
            reason = str(error).partition("\n")[0]
            print(f"{self.name}: {peer.name} is left out: {reason}", file=sys.stderr)
            return None
        return call

    def _ours(self, compiled: Any, arguments: Arguments) -> tuple[Arguments, Call]:
        if self.unbound:
            return arguments, lambda: compiled(*arguments)
        return arguments, compiled.bind(*arguments)


def restoring(
    given: Arguments, contenders: list[tuple[Arguments, Call]], clock: Clock
) -> Clock:
    """A clock that gives the arrays of a call their first contents before it starts."""
    arguments_of = {id(call): arguments for arguments, call in contenders}

    def timed(call: Call) -> float:
        for at, fresh in arrays(given).items():
            arguments_of[id(call)][at][...] = fresh
        return clock(call)

    return timed


def arrays(arguments: Arguments) -> dict[int, Array]:
    """The arrays among the arguments, by position."""
    return {at: a for at, a in enumerate(arguments) if isinstance(a, np.ndarray)}


def dtype_of(arguments: Arguments) -> str:
    """The element type of the first array.

    >>> dtype_of((3, np.zeros(2)))
    'f64'
    """
    first = next(iter(arrays(arguments).values()))
    return f"{first.dtype.kind}{8 * first.itemsize}"


def copied(arguments: Arguments) -> Arguments:
    """The same arguments in memory of their own."""
    fresh = {at: array.copy() for at, array in arrays(arguments).items()}
    return tuple(fresh.get(at, a) for at, a in enumerate(arguments))
