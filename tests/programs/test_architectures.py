"""The architecture of kernels: stated, or that of the device of a call."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS
from gpucodegen import errors
from gpucodegen.calls.function import Function
from gpucodegen.cli import main
from gpucodegen.compiling.targets import find
from gpucodegen.compiling.tuned_schedules import Scope, tuning_identity
from gpucodegen.export.files import write
from gpucodegen.options import Options
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.runtime.cuda.compilation import compile_cubin
from gpucodegen.runtime.devices import emulated_cupy as xp
from gpucodegen.runtime.devices import inventory
from gpucodegen.runtime.devices.emulated_device import EmulatedDevice
from gpucodegen.runtime.devices.inventory import Gpu

HALVES = """func.func @f(%a: memref<64x1024xf16>, %b: memref<1024x64xf16>,
    %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x1024xf16>, memref<1024x64xf16>)
                outs(%c : memref<64x64xf32>)
  return
}"""
SMALL = {"product.consumers": 1, "product.tile_columns": 64}
RNG = np.random.default_rng(5)


def factors() -> tuple[Any, Any, Any]:
    a, b = (RNG.integers(-4, 4, s).astype("f2") for s in ((64, 1024), (1024, 64)))
    return a, b, np.zeros((64, 64), "f4")


def compiled(**options: Any) -> Function:
    return gcg.compile(HALVES, target="cuda", verify=False, **options)["f"]


def is_specific(function: Function) -> bool:
    return any(spec.specific for spec in function.executable().kernels)


@pytest.mark.slow
def test_it_may_be_stated() -> None:
    function = compiled(arch="sm_90a")
    a, b, c = factors()
    function(a, b, c)
    np.testing.assert_array_equal(c, a.astype("f8") @ b)
    assert is_specific(function)
    other = compiled(arch="sm_80")
    other(a, b, c)
    assert not is_specific(other)


def test_what_is_unknown_or_launches_nothing() -> None:
    with pytest.raises(errors.InvalidOption, match="sm_90a"):
        compiled(arch="sm_91")
    assert find("cpu").settled(Options(arch="sm_90a")).arch == ""
    with pytest.raises(errors.InvalidPassOption, match="sm_90a"):
        run_pipeline(gcg.parse(HALVES), [MapGpu(arch="foo")])


@pytest.mark.slow
def test_it_is_that_of_the_device_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments that travel go to the current device, which may be another one."""
    function = compiled()
    a, b, c = factors()
    function(a, b, c)
    assert not is_specific(function)
    gpu = Gpu("H100", (9, 0), 80 << 30, 132)
    with monkeypatch.context() as here:
        here.setattr(inventory, "current_gpu", lambda: gpu)
        function(a, b, c)
        assert is_specific(function)
    function(a, b, c)
    assert not is_specific(function)
    assert len(function.specializations.made) == 2
    np.testing.assert_array_equal(c, 3 * (a.astype("f8") @ b))


@pytest.mark.slow
def test_arrays_of_a_device_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = tuple(map(xp.asarray, factors()))
    monkeypatch.setattr(EmulatedDevice, "architecture", "sm_90a")
    function = compiled()
    function(*arguments)
    assert is_specific(function)


@pytest.mark.slow
def test_a_kernel_of_another_architecture_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(EmulatedDevice, "architecture", "sm_80")
    with pytest.raises(errors.LaunchFailed, match=r"sm_90a alone .* sm_80"):
        compiled(plan=SMALL)(*factors())


def test_it_is_part_of_every_key() -> None:
    keys = set[str]()
    for arch in ("", "sm_80", "sm_90", "sm_90a"):
        function = compiled(arch=arch)
        key = function.key_for(factors())
        for scope in (Scope(), Scope("exact", "sm_90a")):
            given = function.source, "f", key, function.options, scope
            keys.add(tuning_identity(*given))
    assert len(keys) == 8


@pytest.mark.slow
def test_calls_with_tensor_maps_are_plans_and_graphs() -> None:
    """Maps are of arguments; other arrays get others, a bound call keeps its own."""
    function = compiled(plan=SMALL)
    for _ in range(2):
        a, b, c = factors()
        given = tuple(map(xp.asarray, (a, b, c)))
        function(*given)
        function.bind(*given)()
        function.bind(*given, graph=True)()
        np.testing.assert_array_equal(given[2].get(), 3 * (a.astype("f8") @ b))
    launch = function.executable().artifact.launch
    assert launch is not None
    assert [argument for argument, *_ in launch.maps] == [0, 1, 2]


