"""``python -m bench gpu``: its machinery, on the emulated device, with a stub clock.

No time here is one of a GPU.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.gpu import session
from bench.gpu.device import Target, model_of
from bench.gpu.kernels import KERNELS
from bench.gpu.measuring import GRAPH, Lost, Measured, calibration, check, measure
from bench.gpu.peers import PEERS, GpuPeer
from bench.harness import Times
from bench.row import OURS
from gpucodegen.tiling.machine.gpu.devices import GpuDevice


class Emulated:
    """The emulated device; each call takes a second longer than the one before."""

    target, name, architecture, cache = "sim", "stub", "sm_90a", 1024
    model: GpuDevice | None = model_of("H200", "sm_90a")

    def __init__(self) -> None:
        self.seconds = count(1)

    def put(self, value: Any) -> Any:
        return value

    def get(self, value: Any) -> Any:
        return value

    def clock(self, call: Callable[[], object]) -> float:
        call()
        return float(next(self.seconds))

    def facts(self) -> dict[str, str]:
        return {"device": "stub"}


@pytest.fixture
def device() -> Target:
    return Emulated()


@pytest.mark.drawn(9)
@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_right(name: str, device: Target) -> None:
    check(device, KERNELS[name], KERNELS[name].small)


def test_every_peer_has_a_kernel_and_every_kernel_known_peers() -> None:
    assert {name for kernel in KERNELS.values() for name in kernel.peers} == set(PEERS)


@pytest.mark.slow
def test_contenders_take_turns_on_sets_beyond_the_cache(
    device: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def copying(x: Any, _: Any) -> Callable[[], object]:
        return lambda: calls.append(id(x))

    monkeypatch.setitem(PEERS, "CuPy copy", GpuPeer("numpy", copying))
    monkeypatch.setitem(PEERS, "copy", GpuPeer("no_such_package", copying))
    size = {"M": 2, "N": 40}
    row = measure(device, KERNELS["copy"], size, budget=0)
    assert set(row.seconds) - {GRAPH} == {OURS, "CuPy copy"}
    assert row.left_out["copy"] == "no_such_package is not installed"
    sets = -(-2 * device.cache // (2 * 2 * 40 * 4))
    assert len(set(calls)) == sets
    assert row.seconds[OURS].best < row.seconds["CuPy copy"].best
    assert row.estimate is not None
    assert row.estimate > 0


def never(*_: object) -> Mapping[int, Any]:
    return {1: np.ones((33, 70))}


@pytest.mark.slow
def test_a_failing_row_stops_nothing(
    device: Target,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = {
        name: replace(KERNELS[name], large=KERNELS[name].small)
        for name in ("relu f32", "relu f16")
    }
    wrong = replace(small["relu f32"], answer=never)
    peer = GpuPeer("no_such_package", lambda *_: list)
    monkeypatch.setitem(PEERS, "CuPy relu", peer)
    monkeypatch.setattr(session, "KERNELS", {**small, "relu f32": wrong})
    assert session.measured(device, "relu", 0, tmp_path) == 1
    shown = capsys.readouterr().out
    assert "relu f32              FAILED: " in shown
    (path,) = tmp_path.glob("stub-*.json")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert [("seconds" in row, "reason" in row) for row in kept["rows"]] == [
        (False, True),
        (True, False),
    ]
    assert kept["calibration"]["stream"]["rows"] == 1
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert "| relu f32 | failed: " in page
    assert "CuPy relu: no_such_package is not installed" in page


def test_ratios_of_times_and_estimates_are_medians_by_kind() -> None:
    def row(kind: str, seconds: float, estimate: float | None) -> Measured:
        times = {OURS: Times(seconds, seconds)}
        return Measured("k", kind, 0, 0, times, estimate)

    rows = [row("a", 2, 1), row("a", 3, 1), row("a", 9, 1), row("b", 1, None)]
    assert calibration([*rows, Lost("c", "no memory")]) == {
        "a": {"ratio": 3, "rows": 3}
    }


def test_without_a_gpu_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def missing() -> Target:
        raise ImportError("No module named 'cupy'")

    monkeypatch.setattr(session, "Gpu", missing)
    assert session.run(Namespace(), tmp_path) == 2
    told = capsys.readouterr().err
    assert "No module named 'cupy'" in told
    assert "pip install 'gpucodegen[bench-gpu]'" in told
    assert not list(tmp_path.iterdir())
