"""Steps of schedules, their text, and one function for each kind of step.

A step names a transformation, the loops or kernels that it concerns, and its
parameters. Loops are named as everywhere (`gpucodegen.passes.nests.loop_names`): by the
name of their variable, by ``gpucodegen.name``, or by their path, as ``"0.1"``. A step
that makes new loops says how these are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from gpucodegen import errors
from gpucodegen.records import dataclass

Value: TypeAlias = "int | str | tuple[Value, ...]"
"""A parameter: booleans are integers."""


@dataclass(frozen=True, slots=True)
class Step:
    """One transformation: its name, the names it concerns, and its parameters.

    >>> print(Step("tile", ("i",), (("sizes", (32, 8)),)))
    tile("i", sizes=(32, 8))
    """

    name: str
    of: tuple[str, ...] = ()
    parameters: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        given = [*map(_text, self.of)]
        given += [f"{name}={_text(value)}" for name, value in self.parameters]
        return f"{self.name}({', '.join(given)})"

    @property
    def values(self) -> dict[str, Value]:
        """The parameters by name."""
        return dict(self.parameters)


def _text(value: Value) -> str:
    """A value as Python text, with double quotes."""
    match value:
        case str():
            quoted = repr(value)[1:-1].replace('"', '\\"').replace("\\'", "'")
            return f'"{quoted}"'
        case tuple():
            inner = ", ".join(map(_text, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case _:
            return repr(value)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps in the order in which they run."""

    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        lines = "".join(f"    {step},\n" for step in self.steps)
        return f"schedule(\n{lines})" if lines else "schedule()"

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __add__(self, other: Schedule | Step) -> Schedule:
        """The steps of both."""
        more = (other,) if isinstance(other, Step) else other.steps
        return Schedule((*self.steps, *more))

    def named(self, name: str) -> tuple[Step, ...]:
        """The steps of one kind."""
        return tuple(step for step in self.steps if step.name == name)

    def replaced(self, old: Step, *new: Step) -> Schedule:
        """The schedule with other steps, or none, in the place of one.

        >>> one, two = vectorize(), tile("i", sizes=[8])
        >>> print(schedule(one).replaced(one, two, one))
        schedule(
            tile("i", sizes=(8,)),
            vectorize(),
        )
        """
        at = self.steps.index(old)
        return Schedule((*self.steps[:at], *new, *self.steps[at + 1 :]))


def schedule(*steps: Step) -> Schedule:
    """A schedule of these steps.

    Raises InvalidOption for anything else.
    """
    for step in steps:
        if not isinstance(step, Step):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(step, "Pass steps, as tile('i', sizes=[32])")
    return Schedule(steps)


def invalid(value: object, hint: str) -> errors.InvalidOption:
    return errors.InvalidOption(name="schedule", value=value, hint=hint)


