"""A target from outside: a record, a table and an engine, all of them public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import cli, errors
from gpucodegen.compiling import targets
from gpucodegen.compiling.targets import Target, find, names
from gpucodegen.emit import CPU, CUDA, Emission
from gpucodegen.emit.context import Emitter
from gpucodegen.ir.operation import Operation
from gpucodegen.options import Options
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.runtime.cuda.engine import CudaEngine
from gpucodegen.runtime.devices.choice import EMULATED
from gpucodegen.runtime.host.engines import Launcher
from gpucodegen.runtime.host.spec import KernelSpec

TWO_KERNELS = """
func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %v = affine.load %x[%i] : memref<8xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %y[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 7 {
    %v = affine.load %y[%i + 1] : memref<8xf32>
    affine.store %v, %x[%i] : memref<8xf32>
  }
  return
}
"""
LAUNCHES: Counter[str] = Counter()


class CountingEngine(CudaEngine):
    """CUDA's, with each launch counted."""

    def launcher(self, spec: KernelSpec) -> Launcher:
        start = super().launcher(spec)

        def launch(grid: object, block: object, args: tuple[object, ...]) -> None:
            LAUNCHES[spec.name] += 1
            start(grid, block, args)

        return launch


def traced(target: str = "traced", version: str = "1") -> Target:
    """CUDA on the emulated device, each store noted, each launch counted."""

    def passes(options: Options) -> Sequence[ModulePass]:
        del options
        return [MapGpu()]

    def store(e: Emitter, op: Operation) -> None:
        e.writer.line(f"# {op.name}, version {version}")
        CUDA.handlers["affine.store"](e, op)

    def emission() -> Emission:
        spelling = replace(CUDA.spelling, name=target)
        return Emission(spelling, {**CUDA.handlers, "affine.store": store})

    return Target(
        target,
        passes,
        emission,
        engine=lambda: CountingEngine(EMULATED),
        assembly=lambda spec: spec.source,
        runs_launches=True,
        has_own_memory=True,
        version=version,
    )


@pytest.fixture
def registered() -> Iterator[Target]:
    LAUNCHES.clear()
    target = traced()
    targets.register(target)
    yield target
    targets.unregister("traced")


def run(function: gcg.program.Function) -> None:
    x, y = np.arange(8, dtype="f4"), np.zeros(8, "f4")
    function(x, y)
    assert y.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert x.tolist() == [2, 4, 6, 8, 10, 12, 14, 7]


@pytest.mark.usefixtures("registered")
def test_a_program_of_two_kernels_runs_on_a_target_from_outside() -> None:
    program = gcg.compile(TWO_KERNELS, target="traced")
    run(program.f)
    assert list(LAUNCHES.values()) == [1, 1]
    run(program.f)
    assert list(LAUNCHES.values()) == [2, 2]
    assert program.source("f").count("# affine.store, version 1 ") >= 2
    last = [name for name, _ in program.stages("f")][-3:]
    assert last == ["map-gpu", "check-size", "verify-kernels"]
    assert list(program.assembly("f")) == list(LAUNCHES)


def test_a_new_version_is_compiled_anew(registered: Target) -> None:
    run(gcg.compile(TWO_KERNELS, target="traced").f)
    targets.unregister(registered.name)
    targets.register(traced(version="2"))
    program = gcg.compile(TWO_KERNELS, target="traced")
    run(program.f)
    assert "version 2" in program.source("f")


def close_to_the_cpu(version: str) -> Target:
    """The CPU, with a comment at the end of a kernel."""

    def leave(e: Emitter, op: Operation) -> None:
        del op
        e.writer.line(f"# version {version}")

    def emission() -> Emission:
        return replace(CPU, handlers={**CPU.handlers, "func.return": leave})

    return replace(find("cpu"), name="near", emission=emission, version=version)


def test_repeated_calls_and_later_processes_take_the_version_that_is_there() -> None:
    for version in "12":
        targets.register(close_to_the_cpu(version))
        for _ in range(2):
            program = gcg.compile(TWO_KERNELS, target="near")
            run(program.f)
            run(program.f)
            assert f"# version {version}" in program.source("f")
        targets.unregister("near")


@pytest.mark.usefixtures("registered")
def test_the_variable_and_the_commands_know_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "two.mlir"
    path.write_text(TWO_KERNELS)
    assert cli.main(["emit", str(path), "--target", "traced"]) == 0
    assert "# affine.store" in capsys.readouterr().out
    assert cli.main(["explain", str(path), "--target", "traced"]) == 0
    assert "traced" in capsys.readouterr().out
    assert cli.main(["doctor"]) == 0
    assert "targets     cpu" in capsys.readouterr().out
    monkeypatch.setenv("GPUCODEGEN_TARGET", "traced")
    run(gcg.compile(TWO_KERNELS, target="sim").f)
    assert list(LAUNCHES.values()) == [1, 1]


@pytest.mark.usefixtures("registered")
def test_a_name_is_taken_once() -> None:
    for taken in ("traced", "cpu", "auto"):
        with pytest.raises(errors.TargetExists, match=f"target '{taken}' exists"):
            targets.register(traced(taken))
    assert names() == ("cpu", "cuda", "interp", "sim", "traced")


def test_what_was_unregistered_is_unknown() -> None:
    targets.register(traced())
    program = gcg.compile(TWO_KERNELS, target="traced")
    targets.unregister("traced")
    with pytest.raises(
        errors.UnknownTarget, match="Use one of cpu, cuda, interp, sim, auto"
    ):
        gcg.compile(TWO_KERNELS, target="traced")
    with pytest.raises(errors.UnknownTarget):
        run(program.f)
    with pytest.raises(errors.UnknownTarget):
        targets.unregister("traced")


def test_the_registry_is_light() -> None:
    code = """
import sys
import gpucodegen.compiling.targets
heavy = {"numpy", "numba", "islpy", "gpucodegen.passes", "gpucodegen.emit"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.cases("name", names())
def test_a_record_is_complete(name: str) -> None:
    target = find(name)
    if target.interprets:
        with pytest.raises(errors.NothingCompiled):
            target.emission()
        return
    assert target.passes(Options())
    assert target.runs_launches == target.emission().spelling.in_blocks


@pytest.mark.slow
def test_no_code_compares_with_the_name_of_a_target() -> None:
    package = Path(gcg.__file__).parent
    texts = {path: path.read_text("utf-8") for path in package.rglob("*.py")}
    found = [
        f"{path}:{node.lineno}"
        for path, text in texts.items()
        if any(name in text for name in names())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        for part in ast.walk(side)
        if isinstance(part, ast.Constant) and part.value in names()
    ]
    assert found == []


@pytest.mark.parametrize(
    ("given", "proposed"),
    [
        ({"target": "gpu"}, "cuda"),
        ({"target": "simulator"}, "sim"),
        ({"fastmath": True}, "reassociate"),
        ({"num_threads": 2}, "threads"),
    ],
)
def test_words_of_other_compilers_are_understood(
    given: dict[str, object], proposed: str
):
    with pytest.raises(errors.CompileError, match=f"Did you mean '{proposed}'"):
        gcg.compile("func.func @f() { return }", **given)  # type: ignore[arg-type]


def test_the_command_line_proposes_the_nearest_command(
    capsys: pytest.CaptureFixture[str],
):
    with pytest.raises(SystemExit):
        cli.main(["emitt", "a.mlir"])
    assert "Did you mean 'emit'?" in capsys.readouterr().err
