from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.calls import repeated
from gpucodegen.calls.direct import only_launch
from gpucodegen.calls.signature import Signature

TEXT = """
func.func @axpy(%x: memref<?xf32>, %y: memref<?xf32>, %a: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = affine.load %y[%i] : memref<?xf32>
    %av = arith.mulf %a, %v : f32
    %s = arith.addf %w, %av : f32
    affine.store %s, %y[%i] : memref<?xf32>
  }
  return
}
func.func @subtract(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = affine.load %y[%i] : memref<?xf32>
    %d = arith.subf %w, %v : f32
    affine.store %d, %y[%i] : memref<?xf32>
  }
  return
}
func.func @plus(%x: memref<?xf32>, %y: memref<?xf32>)
    -> (memref<8xf32>, memref<8xf32>) {
  %sum = memref.alloc() : memref<8xf32>
  %difference = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = affine.load %y[%i] : memref<?xf32>
    %s = arith.addf %v, %w : f32
    %d = arith.subf %v, %w : f32
    affine.store %s, %sum[%i] : memref<8xf32>
    affine.store %d, %difference[%i] : memref<8xf32>
  }
  return %sum, %difference : memref<8xf32>, memref<8xf32>
}
func.func @same(%x: memref<4xi32>, %n: i8) -> (memref<4xi32>, i8) {
  return %x, %n : memref<4xi32>, i8
}
"""