def _made(name: str, of: Sequence[str], parameters: Mapping[str, object]) -> Step:
    """A step with the parameters that differ from None."""
    given = tuple(
        (key, value_of(value)) for key, value in parameters.items() if value is not None
    )
    for loop in of:
        if not isinstance(loop, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(loop, f"{name} takes names, as 'i'")
    return Step(name, tuple(of), given)


def value_of(value: object) -> Value:
    match value:
        case bool() | int() | str():
            return value
        case tuple() | list():
            return tuple(map(value_of, cast("Sequence[object]", value)))
        case _:
            hint = "Parameters are numbers, booleans, names, and sequences of these"
            raise invalid(value, hint)


# -- one function for each kind of step ------------------------------------------------

Sizes = Sequence["int | str"]


def tile(
    loop: str = "",
    *,
    sizes: Sizes,
    separate: bool | None = None,
    relaxed: bool | None = None,
    fewer: bool | None = None,
    names: Sequence[str] | None = None,
) -> Step:
    """Tile the loops that are perfectly nested from ``loop`` on by these sizes.

    ``loop`` itself and those inside it get the bounds of one tile, and the loops over
    the tiles of ``i`` are called ``i_tile``, or as ``names`` says. Sizes are numbers,
    or names of index arguments; 0 leaves a loop as it is. ``separate``: whole tiles
    apart from partial ones. ``relaxed``: sums may run in another order. ``fewer``: a
    nest of fewer loops takes the first sizes. No loop: each outermost nest.
    """
    more = {"separate": separate, "relaxed": relaxed, "fewer": fewer, "names": names}
    return _made("tile", _one(loop), {"sizes": tuple(sizes), **more})


def interchange(
    loop: str = "", *, order: Sequence[str], relaxed: bool | None = None
) -> Step:
    """Run perfectly nested loops in this order, the outermost first."""
    return _made("interchange", _one(loop), {"order": tuple(order), "relaxed": relaxed})


def skew(*, factors: Sequence[int]) -> Step:
    """Skew the loops inside the outermost one by multiples of it."""
    return _made("skew", (), {"factors": tuple(factors)})


def fuse(*loops: str, depth: int | None = None, relaxed: bool | None = None) -> Step:
    """Make adjacent nests one; without loops all neighbours that may be."""
    return _made("fuse", loops, {"depth": depth, "relaxed": relaxed})


def distribute(loop: str = "") -> Step:
    """Give each part of the loop's body that can run by itself its own loop."""
    return _made("distribute", _one(loop), {})


def peel(loop: str = "", *, front: int | None = None, back: int | None = None) -> Step:
    """Write the first and the last iterations of a loop out of it."""
    return _made("peel", _one(loop), {"front": front, "back": back})


def split_index_set(loop: str = "", *, at: int | str) -> Step:
    """Make two loops of one: below ``at``, and from it on."""
    return _made("split_index_set", _one(loop), {"at": str(at)})


def split_reduction(
    loop: str,
    *,
    parts: int,
    interleaved: bool | None = None,
    relaxed: bool | None = None,
    part: str | None = None,
) -> Step:
    """Reduce along a loop in so many parts, each with partial results (split-K).

    The loop over parts is parallel, and called ``i_part`` for a loop ``i``, or as
    ``part`` says. ``interleaved``: a part has every ``parts``-th iteration, not
    neighbouring ones. ``relaxed``: sums of floats may run in another order.
    """
    given = {"parts": parts, "interleaved": interleaved}
    more = {"relaxed": relaxed, "part": part}
    return _made("split_reduction", (loop,), {**given, **more})


def normalize_loops(loop: str = "") -> Step:
    """Let loops begin at 0, in steps of 1."""
    return _made("normalize_loops", _one(loop), {})


def unroll(loop: str = "", *, factor: int | None = None) -> Step:
    """Write ``factor`` iterations as one."""
    return _made("unroll", _one(loop), {"factor": factor})


def unroll_and_jam(
    loop: str = "", *, factor: int | None = None, relaxed: bool | None = None
) -> Step:
    """Unroll an outer loop and join the copies inside the inner loops."""
    return _made("unroll_and_jam", _one(loop), {"factor": factor, "relaxed": relaxed})


def restructure() -> Step:
    """Give each nest the order that isl's scheduler finds."""
    return _made("restructure", (), {})


def stage(
    *arrays: str,
    depth: int | None = None,
    space: int | None = None,
    capacity: int | None = None,
    transfers: str | None = None,
    padding: int | Sequence[int] | None = None,
) -> Step:
    """Hold tiles of arrays in fast memory (pass ``promote``).

    ``depth``: how many outer loops make a tile; default: the loops that `tile` made.
    ``space``: 2 is shared memory of a block. ``transfers``: copy by ``"loops"``, or by
    ``"dma"``, which are asynchronous copies. ``padding``: elements behind each row,
    for every array or for each. No arrays: those that pay and fit.
    """
    padding = (padding,) if isinstance(padding, int) else padding
    sizes = {"depth": depth, "space": space, "capacity": capacity}
    return _made("stage", arrays, {**sizes, "transfers": transfers, "padding": padding})


def pipeline(
    loop: str = "", *, stages: int | None = None, buffers: int | None = None
) -> Step:
    """Start the copies of a loop ``stages - 1`` iterations ahead of their use."""
    return _made("pipeline", _one(loop), {"stages": stages, "buffers": buffers})


def bind(loop: str, to: str) -> Step:
    """Run the iterations of a parallel loop as blocks or threads.

    ``to``: ``"block.x"``, ``"thread.x"`` and so on, or ``"cpu.thread"``. The loops of
    blocks are the outermost ones. Without loops of threads the work of a block is
    distributed by itself.
    """
    return Step("bind", (loop, to))


def privatize() -> Step:
    """Give each iteration its own copy of temporaries."""
    return _made("privatize", (), {})


def improve_locality(**choices: object) -> Step:
    """Order and fuse nests for the caches of a CPU by the model of the machine.

    ``order2=(1, 0)`` decides the order of the loops of nest 2, ``fusion1=False`` that
    nest 1 stays apart from the next one.
    """
    return _made("improve_locality", (), choices)


def time_tile(
    number: int = 0,
    *,
    tiled: bool | None = None,
    steps: int | None = None,
    width: Sequence[int] | None = None,
) -> Step:
    """Tile a time loop of a CPU with the loops in it; loops are counted from 0.

    ``steps`` of time in a tile, and its ``width`` along each axis of space.
    """
    sizes = None if width is None else tuple(width)
    given = {"tiled": tiled, "steps": steps, "width": sizes}
    return _made("time_tile", (f"time{number}",), given)


def vectorize() -> Step:
    """Vectorize the innermost loops of CPU kernels."""
    return _made("vectorize", (), {})


def map_kernel(kernel: str, kind: str, **fields: object) -> Step:
    """State the plan of one kernel; fields that are left out are the model's.

    ``kernel``: its name, as in a report; on a CPU ``product0`` is the first product.
    ``kind``: the kind of its plan, as ``product`` or ``stream``. A product's kernel is
    written by hand: this step replaces its nest.
    """
    return _made("map_kernel", (kernel, kind), fields)


def _one(loop: str) -> tuple[str, ...]:
    return (loop,) if loop else ()
