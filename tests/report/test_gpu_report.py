"""``gpucodegen report``: text, JSON, a page, errors."""

from __future__ import annotations

import json
import re
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest

from examples.catalogue import FOLDER
from gpucodegen import errors, ptx
from gpucodegen.cli import main
from gpucodegen.report.gpu import emulated_counters, machine_code
from gpucodegen.report.gpu import report as reporting
from gpucodegen.report.gpu.example_arguments import made_up
from gpucodegen.report.gpu.report import report
from tests.house.readme import ROOT
from tests.report.key_kernels import PROGRAMS

MATMUL = str(FOLDER / "matmul.mlir")
PAGE = (ROOT / "docs" / "reading-the-report.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
SHOWN = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def without_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reporting, machine_code):
        monkeypatch.setattr(module, "has_assembler", lambda: False)


@pytest.mark.slow
@pytest.mark.figures
@pytest.mark.usefixtures("without_tools")
def test_the_page_shows_what_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    program, *words = COMMANDS[0].split()
    assert program == "gpucodegen"
    assert main(words) == 0
    printed = {line.strip() for line in capsys.readouterr().out.splitlines()}
    for line in "".join(SHOWN).splitlines():
        assert line.strip() in printed


@pytest.mark.slow
@pytest.mark.usefixtures("without_tools")
@pytest.mark.parametrize("command", COMMANDS[1:])
def test_commands_of_the_page(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "examples").symlink_to(FOLDER)
    monkeypatch.chdir(tmp_path)
    words = command.split()[1:]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    if "-o" in words:
        assert (tmp_path / words[words.index("-o") + 1]).read_text(encoding="utf-8")
    else:
        assert "Limited by" in out


