"""Random schedules are refused, or compute the numbers of the program as written.

``python -m tests.schedule.test_random_schedules 5000 0`` draws 5000 from seed 0 on.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import schedule as s
from gpucodegen.errors import InternalError
from tests.schedule.programs import SAMPLES, Sample

Draw = random.Random
BLOCKS, THREADS = ("block.x", "block.y"), ("thread.x", "thread.y")


def _tile(draw: Draw, loops: list[str]) -> s.Step:
    at = draw.randrange(len(loops))
    count = draw.randint(1, len(loops) - at)
    sizes = [draw.choice((0, 1, 2, 3, 4, 8, 16, 100)) for _ in range(count)]
    chosen = loops[at : at + count]
    loops += [f"{loop}_tile" for loop in chosen]
    return s.tile(chosen[0], sizes=sizes, separate=draw.random() < 0.3)


def _interchange(draw: Draw, loops: list[str]) -> s.Step:
    count = draw.randint(2, min(4, len(loops)))
    order = draw.sample(loops, count)
    return s.interchange(order=order)


def _fuse(draw: Draw, loops: list[str]) -> s.Step:
    pair = draw.sample(loops, 2) if draw.random() < 0.7 else ()
    return s.fuse(*pair, depth=draw.choice((None, 1, 2)))


STEPS: tuple[Callable[[Draw, list[str]], s.Step], ...] = (
    _tile,
    _tile,
    _interchange,
    _fuse,
    lambda draw, loops: s.unroll(draw.choice(loops), factor=draw.randint(2, 5)),
    lambda draw, loops: s.unroll_and_jam(draw.choice(loops), factor=draw.randint(2, 4)),
    lambda draw, loops: s.distribute(draw.choice(loops)),
    lambda draw, loops: s.peel(
        draw.choice(loops), front=draw.randint(0, 2), back=draw.randint(0, 3)
    ),
    lambda draw, loops: s.split_index_set(draw.choice(loops), at=draw.randint(1, 20)),
    lambda draw, loops: s.split_reduction(draw.choice(loops), parts=draw.randint(1, 5)),
    lambda draw, loops: s.normalize_loops(draw.choice(loops)),
    lambda draw, _: s.skew(factors=[draw.randint(0, 2)]),
    lambda _, __: s.restructure(),
)


def drawn(draw: Draw, sample: Sample, target: str) -> s.Schedule:
    """Some loop steps, then places of loops or the target's own steps."""
    loops = list(sample.loops)
    steps = [draw.choice(STEPS)(draw, loops) for _ in range(draw.randint(0, 3))]
    if target == "cpu":
        if draw.random() < 0.4:
            steps.append(s.bind(draw.choice(loops), "cpu.thread"))
        own = ("privatize", "improve_locality", "privatize_reductions", "vectorize")
        steps += [s.Step(name) for name in own if draw.random() < 0.6]
    else:
        if draw.random() < 0.2:
            steps.append(s.stage(transfers=draw.choice(("loops", "dma"))))
        for place in (*BLOCKS, *THREADS):
            if draw.random() < 0.4:
                steps.append(s.bind(draw.choice(loops), place))
    return s.schedule(*steps)


def outcome(seed: int) -> str:
    """``right``, or the code of a refusal; an AssertionError for another number."""
    draw = Draw(seed)
    sample = SAMPLES[draw.choice(list(SAMPLES))]
    target = draw.choice(("cpu", "sim"))
    given = drawn(draw, sample, target)
    expected, found = sample.answer(seed), sample.arguments(seed)
    try:
        made = gcg.compile(sample.text, target=target, schedule=given)
        made.f(*found)
    except InternalError as problem:
        raise AssertionError(f"seed {seed}: {target} {given}") from problem
    except gcg.Error as refused:
        return refused.code
    for n, (one, other) in enumerate(zip(expected, found, strict=True)):
        assert np.array_equal(one, other), f"seed {seed}, array {n}: {target} {given}"
    again = gcg.compile(sample.text, target=target, schedule=made.schedule("f"))
    assert again.source("f") == made.source("f"), f"seed {seed}: {target} {given}"
    return "right"


@pytest.mark.parametrize("seed", [11, 12])
def test_a_random_schedule_is_refused_or_right(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1080, 40))
def test_random_schedules_are_refused_or_right(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Counter(outcome(seed) for seed in range(first, first + 40))
    assert found["right"] >= 6


def main(count: int, first: int) -> None:
    warnings.simplefilter("ignore")
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            found[outcome(seed)] += 1
        except Exception as wrong:  # noqa: BLE001 - all are told
            print(f"seed {seed}: {type(wrong).__name__}: {wrong}", flush=True)  # noqa: T201
            found["DIFFERS"] += 1
    print(dict(found))  # noqa: T201


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
