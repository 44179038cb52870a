"""Launches in machine code: they run where arrays are alike, and nowhere else."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from gpucodegen.intrinsics import direct_layout
from gpucodegen.intrinsics.direct_layout import MOST_ARRAYS
from gpucodegen.runtime.cpu import direct_call as calls
from gpucodegen.runtime.cpu.direct_call import direct_call
from gpucodegen.runtime.storage import machine_code
from gpucodegen.runtime.storage.cache import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="calls are made in Python")
UNSET = ctypes.create_string_buffer(b"GPUCODEGEN_NO_SUCH_VARIABLE")
OVERLAP = (0, 1, -32, 32)
"""Two arrays of four f64."""


def kernel(count: int, action: Callable[..., None]) -> Any:
    """A C function of so many addresses."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(action)


def direct(code: Any, arrays: Any, *, order: Any = None, apart: Any = ()) -> Any:
    address = ctypes.cast(code, ctypes.c_void_p).value or 0
    order = range(len(arrays)) if order is None else order
    return direct_call(address, arrays, tuple(order), apart, UNSET)


class Recorded:
    """Calls of a kernel of two arrays."""

    def __init__(self, first: np.ndarray, second: np.ndarray, apart: Any = ()) -> None:
        self.seen: list[tuple[int, ...]] = []
        self.code = kernel(2, lambda *places: self.seen.append(places))
        self.call = direct(self.code, [first, second], apart=apart)

    def runs(self, *arguments: Any) -> bool:
        """Whether the kernel ran, on these arrays."""
        before = len(self.seen)
        result = self.call(*arguments)
        if result is NotImplemented:
            assert len(self.seen) == before
            return False
        assert result is None
        assert self.seen[before:] == [tuple(a.ctypes.data for a in arguments)]
        return True


A, B = np.zeros((3, 4)), np.zeros(5, "i4")


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


class Named(np.ndarray):
    """An array of another type."""


OTHERS: dict[str, tuple[Any, ...]] = {
    "none": (),
    "one": (A,),
    "three": (A, B, B),
    "in another order": (B, A),
    "another type of elements": (A.astype("i8"), B),
    "another order of bytes": (A.astype(">f8"), B),
    "another extent": (np.zeros((3, 5))[:, :5], B),
    "another first extent": (np.zeros((2, 4)), B),
    "another rank": (np.zeros((3, 4, 1)), B),
    "no rank": (np.zeros(()), B),
    "another stride": (np.zeros((3, 8))[:, ::2], B),
    "a transpose": (np.zeros((4, 3)).T, B),
    "backwards": (A, np.zeros(5, "i4")[::-1]),
    "read-only": (read_only(A), B),
    "a subclass": (A.view(Named), B),
    "a list": (A, [1, 2, 3, 4, 5]),
    "nothing": (A, None),
}


def test_arrays_that_are_alike_run():
    recorded = Recorded(A, B)
    assert recorded.runs(A, B)
    assert recorded.runs(np.ones((5, 4))[1:4], np.ones(9, "i4")[2:7])


@pytest.mark.cases("arguments", OTHERS.values(), ids=OTHERS)
def test_other_arguments_do_not(arguments: tuple[Any, ...]):
    assert not Recorded(A, B).runs(*arguments)


FORMS = {
    "no rank": np.zeros(()),
    "empty": np.zeros((0, 3)),
    "backwards": np.zeros(8)[::-2],
    "broadcast": np.broadcast_to(np.zeros(3), (2, 3)),
    "of records": np.zeros(3, [("x", "f4"), ("y", "i8")]),
}


@pytest.mark.cases("array", FORMS.values(), ids=FORMS)
def test_any_array_is_like_itself(array: np.ndarray):
    recorded = Recorded(array, B)
    assert recorded.runs(array, B)
    assert not recorded.runs(B, B)


def test_arrays_that_overlap_do_not_run():
    row = np.zeros(12)
    recorded = Recorded(row[:4], row[4:8], apart=[OVERLAP])
    places = [(0, 4), (4, 0), (8, 2)]
    assert all(recorded.runs(row[a : a + 4], row[b : b + 4]) for a, b in places)
    for a, b in [(0, 0), (0, 3), (3, 0), (5, 8)]:
        assert not recorded.runs(row[a : a + 4], row[b : b + 4])


def test_a_variable_of_the_environment_stops_all(monkeypatch: pytest.MonkeyPatch):
    recorded = Recorded(A, B)
    monkeypatch.setenv(UNSET.value.decode(), "")
    assert not recorded.runs(A, B)
    monkeypatch.delenv(UNSET.value.decode())
    assert recorded.runs(A, B)


@pytest.mark.cases("count", range(1, MOST_ARRAYS + 1))
def test_a_kernel_gets_its_arguments_in_order(count: int):
    arrays = [np.zeros(n + 1) for n in range(count)]
    order = [*range(count)][::-1]
    seen: list[int] = []
    code = kernel(count, lambda *places: seen.extend(places))
    direct(code, arrays, order=order)(*arrays)
    assert seen == [arrays[n].ctypes.data for n in order]


def test_more_arguments_than_the_kernel_takes():
    arrays = [np.zeros(n) for n in range(3 * MOST_ARRAYS)]
    seen: list[int] = []
    code = kernel(1, seen.append)
    direct(code, arrays, order=[17])(*arrays)
    assert seen == [arrays[17].ctypes.data]
    assert direct(code, arrays) is None


@pytest.mark.slow
def test_nothing_is_kept_or_lost():
    recorded = Recorded(A, B, apart=[OVERLAP])
    held = A, B, A.dtype, None, NotImplemented
    recorded.runs(A, B)
    gc.collect()  # what others have left refers to None and to types, too
    before = [*map(sys.getrefcount, held)]
    for _ in range(1000):
        recorded.call(A, B)
        recorded.call(B, A)
    recorded.seen.clear()
    gc.collect()
    after = map(sys.getrefcount, held)
    assert all(abs(n - m) < 500 for n, m in zip(after, before, strict=True))


def test_other_threads_run_while_a_kernel_does(request: pytest.FixtureRequest):
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1000)  # nobody runs whom the kernel does not let
    begun = threading.Event()
    seen: list[bool] = []

    def other() -> None:
        begun.wait()
        seen.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    duration, rest = np.array([0, 300_000_000]), np.zeros(2, "i8")
    sleep = direct(ctypes.CDLL(None).nanosleep, [duration, rest])
    begun.set()
    sleep(duration, rest)
    assert seen
    thread.join()


def test_code_for_other_objects_is_other_code(monkeypatch: pytest.MonkeyPatch):
    keys: list[str] = []

    def get(_: Store, key: str) -> bytes:
        keys.append(key)
        return b""

    monkeypatch.setattr(Store, "get", get)
    monkeypatch.setattr(machine_code, "address_in", lambda _: 1)
    method = calls._method.__wrapped__
    method()
    monkeypatch.setattr(direct_layout, "OBJECTS", (*direct_layout.OBJECTS[:-1], 72))
    method()
    method()
    assert len(keys) == 3
    assert len(set(keys)) == 2
