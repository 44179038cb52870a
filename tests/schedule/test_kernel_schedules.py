"""The schedules of ready-made operations make the same kernels again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpucodegen import kernels
from gpucodegen import schedule as s
from gpucodegen.calls.function import Function
from gpucodegen.compiling.executable import build
from gpucodegen.kernels import calls


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


WIDE, IMAGE = floats(33, 70), floats(1, 12, 12, 8)
PAIRS = floats(1, 2, 16, 8)
REDUCTIONS = "sum mean max min argmax prod std logsumexp any count_nonzero".split()
CALLS: dict[str, Callable[[str], Any]] = {
    **{
        f"{name}, axis {axis}": lambda target, name=name, axis=axis: getattr(
            kernels, name
        )(WIDE, axis=axis, target=target)
        for name in REDUCTIONS
        for axis in (0, 1)
    },
    **{
        name: lambda target, name=name: getattr(kernels, name)(WIDE, target=target)
        for name in ("softmax", "log_softmax", "cumsum", "cumprod", "transpose", "copy")
    },
    "layer_norm": lambda t: kernels.layer_norm(WIDE, 70, target=t),
    "rms_norm": lambda t: kernels.rms_norm(WIDE, 70, target=t),
    "batch_norm": lambda t: kernels.batch_norm(
        floats(4, 5, 6, 7), floats(5), abs(floats(5)), target=t
    ),
    "matmul": lambda t: kernels.matmul(floats(64, 48), floats(48, 80), target=t),
    "matvec": lambda t: kernels.matvec(WIDE, floats(70), target=t),
    "vecdot": lambda t: kernels.vecdot(floats(70), floats(70), target=t),
    "einsum": lambda t: kernels.einsum(
        "bij,bkj->bik", floats(2, 9, 8), floats(2, 7, 8), target=t
    ),
    "conv1d": lambda t: kernels.conv1d(floats(1, 20, 4), floats(3, 4, 3), target=t),
    "conv2d": lambda t: kernels.conv2d(IMAGE, floats(3, 3, 8, 16), target=t),
    "conv_transpose2d": lambda t: kernels.conv_transpose2d(
        floats(1, 6, 6, 4), floats(3, 3, 4, 3), target=t
    ),
    "max_pool2d": lambda t: kernels.max_pool2d(IMAGE, 2, target=t),
    "avg_pool2d": lambda t: kernels.avg_pool2d(IMAGE, 2, target=t),
    "attention": lambda t: kernels.scaled_dot_product_attention(
        PAIRS, PAIRS, PAIRS, target=t
    ),
    "take": lambda t: kernels.take(WIDE, np.array([3, 1, 2]), target=t),
    "bincount": lambda t: kernels.bincount(np.array([1, 2, 2, 3]), 5, target=t),
    "histogram": lambda t: kernels.histogram(floats(100), 4, (-2.0, 2.0), target=t),
}


CASES = [
    (name, target)
    for n, name in enumerate(CALLS)
    for is_sim, target in enumerate(("cpu", "sim"))
    if "axis" not in name or (n + n // 2 + is_sim) % 2
]
"""A reduction along one axis on the CPU, along the other on the emulated device."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target"), CASES)
def test_the_schedule_of_an_operation_repeats(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Function] = []
    compiled = calls.compiled.__wrapped__

    def kept(*given: Any, **named: Any) -> Function:
        made.append(compiled(*given, **named))
        return made[-1]

    monkeypatch.setattr(calls, "compiled", kept)
    CALLS[name](target)
    assert made
    for function in made:
        for (key, _), executable in function.specializations.made.items():
            given = s.parse(str(executable.schedule))
            changed = {"schedule": (("", given),), "tuned": False, "verify": False}
            options = replace(executable.options, **changed)
            again = build(function.source, function.name, key, options)
            assert again.source == executable.source
