"""A made program through every engine, beside the interpreter.

An engine gives all that a program computed: its results and its arrays afterwards.
A schedule is options, or loop transformations that the proofs allow, at random.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any
from unittest.mock import patch

import gpucodegen as gcg
from gpucodegen import checking, errors
from gpucodegen.compiling.pipeline import front_passes
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.interp.gpu import run_block
from gpucodegen.ir.types import Type, element_type
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from tests.made import iree
from tests.made.program import Made

Computed = list[Any]
Engine = Callable[[Made], Computed]
NARROW = ("f16", "bf16")
REFUSALS = (
    errors.IllegalTransformation,
    errors.InvalidPassOption,
    errors.UnknownLoop,
    errors.AmbiguousLoop,
)
"""What a transformation may say of loops that it does not fit."""


def computed(made: Made, source: str | Module, **options: Any) -> Computed:
    given = made.given()
    result = gcg.compile(source, **options)["f"](*given)
    return [*checking.several(result), *given]


def on(target: str, **options: Any) -> Engine:
    """The program on a target, as the compiler chooses."""
    return lambda made: computed(made, made.text, target=target, **options)


def _sizes(random: Random) -> tuple[int, ...]:
    return tuple(random.choice([1, 2, 3, 5, 8]) for _ in range(random.randint(1, 3)))


def with_options(made: Made) -> Computed:
    """Tiles and other choices that a caller can make."""
    random = Random(made.seed)
    options: dict[str, Any] = {
        "threads": random.choice([1, 2, 3]),
        "specialize": random.random() < 0.5,
        "time_tiles": random.random() < 0.5,
    }
    tiles = {"tile_sizes": _sizes(random)} if random.random() < 0.7 else {}
    tiles |= {"register_tile": _sizes(random)} if random.random() < 0.5 else {}
    try:
        return on("cpu", **options, **tiles)(made)
    except errors.IllegalTransformation:
        return on("cpu", **options, exact=True)(made)


def transformations(random: Random) -> list[str]:
    """Passes over loops, each of which may be refused."""
    order = [0, 1, 2][: random.randint(2, 3)]
    random.shuffle(order)
    factor = random.randint(2, 4)
    sizes = ",".join(map(str, _sizes(random)))
    known = [
        f"tile{{sizes=[{sizes}],fewer=true}}",
        f"tile-bands{{sizes=[{sizes}]}}",
        f"interchange{{order=[{','.join(map(str, order))}]}}",
        f"unroll{{factor={factor}}}",
        f"unroll-and-jam{{factor={factor}}}",
        "fuse",
        "distribute",
        "normalize-loops",
        "coalesce",
        "privatize",
        "contract-arrays",
        "improve-locality",
        "carry-stores",
        "mem2reg",
        "restructure",
    ]
    return random.sample(known, random.randint(1, 4))


def with_passes(made: Made) -> Computed:
    """Random transformations in turn, where they are legal; then one thread."""
    module = run_pipeline(gcg.parse(made.text), front_passes("f", ()))
    for text in transformations(Random(made.seed)):
        try:
            module = run_pipeline(module, parse_pipeline(text))
        except REFUSALS:
            continue
    return computed(made, module, target="cpu", threads=1)


def scheduled(made: Made) -> Computed:
    """One of the two kinds of schedule."""
    return (with_options if made.seed % 2 else with_passes)(made)


MOST_THREADS = 20_000
"""Threads of blocks with barriers that the interpreter runs for a program."""


class TooManyThreadsError(Exception):
    """The rest of a program's passes would take minutes."""


@contextmanager
def few_threads() -> Generator[None]:
    """Ends the interpreter beyond `MOST_THREADS`."""
    left = MOST_THREADS

    def counted(threads: Sequence[Any], body: Any, *, meet: bool) -> None:
        nonlocal left
        left -= len(threads) if meet else 0
        if left < 0:
            raise TooManyThreadsError
        run_block(threads, body, meet=meet)

    with patch("gpucodegen.interp.gpu.run_block", counted):
        yield


def after_each_pass(target: str) -> Engine:
    """The interpreter on the module after every pass; nothing is compiled."""

    def run(made: Made) -> Computed:
        function = gcg.compile(made.text, target=target)["f"]
        expected = checking.as_written(function, made.arguments)
        given = function, made.arguments, expected, checking.PLACES
        with few_threads(), suppress(TooManyThreadsError):
            checking.check_passes(*given)
        return interpreted(made)

    return run


ENGINES: dict[str, Engine] = {
    "cpu-1": on("cpu", threads=1),
    "cpu-2": on("cpu", threads=2),
    "scheduled": scheduled,
    "sim": on("sim"),
    "cpu passes": after_each_pass("cpu"),
    "sim passes": after_each_pass("sim"),
}
if iree.is_installed():
    ENGINES["iree"] = iree.computed

interpreted = on("interp")


def types_of(made: Made) -> Sequence[Type]:
    """Of what is computed."""
    kinds = Function(gcg.parse(made.text).functions["f"]).type
    return [*kinds.results, *kinds.inputs]


def difference(made: Made, expected: Computed, engine: str) -> str:
    """What is wrong with an engine's numbers, or nothing."""
    try:
        actual = ENGINES[engine](made)
    except iree.RefusedByIreeError:
        return ""
    except Exception as failure:  # noqa: BLE001
        return f"{type(failure).__name__}: {failure}"
    return _unlike(made, actual, expected)


def _unlike(made: Made, actual: Computed, expected: Sequence[Any]) -> str:
    """The first number that differs, or nothing."""
    types = types_of(made)[: len(expected)]
    for n, (ty, a, b) in enumerate(zip(types, actual, expected, strict=True)):
        places = 4 if str(element_type(ty)) in NARROW else checking.PLACES
        try:
            checking.compared(ty, a, b, places)
        except checking.Difference as found:
            return f"number {n}: {found.details}"
    return ""


def differences(made: Made, engines: Sequence[str]) -> dict[str, str]:
    """What is wrong, by engine; the interpreter itself is compared with NumPy."""
    expected = interpreted(made)
    if made.answers is not None:
        wrong = _unlike(made, expected[: len(made.answers)], made.answers)
        if wrong:
            return {"interp": wrong}
    asked = [e for e in engines if e != "iree" or made.peers]
    found = {engine: difference(made, expected, engine) for engine in asked}
    return {engine: text for engine, text in found.items() if text}