@pytest.mark.slow
def test_files_say_what_they_are_for(tmp_path: Any) -> None:
    for arch, written in (("", "sm_90"), ("sm_90a", "sm_90a")):
        folder = tmp_path / (arch or "any")
        write(
            folder, "f", compiled(arch=arch), tuple(map(xp.asarray, factors())), "ptx"
        )
        text = (folder / "f.json").read_text("utf-8")
        assert f'"architecture": "{written}"' in text


FULL_SUM = """
func.func @total(%terms: memref<16777216xf32>, %sum: memref<f32>) {
  affine.for %i = 0 to 16777216 {
    %now = affine.load %sum[] : memref<f32>
    %term = affine.load %terms[%i] : memref<16777216xf32>
    %next = arith.addf %now, %term fastmath<reassoc> : f32
    affine.store %next, %sum[] : memref<f32>
  }
  return
}"""


def test_sums_are_cut_for_it() -> None:
    """An A100 and an H100 differ in multiprocessors and memory; so do their parts."""
    mapped = {
        arch: run_pipeline(gcg.parse(FULL_SUM), [MapGpu(arch=arch)])
        for arch in ("", "sm_80", "sm_90")
    }
    assert str(mapped[""]) == str(mapped["sm_90"]) != str(mapped["sm_80"])


EVERY = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120")


def targets(function: Function) -> set[str]:
    """The architectures that the PTX of a function's kernels names."""
    texts = function.executable().assembly().values()
    return {m for t in texts for m in re.findall(r"^\.target (\w+)", t, re.MULTILINE)}


@pytest.mark.slow
def test_ptx_names_the_stated_architecture(tmp_path: Path) -> None:
    for arch in ("sm_80", "sm_90a", "sm_120"):
        function = compiled(arch=arch)
        assert targets(function) == {arch}
        write(tmp_path / arch, "f", function, factors(), "ptx")
        told = json.loads((tmp_path / arch / "f.json").read_text())
        assert told["architecture"] == arch
        assert f".target {arch}\n" in (tmp_path / arch / "f_k0.ptx").read_text()
    program = gcg.compile(HALVES, target="cuda", arch="sm_80")
    program.export(tmp_path / "exported")
    assert "(sm_80)" in (tmp_path / "exported" / "README.md").read_text()


SCALED = """func.func @f(%a: memref<64xf32>) {
  affine.for %i = 0 to 64 {
    %x = affine.load %a[%i] : memref<64xf32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %a[%i] : memref<64xf32>
  }
  return
}"""


def test_the_emulated_device_runs_the_stated_ptx() -> None:
    for arch in ("sm_80", "sm_120"):
        function, a = (
            gcg.compile(SCALED, target="sim", arch=arch)["f"],
            np.ones(64, "f4"),
        )
        function(a)
        assert (a == 2).all()
        assert targets(function) == {arch}


def test_commands_take_an_architecture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "scaled.mlir")
    Path(path).write_text(SCALED)
    assert main(["emit", path, "--target", "cuda", "--arch", "sm_86"]) == 0
    assert "for sm_86" in capsys.readouterr().out
    words = ["export", path, "--target", "cuda", "--ptx", "--arch", "sm_86"]
    assert main([*words, "-o", str(tmp_path / "out")]) == 0
    assert ".target sm_86" in (tmp_path / "out" / "f_k0.ptx").read_text()
    assert main(["run", path, "--arch", "sm_91"]) == 1
    assert "sm_90a" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.sass
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.CodegenWarning")
@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.drawn(7)
def test_ptxas_assembles_examples_for_every_architecture(name: str) -> None:
    """Each example for every second architecture."""
    program = PROGRAMS[name]
    for arch in EVERY[[*PROGRAMS].index(name) % 2 :: 2]:
        compiled = gcg.compile(program.path, target="cuda", arch=arch, verify=False)
        for spec in compiled[program.entry].executable().kernels:
            assert compile_cubin(spec).code
