"""Which device a target runs on: ``sim`` asks neither the environment nor a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.compiling.targets import find
from gpucodegen.runtime.devices import choice, cupy_device, emulated_device, inventory
from gpucodegen.runtime.devices import emulated_cupy as xp

NEGATED = """
func.func @negated(%a: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    %y = arith.negf %x : f32
    affine.store %y, %a[%i] : memref<8xf32>
  }
  return
}"""


def test_sim_is_cuda_but_for_its_device() -> None:
    cuda, sim = find("cuda"), find("sim")
    assert (sim.passes, sim.emission, sim.assembly) == (
        cuda.passes,
        cuda.emission,
        cuda.assembly,
    )
    assert (sim.runs_launches, sim.has_own_memory) == (True, True)


@pytest.mark.parametrize("kind", ["", *choice.KINDS])
def test_sim_needs_no_variable(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(choice.VARIABLE, kind)
    call = gcg.compile(NEGATED, target="sim").negated
    before = emulated_device.device(0).launches
    here, there = np.ones(8, "f4"), xp.asarray(np.ones(8, "f4"))
    call(here)
    call(there)
    assert here.tolist() == there.get().tolist() == [-1] * 8
    assert emulated_device.device(0).launches == before + 2
    assert "target sim runs on emulated device 0" in inventory.lines(inventory.record())


def test_sim_refuses_arrays_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "device_of", lambda _: cupy_device.device(3))
    arrays = {1: "an array of CuPy"}
    assert choice.serving(arrays) is cupy_device.device(3)
    with pytest.raises(errors.WrongDevice, match="argument 1 lies on GPU 3, not on em"):
        choice.serving(arrays, choice.EMULATED)


def test_sim_runs_on_the_current_emulated_device_or_that_of_the_arguments() -> None:
    call = gcg.compile(NEGATED, target="sim").negated
    with emulated_device.using(1) as second:
        there, before = xp.asarray(np.ones(8, "f4")), second.launches
        call(np.ones(8, "f4"))
    call(there)
    assert second.launches == before + 2