@pytest.mark.slow
def test_a_page_stands_alone(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert main(["report", MATMUL, "--sizes", "64", "--html", "-o", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    HTMLParser().feed(text)
    assert "http" not in text
    assert "<script" not in text
    assert "<svg" in text
    assert 'class="bar binding"' in text


@pytest.mark.slow
def test_records_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", MATMUL, "--sizes", "M=64,N=64,K=64", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["version"], found["architecture"]) == (1, "sm_90a")
    (function,) = found["functions"]
    assert function["sizes"] == {"M": 64, "K": 64, "N": 64}
    (kernel,) = function["kernels"]
    assert kernel["execution"]["flops"] == 2 * 64 * 64 * 64
    assert kernel["execution"]["complete"]
    assert {row["array"] for row in kernel["accesses"]} >= {"A", "B", "C"}
    fields = {"launch", "accesses", "loop", "outer_loop", "machine_loop"}
    fields |= {"name", "execution", "limits", "machine_accesses", "figures"}
    assert fields == set(kernel)


@pytest.mark.usefixtures("without_tools")
def test_without_the_extra_it_says_what_is_missing() -> None:
    made = report(PROGRAMS["relu"])
    assert "registers unknown" in made.text()
    assert "gpucodegen[report]" in made.text()
    assert made.functions[0].kernels[0].machine_loop is None


@pytest.mark.slow
@pytest.mark.sass
def test_with_the_extra_it_knows_the_machine_code() -> None:
    text = report(PROGRAMS["f32 32 x 32"]).text()
    assert re.search(r"\d+ registers a thread, spills 0 B stored", text)
    assert re.search(r"FFMA 128 \(\d+%\), LDS 32", text)


@pytest.mark.slow
def test_a_sample_says_what_all_blocks_say(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAMS["relu"].replace("4096", "1024")
    (sampled,) = report(text).functions[0].kernels
    every = partial(emulated_counters.MeasuringDevice, most=1 << 20)
    monkeypatch.setattr(reporting, "MeasuringDevice", every)
    (whole,) = report(text).functions[0].kernels
    assert not sampled.execution.complete
    assert whole.execution.complete
    assert sampled.execution.instructions == whole.execution.instructions
    assert sampled.execution.sectors == whole.execution.sectors
    assert sampled.accesses == whole.accesses


POWERS = """
func.func @f(%A: memref<32x32xf32>, %B: memref<32x32xf32>, %C: memref<24x32x32xf32>) {
  affine.for %t = 0 to 24 {
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to 32 {
        affine.for %k = 0 to 32 {
          %a = affine.load %A[%i, %k] : memref<32x32xf32>
          %b = affine.load %B[%k, %j] : memref<32x32xf32>
          %c = affine.load %C[%t, %i, %j] : memref<24x32x32xf32>
          %p = arith.mulf %a, %b : f32
          %s = arith.addf %c, %p : f32
          affine.store %s, %C[%t, %i, %j] : memref<24x32x32xf32>
        }
      }
    }
    memref.copy %B, %A : memref<32x32xf32> to memref<32x32xf32>
  }
  return
}"""
"""The product stays a kernel of its own, in a loop of the host."""


@pytest.mark.slow
def test_many_launches_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated_counters, "LAUNCHES", 10)
    (function,) = report(POWERS).functions
    assert function.stopped
    assert sum(kernel.launch.launches for kernel in function.kernels) == 10


@pytest.mark.slow
def test_a_block_that_runs_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated_counters, "PATIENCE", 100)
    text = (FOLDER / "triangular_solve.mlir").read_text(encoding="utf-8")
    made = report(text, entry="trsv", sizes=64)
    assert made.functions[0].kernels[0].execution.cut
    assert "given up before their end" in made.text()


@pytest.mark.cases(
    ("options", "message"),
    [
        (["--arch", "sm_70"], "option arch='sm_70'"),
        (["--arch", "sm_80", "--device", "H100"], "Devices of sm_80: A100"),
        (["--entry", "mutmul"], "no function 'mutmul'"),
        (["--sizes", "Q=5"], "Q=5"),
    ],
)
def test_refusals(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", MATMUL, *options]) == 1
    assert message in capsys.readouterr().err


def test_a_function_without_kernels() -> None:
    with pytest.raises(errors.NoKernel, match="launches no kernel on a GPU"):
        report("func.func @f(%a: memref<4xf32>) { return }")


def test_extents_that_do_not_fit_are_named() -> None:
    text = (FOLDER / "conv_2d.mlir").read_text(encoding="utf-8")
    with pytest.raises(errors.InvalidOption, match=r"image_size1=8.*fit together"):
        report(text, entry="nhwc_strided", sizes={"image_size1": 8})


@pytest.mark.slow
def test_extents_are_large_enough_for_what_is_touched() -> None:
    text = (FOLDER / "conv_2d.mlir").read_text(encoding="utf-8")
    sizes = {"result_size1": 6, "result_size2": 5, "result_size3": 4}
    (function,) = report(text, entry="nhwc_dilated", sizes=sizes).functions
    image = [function.sizes[f"image_size{axis}"] for axis in (1, 2)]
    assert image == [5 + 2 * 2 + 1, 4 * 2 + 2 + 1]
    assert function.sizes["filter_size0"] == 3


@pytest.mark.slow
def test_one_extent_of_several_arrays_is_one_size() -> None:
    (function,) = report(Path(MATMUL), sizes={"K": 32, "N": 16, "M": 48}).functions
    assert function.sizes == {"M": 48, "K": 32, "N": 16}


@pytest.mark.slow
def test_passes_give_extents_no_names() -> None:
    """A fill asks for the extents of its result, which is one of the rows."""
    text = """func.func @f(%x: memref<?x?xf32>, %y: memref<?xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = memref.dim %x, %c0 : memref<?x?xf32>
      %n = memref.dim %x, %c1 : memref<?x?xf32>
      %zero = arith.constant 0.0 : f32
      %sums = memref.alloc(%m) : memref<?xf32>
      linalg.fill ins(%zero : f32) outs(%sums : memref<?xf32>)
      affine.for %i = 0 to %m {
        affine.for %j = 0 to %n {
          %v = affine.load %x[%i, %j] : memref<?x?xf32>
          %s = affine.load %sums[%i] : memref<?xf32>
          %t = arith.addf %s, %v fastmath<reassoc> : f32
          affine.store %t, %sums[%i] : memref<?xf32>
        }
        %r = affine.load %sums[%i] : memref<?xf32>
        affine.store %r, %y[%i] : memref<?xf32>
      }
      memref.dealloc %sums : memref<?xf32>
      return
    }"""
    (function,) = report(text, sizes={"m": 200, "n": 64}).functions
    assert function.sizes == {"m": 200, "n": 64}


@pytest.mark.slow
def test_the_device_of_an_architecture_is_stated() -> None:
    assert (
        "estimates for A100: 108 multiprocessors"
        in report(PROGRAMS["relu"], arch="sm_80").text()
    )


@pytest.mark.slow
def test_the_emulated_device_needs_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUCODEGEN_DEVICE")
    assert report(PROGRAMS["relu"]).functions


def test_memory_is_given_back() -> None:
    device = emulated_counters.MeasuringDevice(0, memory=ptx.Memory(1 << 20))
    module = reporting.read_module(PROGRAMS["f16"])[0]
    function = reporting.compile_module(module, target="cuda")["f"]
    made = made_up(module, function, reporting.make_sizes(None), device)
    assert device.memory.used == 2 * (640 * 64 + 64 * 512 + 640 * 512)
    del made
    assert device.memory.used == 0


def test_arrays_may_be_larger_than_this_machines_memory() -> None:
    """16 GiB each, of which a few blocks are touched."""
    rows, row = 1 << 16, 1 << 16
    ty = f"memref<{rows}x{row}xf32>"
    made = report(
        f"""func.func @f(%x: {ty}, %y: {ty}) {{
          affine.for %i = 0 to {rows} {{
            affine.for %j = 0 to {row} {{
              %v = affine.load %x[%i, %j] : {ty}
              %w = arith.negf %v : f32
              affine.store %w, %y[%i, %j] : {ty}
            }}
          }}
          return
        }}""",
        arch="sm_90a",
    )
    (kernel,) = made.functions[0].kernels
    assert kernel.limits.memory_bytes == pytest.approx(8 * rows * row, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("row", "reads"), [(1 << 10, 1), (1 << 18, 2)])
def test_rows_that_no_cache_holds_are_read_again(row: int, reads: int) -> None:
    rows, ty = 4096, f"memref<4096x{row}xf32>"
    text = f"""func.func @f(%x: {ty}, %y: {ty}) {{
      %zero = arith.constant 0.0 : f32
      affine.for %i = 0 to {rows} {{
        %sum = affine.for %j = 0 to {row} iter_args(%s = %zero) -> f32 {{
          %v = affine.load %x[%i, %j] : {ty}
          %t = arith.addf %s, %v fastmath<reassoc> : f32
          affine.yield %t : f32
        }}
        affine.for %j = 0 to {row} {{
          %v = affine.load %x[%i, %j] : {ty}
          %q = arith.divf %v, %sum : f32
          affine.store %q, %y[%i, %j] : {ty}
        }}
      }}
      return
    }}"""
    (kernel,) = report(text, arch="sm_90a").functions[0].kernels
    moved = kernel.limits.memory_bytes / (4 * rows * row)
    assert moved == pytest.approx(reads + 1, rel=0.01)


@pytest.mark.slow
def test_tensor_copies_move_the_arrays_of_their_maps() -> None:
    """Of two products, each reads its own operands, and overwrites its result."""
    m, n, k = 1024, 512, 2048
    a, b, c = f"memref<{m}x{k}xf16>", f"memref<{k}x{n}xf16>", f"memref<{m}x{n}xf32>"
    once = f"""
      linalg.fill ins(%zero : f32) outs(%r : {c})
      linalg.matmul ins(%p, %q : {a}, {b}) outs(%r : {c})"""
    other = once.replace("%p", "%s").replace("%q", "%t").replace("%r", "%u")
    text = f"""func.func @f(%p: {a}, %q: {b}, %r: {c}, %s: {a}, %t: {b}, %u: {c}) {{
      %zero = arith.constant 0.0 : f32{once}{other}
      return
    }}"""
    kernels = report(text, arch="sm_90a").functions[0].kernels
    moved = 2 * (m * k + k * n) + 4 * m * n
    assert [k.limits.memory_bytes for k in kernels] == [pytest.approx(moved)] * 2
