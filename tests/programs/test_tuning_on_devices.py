"""Schedules timed on arrays of a device, which NumPy cannot read where they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime.devices import emulated_cupy
from gpucodegen.tiling.tuning.search import Status
from gpucodegen.tuning import clocks
from gpucodegen.tuning.arguments import copied
from gpucodegen.tuning.clocks import SHORTEST, DeviceClock
from gpucodegen.tuning.paired_benchmark import PairedBenchmark, difference

PRODUCT = """
func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>)
                outs(%c : memref<64x64xf32>)
  return
}"""


def arrays() -> list[Any]:
    given = np.random.default_rng(0).standard_normal((3, 64, 64)).astype("f4")
    return list(map(emulated_cupy.asarray, given))


@pytest.mark.slow
def test_another_schedule_is_compared_with_the_default() -> None:
    program = gcg.compile(PRODUCT, target="sim")
    contest = PairedBenchmark.of(program, "f", arrays())
    points: list[dict[str, int]] = [{}, {"product.tile_rows": 32}]
    trials = [contest.trial(point) for point in points]
    assert [(t.status, t.reason) for t in trials] == [(Status.OK, "")] * 2


@pytest.mark.slow
def test_one_that_leaves_other_numbers_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def spoilt(*given: Any) -> None:
        given[2][...] = given[0]

    def compiled(contest: PairedBenchmark, point: Any) -> Any:
        del contest, point
        return spoilt

    contest = PairedBenchmark.of(gcg.compile(PRODUCT, target="sim"), "f", arrays())
    assert contest.trial({}).status is Status.OK
    monkeypatch.setattr(PairedBenchmark, "_compiled", compiled)
    assert contest.trial({"product.tile_rows": 32}).status is Status.WRONG


def test_copies_lie_by_columns_where_the_arguments_do() -> None:
    given = np.arange(12, dtype="f4").reshape(3, 4)
    columns = copied(emulated_cupy.asarray(given).T)
    assert columns.strides == (4, 16)
    np.testing.assert_array_equal(columns.get(), given.T)


def test_arrays_of_a_device_are_compared() -> None:
    (f32,) = gcg.compile(PRODUCT, target="sim").f.view.type.inputs[:1]
    ones = np.ones((64, 64), "f4")
    other = ones.copy()
    other[3, 5] = 2
    one, two = [emulated_cupy.asarray(ones)], [emulated_cupy.asarray(other)]
    assert difference(one, two, [f32]) == "value 0 is 1.0 at [3, 5], not 2.0"
    assert difference(one, one, [f32]) == ""


class Device:
    """What `DeviceClock` needs of CuPy; keeps what is asked of the device, in order."""

    def __init__(self) -> None:
        self.queue: list[object] = []
        self.cuda = self

    def RawKernel(self, text: str, name: str) -> Any:  # noqa: N802
        assert f"void {name}(" in text

        def hold(grid: Any, block: Any, given: Any) -> None:
            assert grid == block == (1,)
            self.queue.append(given[0] / 1e9)

        return hold

    def Event(self) -> Any:  # noqa: N802
        device = self

        class Event:
            def record(self) -> None:
                device.queue.append(self)

            def synchronize(self) -> None:
                pass

        return Event()

    def get_elapsed_time(self, start: Any, end: Any) -> float:
        """Milliseconds, one for each thing that is asked between two events."""
        return self.queue.index(end) - self.queue.index(start) - 1.0


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of the host: ``now`` is what it shows."""
    host = SimpleNamespace(now=0.0)
    host.perf_counter = lambda: host.now
    monkeypatch.setattr(clocks, "time", host)
    return host


def test_the_device_waits_until_the_host_has_asked_for_all(
    host: SimpleNamespace,
) -> None:
    device = Device()
    clock = DeviceClock(device)

    def calls() -> None:
        host.now += 2e-3
        device.queue += ["kernel"] * 3

    assert clock(calls) == pytest.approx(3e-3)
    first, *_, last = (one for one in device.queue if isinstance(one, float))
    assert first == pytest.approx(SHORTEST)
    assert last == pytest.approx(4e-3)
    before = len(device.queue)
    assert clock(calls) == pytest.approx(3e-3)
    assert isinstance(device.queue[before], float)


def test_calls_that_wait_for_the_device_are_timed_as_they_are(
    host: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "LONGEST", 1e-3)
    device = Device()

    def call() -> None:
        host.now += 2e-3

    assert DeviceClock(device)(call) == 0
    assert len(device.queue) < 30
