"""Tensor maps: what is refused, and what the driver is asked for."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from gpucodegen import errors
from gpucodegen.runtime.cuda import engine
from gpucodegen.runtime.cuda.engine import at, encoded, form_of
from gpucodegen.runtime.host.buffers import Buffer


def buffer(shape: tuple[int, ...], dtype: str = "f16") -> Buffer:
    kinds = {"f16": "f2", "f32": "f4", "index": "i8"}
    return Buffer.of(np.zeros((*shape[:-1], shape[-1] + 8), kinds[dtype]), dtype)


def part(whole: Buffer, shape: tuple[int, ...]) -> Buffer:
    return Buffer.of(whole.array[tuple(map(slice, shape))], whole.dtype)


def test_dimensions_come_last_first() -> None:
    x = part(buffer((4, 60, 64)), (4, 60, 64))
    form = form_of(x, (1, 30, 64), 128, 0)
    assert form.extents == (64, 60, 4)
    assert form.strides == (144, 8640)
    assert form.box == (64, 30, 1)


@pytest.mark.cases(
    ("given", "box", "swizzle", "problem"),
    [
        (buffer((8, 56), "index"), (8, 8), 0, "index is no element"),
        (buffer((8, 56)), (8,), 0, "the box has 1 extents"),
        (buffer((2, 2, 2, 2, 2, 56)), (1, 1, 1, 1, 1, 8), 0, "1 to 5 dimensions"),
        (buffer((8, 51)), (8, 8), 0, "rows are not multiples"),
        (buffer((8, 56)), (8, 12), 0, "a row of the box has 24 bytes"),
        (buffer((8, 120)), (8, 128), 128, "more than the swizzle's 128"),
        (buffer((300, 56)), (257, 8), 0, "outside of 1 to 256"),
        (Buffer.of(np.zeros((64, 8), "f2").T, "f16"), (8, 8), 0, "the last stride"),
    ],
)
def test_what_no_engine_copies(
    given: Buffer, box: tuple[int, ...], swizzle: int, problem: str
) -> None:
    with pytest.raises(errors.WrongTensorMap, match=problem):
        form_of(given, box, swizzle, 0)


def test_the_form_of_a_tensor_elsewhere() -> None:
    form = form_of(buffer((8, 56)), (8, 8), 0, 0)
    assert at(form, 4096) == form._replace(address=4096)
    with pytest.raises(errors.WrongTensorMap, match="0x1008 is no multiple of 16"):
        at(form, 4104)


def test_what_the_driver_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library in place of the driver's, which notes what it gets and writes words."""
    noted: list[Any] = []

    class Driver:
        @staticmethod
        def cuTensorMapEncodeTiled(*given: Any) -> int:  # noqa: N802 - its name
            noted.extend(v.value if hasattr(v, "value") else list(v) for v in given)
            words = (ctypes.c_int64 * 16).from_address(given[0].value)
            words[:] = range(16)
            return 0

    monkeypatch.setattr(engine, "_driver", Driver)
    x = buffer((60, 56))
    assert encoded(form_of(x, (30, 64), 128, 256)).tolist() == list(range(16))
    assert noted[0] % 64 == 0
    assert noted[1:] == [
        *(6, 2, x.pointer, [64, 60], [128], [64, 30], [1, 1], 0, 3, 3, 0),
    ]


def test_what_the_driver_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        @staticmethod
        def cuTensorMapEncodeTiled(*_: Any) -> int:  # noqa: N802 - its name
            return 1

    monkeypatch.setattr(engine, "_driver", Driver)
    with pytest.raises(errors.WrongTensorMap, match="error 1"):
        encoded(form_of(buffer((60, 56)), (30, 64), 128, 0))