@pytest.fixture
def program() -> gcg.Program:
    return gcg.compile(TEXT, target="cpu")


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each call that was checked in full."""
    calls: list[int] = []
    convert = Signature.convert

    def counted(self: Signature, arguments: Any, written: Any = ()) -> Any:
        calls.append(len(arguments))
        return convert(self, arguments, written)

    monkeypatch.setattr(Signature, "convert", counted)
    return calls


def arrays(n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n, dtype=np.float32), np.ones(n, np.float32)


def test_calls_of_one_form_are_checked_once(
    program: gcg.Program, converted: list[int]
) -> None:
    program.axpy(*arrays(), 2.0)
    full = len(converted)
    for a in (1.0, 3.0):
        x, y = arrays()
        program.axpy(x, y, a)
        np.testing.assert_array_equal(y, 1 + np.float32(a) * x)
    assert len(converted) == full


def test_another_extent_or_stride_is_another_form(program: gcg.Program) -> None:
    program.axpy(*arrays(8), 2.0)
    x, y = arrays(5)
    program.axpy(x, y, 2.0)
    np.testing.assert_array_equal(y, 1 + 2 * x)
    with pytest.raises(errors.WrongStride):
        program.axpy(np.zeros(16, np.float32)[::2], y, 2.0)
    with pytest.raises(errors.WrongDtype):
        program.axpy(x.astype(np.float64), y, 2.0)


def test_overlap_is_refused_every_time(program: gcg.Program) -> None:
    x, y = arrays()
    program.axpy(x, y, 1.0)
    both = np.zeros(12, np.float32)
    for _ in range(2):
        with pytest.raises(errors.OverlappingArguments):
            program.axpy(both[:8], both[4:], 1.0)
    program.axpy(both[:6], both[6:], 1.0)


def test_overlap_that_is_trusted_stays_trusted() -> None:
    program = gcg.compile(TEXT, target="cpu", alias="trust")
    x = np.ones(8, np.float32)
    for _ in range(2):
        program.axpy(x, x, 1.0)
    np.testing.assert_array_equal(x, 4)


def test_a_read_only_array_is_another_form(program: gcg.Program) -> None:
    x, y = arrays()
    program.axpy(x, y, 1.0)
    x.flags.writeable = False
    program.axpy(x, y, 1.0)
    program.axpy(x, y, 1.0)
    np.testing.assert_array_equal(y, 1 + 3 * x)
    y.flags.writeable = False
    with pytest.raises(errors.ReadOnlyArgument):
        program.axpy(x, y, 1.0)


def test_calls_of_one_launch_make_no_buffers(
    program: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = arrays()
    program.subtract(x, y)
    monkeypatch.setattr(repeated, "Buffer", None)
    program.subtract(x, y)
    np.testing.assert_array_equal(y, 1 - 2 * x)


def test_new_results_of_one_launch_make_no_buffers(
    program: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = arrays()
    calls = [lambda: program.plus(x, y), program.plus.bind(x, y)]
    held = [program.plus(x, y)]
    monkeypatch.setattr(repeated, "Buffer", None)
    for call in calls * 3:
        held.append(call())
        x += 1
    for n, (total, difference) in enumerate(held):
        before = np.arange(8, dtype=np.float32) + max(n - 1, 0)
        np.testing.assert_array_equal(total, before + y)
        np.testing.assert_array_equal(difference, before - y)


@pytest.fixture
def direct(program: gcg.Program) -> gcg.Program:
    """The same after calls that were repeated, so that machine code checks the next."""
    x, y = arrays()
    for _ in range(3):
        program.subtract(x, y)
    assert repeated.unlike is not program["subtract"]._direct
    return program


def test_calls_that_machine_code_checks(
    direct: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpucodegen.program.form_of", None)
    x, y = arrays()
    direct.subtract(x, y)
    np.testing.assert_array_equal(y, 1 - x)


def test_machine_code_sees_what_differs(direct: gcg.Program) -> None:
    x, y = arrays(5)
    direct.subtract(x, y)
    np.testing.assert_array_equal(y, 1 - x)
    both = np.zeros(12, np.float32)
    with pytest.raises(errors.OverlappingArguments):
        direct.subtract(both[:8], both[4:])
    with pytest.raises(errors.WrongDtype):
        direct.subtract(*(a.astype(np.float64) for a in arrays()))
    with pytest.raises(errors.ReadOnlyArgument):
        direct.subtract(np.ones(8, "f4"), np.broadcast_to(np.ones(8, "f4"), (8,)))
    with pytest.raises(errors.WrongArgumentCount):
        direct.subtract(*arrays(), 1)


def test_machine_code_leaves_other_targets_alone(
    direct: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCODEGEN_TARGET", "sim")
    direct.subtract(*arrays())
    assert direct["subtract"].executable().target == "sim"
    monkeypatch.delenv("GPUCODEGEN_TARGET")
    direct.subtract(*arrays())
    assert direct["subtract"].executable().target == "cpu"


def test_forms_by_turns(program: gcg.Program) -> None:
    for n in (8, 5, 5, 5, 8, 8, 8, 5):
        x, y = arrays(n)
        program.subtract(x, y)
        np.testing.assert_array_equal(y, 1 - x)


def _alone(rt: Any, a: Any, shape: tuple[int, ...]) -> Any:
    b = rt.alloc(shape, "f32")
    rt.launch("k", 1, 1, (a, b))
    return b


def _swapped(rt: Any, a: Any) -> Any:
    b, c = rt.alloc((2,), "f32"), rt.alloc((2,), "f32")
    rt.launch("k", 1, 1, (a, b, c))
    return c, b


HOSTS: dict[str, Callable[[Any, Any], Any]] = {
    "a constant": lambda rt, a: rt.launch("k", None, None, (a, 1)),
    "a result": lambda rt, a: rt.launch("k", None, None, (a,)) or a,
    "two": lambda rt, a: rt.launch("k", 1, 1, (a,)) or rt.launch("k", 1, 1, (a,)),
    "a comparison": lambda rt, a: rt.launch("k", 1, 1, (a,)) if a == 0 else None,
    "a condition": lambda rt, a: rt.launch("k", 1, 1, (a,)) if a else None,
    "memory of its own": lambda rt, a: rt.launch("k", 1, 1, (a, rt.alloc((), "f32"))),
    "results in another order": _swapped,
    "memory that does not exist": lambda rt, a: _alone(rt, a, (-1,)),
    "memory behind the launch": lambda rt, a: (
        rt.launch("k", 1, 1, (a,)) or rt.alloc((2,), "f32")
    ),
    "none": lambda _rt, _a: None,
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_other_calls_are_no_single_launch(host: Callable[[Any, Any], Any]) -> None:
    assert only_launch(host, 1) is None


def test_numbers_are_checked_every_time(program: gcg.Program) -> None:
    x = np.arange(4, dtype=np.int32)
    for _ in range(2):
        given, number = program.same(x, 255)
        assert given is x
        assert number == -1
    with pytest.raises(errors.WrongArgumentType, match="i8"):
        program.same(x, 256)
    with pytest.raises(errors.WrongArgumentType):
        program.same(x, "a")


@pytest.mark.parametrize("number", [0.1, 16777217.0, 1e-46, 1e39, -1e39, float("nan")])
def test_numbers_are_rounded_as_arrays_are(program: gcg.Program, number: float) -> None:
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    program.axpy(x, y, number)
    with np.errstate(all="ignore"):
        rounded = np.full(8, number).astype(np.float32)
    np.testing.assert_array_equal(y, rounded)


def test_the_last_specialisation_is_that_of_the_last_call(
    program: gcg.Program,
) -> None:
    program.axpy(*arrays(8), 2.0)
    first = program["axpy"].executable()
    program.axpy(*arrays(5), 2.0)
    program.axpy(*arrays(8), 2.0)
    assert program["axpy"].executable() is first


def test_the_target_of_the_environment_counts(
    program: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.axpy(*arrays(), 2.0)
    monkeypatch.setenv("GPUCODEGEN_TARGET", "sim")
    program.axpy(*arrays(), 2.0)
    assert program["axpy"].executable().target == "sim"


def test_forms_are_bounded(
    program: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpucodegen.program.MAX_FORMS", 2)
    for n in range(1, 6):
        x, y = arrays(n)
        program.axpy(x, y, 2.0)
        np.testing.assert_array_equal(y, 1 + 2 * x)
    assert len(program["axpy"]._checked) <= 2


@pytest.mark.parametrize(
    "array",
    [np.zeros((3, 4)), np.zeros((3, 4)).T, np.zeros(0), np.zeros(8)[::-2]],
    ids=["plain", "transposed", "empty", "backwards"],
)
def test_addresses(array: np.ndarray) -> None:
    assert repeated.address(array) == array.ctypes.data
    array.flags.writeable = False
    assert repeated.address(array) == array.ctypes.data
