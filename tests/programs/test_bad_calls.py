"""Wrong calls and requests end in a catalogued error, never in our traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

TEXT = """func.func @scale(%x: memref<?x4xf32>, %y: memref<?x4xf32>, %a: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 4 {
      %v = affine.load %x[%i, %j] : memref<?x4xf32>
      %w = arith.mulf %v, %a : f32
      affine.store %w, %y[%i, %j] : memref<?x4xf32>
    }
  }
  return
}"""


def arrays() -> list[Any]:
    return [np.ones((3, 4), "f4"), np.zeros((3, 4), "f4"), 2.0]


def changed(position: int, value: object) -> list[Any]:
    given = arrays()
    given[position] = value
    return given


def frozen() -> np.ndarray:
    array = np.zeros((3, 4), "f4")
    array.flags.writeable = False
    return array


def fields() -> np.ndarray:
    """Strides that are no whole number of elements."""
    return np.zeros((3, 4), [("value", "f4"), ("flag", "u1")])["value"]


CASES = {
    "count": (arrays()[:2], errors.WrongArgumentCount),
    "no buffer": (changed(0, 3), errors.WrongArgumentType),
    "no number": (changed(2, "two"), errors.WrongArgumentType),
    "dtype": (changed(0, np.ones((3, 4))), errors.WrongDtype),
    "rank": (changed(0, np.ones(12, "f4")), errors.WrongArgumentRank),
    "extent": (changed(0, np.ones((3, 5), "f4")), errors.WrongExtent),
    "stride": (changed(0, fields()), errors.WrongStride),
    "read-only": (changed(1, frozen()), errors.ReadOnlyArgument),
}


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.cases("case", CASES)
def test_arguments(case: str, target: str) -> None:
    arguments, kind = CASES[case]
    with pytest.raises(kind) as caught:
        gcg.compile(TEXT, target=target).scale(*arguments)
    assert "scale" in str(caught.value)


NUMBER = """func.func @f(%a: memref<f32>, %b: memref<f32>) {
  %x = affine.load %a[] : memref<f32>
  affine.store %x, %b[] : memref<f32>
  return
}"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_number_of_numpy_is_read_but_never_written(target: str) -> None:
    """It is a copy: what a function would write there is lost."""
    program, place = gcg.compile(NUMBER, target=target), np.zeros((), "f4")
    program.f(np.float32(3), place)
    assert place == 3
    for _ in range(2):
        with pytest.raises(errors.ReadOnlyArgument, match=r"argument b.*numpy\.array"):
            program.f(np.float32(3), np.ones(2, "f4")[1])
    with pytest.raises(errors.ReadOnlyArgument):
        program.f.bind(np.float32(3), np.float32(1))
    with pytest.raises(errors.WrongArgumentType):
        program.f(np.float32(3), 1.0)


def test_read_only_inputs_are_fine() -> None:
    source, target, factor = arrays()
    source.flags.writeable = False
    gcg.compile(TEXT, target="cpu").scale(source, target, factor)
    assert (target == 2.0).all()


def test_overlapping_arguments_are_refused() -> None:
    whole = np.zeros((4, 4), "f4")
    with pytest.raises(errors.OverlappingArguments):
        gcg.compile(TEXT, target="cpu").scale(whole[:3], whole[1:], 1.0)


class WithoutMemory:
    """As a tensor that requires a gradient, or that is sparse."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: object) -> object:
        raise BufferError("can't export it")


def test_arrays_that_do_not_offer_their_memory() -> None:
    _, target, factor = arrays()
    with pytest.raises(errors.UnreadableBuffer, match="can't export it"):
        gcg.compile(TEXT, target="cpu").scale(WithoutMemory(), target, factor)


def test_cuda_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpucodegen.runtime.devices.inventory import missing_for_cuda

    monkeypatch.delenv("GPUCODEGEN_DEVICE")
    if missing_for_cuda() is None:
        pytest.skip("there is a GPU")
    with pytest.raises(errors.NoDevice):
        gcg.compile(TEXT, target="cuda").scale(*arrays())


def test_a_proven_out_of_bounds_access() -> None:
    with pytest.raises(errors.OutOfBounds) as caught:
        gcg.compile(TEXT.replace("to 4", "to 5"), target="cpu").scale(*arrays())
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("<string>:6:")
    assert "affine.load" in lines[1]
    assert lines[2].strip() == "^"


@pytest.mark.parametrize("extent", [0, 1, 5])
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_arrays_whose_loops_do_not_run_may_be_empty(extent: int) -> None:
    """The extent is known when the kernel is compiled, the end of the loop is not."""
    text = """func.func @fill(%x: memref<?xf32>, %n: index, %v: f32) {
      affine.for %i = 0 to %n {
        affine.store %v, %x[%i] : memref<?xf32>
      }
      return
    }"""
    x = np.zeros(extent, "f4")
    gcg.compile(text, target="cpu").fill(x, extent, 2.0)
    np.testing.assert_array_equal(x, np.full(extent, 2, "f4"))


NEIGHBOURS = """func.func @f(%x: memref<MEM>, %y: memref<MEM>, %n: index) {
  affine.for %i = 1 to affine_map<()[n] -> (n - 1)>()[%n] {
    %a = affine.load %x[%i - 1] : memref<MEM>
    %b = affine.load %x[%i + 1] : memref<MEM>
    %c = arith.addf %a, %b : f32
    affine.store %c, %y[%i] : memref<MEM>
  }
  return
}"""


@pytest.mark.cases("extent", [0, 1, 2, 3, 6])
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_arrays_whose_loops_do_not_run_may_be_short(extent: int) -> None:
    x, y = np.arange(extent, dtype="f4"), np.zeros(extent, "f4")
    program = gcg.compile(NEIGHBOURS.replace("MEM", "?xf32"), target="cpu")
    program.f(x, y, extent)
    np.testing.assert_array_equal(y[1:-1], x[:-2] + x[2:])


def test_arrays_that_are_too_short_wherever_the_loop_runs() -> None:
    x = np.zeros(2, "f4")
    for target in ("cpu", "sim"):
        program = gcg.compile(NEIGHBOURS.replace("MEM", "2xf32"), target=target)
        program.f(x, x.copy(), 2)  # the loop has no iteration
        with pytest.raises(errors.AccessOutOfBounds):
            program.f(x, x.copy(), 3)


@pytest.mark.cases(
    ("options", "kind"),
    [
        ({"target": "tpu"}, errors.UnknownTarget),
        ({"threads": 0}, errors.InvalidOption),
        ({"threads": 1.5}, errors.InvalidOption),
        ({"threads": "2"}, errors.InvalidOption),
        ({"tile_sizes": (-1,)}, errors.InvalidOption),
        ({"tile_size": (8,)}, errors.InvalidOption),
        ({"exact": True, "reassociate": True}, errors.InvalidOption),
    ],
)
def test_options(options: dict[str, Any], kind: type[errors.Error]) -> None:
    with pytest.raises(kind):
        gcg.compile(TEXT, **options)


def test_a_layout_that_takes_other_strides_is_told() -> None:
    text = TEXT.replace("%x: memref<?x4xf32>", "%x: memref<?x4xf32, strided<[?, 1]>>")
    text = text.replace(
        "%x[%i, %j] : memref<?x4xf32>", "%x[%i, %j] : memref<?x4xf32, strided<[?, 1]>>"
    )
    text = text.replace(
        "%x, %c0 : memref<?x4xf32>", "%x, %c0 : memref<?x4xf32, strided<[?, 1]>>"
    )
    with pytest.raises(errors.WrongStride) as caught:
        gcg.compile(text, target="cpu").scale(*changed(0, np.ones((4, 3), "f4").T))
    assert "a memref of layout strided<[?, ?], offset: ?>" in str(caught.value)


def test_names() -> None:
    program = gcg.compile(TEXT)
    with pytest.raises(errors.UnknownFunction) as caught:
        program["scal"]
    assert "scale" in str(caught.value)


def test_missing_file() -> None:
    with pytest.raises(errors.UnreadableFile):
        gcg.compile(Path("no/such/file.mlir"))


PATHS = [
    "no/such/file.mlir",
    "/no/such/file.mlir",
    "../3mm.mlir\n",
    "C:\\nests\\matmul.mlir",
    "nest.mlir",
    __file__,
]
ENTRIES: dict[str, Callable[[str], object]] = {
    "parse": gcg.parse,
    "compile": gcg.compile,
    "unregistered": lambda text: gcg.compile(text, allow_unregistered=True),
    "tune": lambda text: gcg.tune(text, "scale", *arrays()),
    "explain": gcg.explain,
}


@pytest.mark.cases("path", PATHS)
@pytest.mark.cases("entry", ENTRIES)
def test_a_path_that_is_passed_as_a_text_is_told(path: str, entry: str) -> None:
    with pytest.raises(errors.PathAsText, match=r"Pass pathlib\.Path") as caught:
        ENTRIES[entry](path)
    assert repr(path) in str(caught.value)


@pytest.mark.parametrize("text", ["affine.for", "module { x.mlir\n }", "x" * 5000])
def test_other_errors_of_a_line_stay_what_they_are(text: str) -> None:
    with pytest.raises(gcg.ParseError) as caught:
        gcg.compile(text)
    assert not isinstance(caught.value, errors.PathAsText)


@pytest.mark.parametrize("text", ["// see matmul.mlir", "module {} // matmul.mlir"])
def test_what_is_mlir_is_mlir_however_it_ends(text: str) -> None:
    assert str(gcg.parse(text)) == "module {\n}"


def test_a_path_is_a_file_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "scale.mlir"
    path.write_text(TEXT, encoding="utf-8")
    assert str(gcg.parse(path)) == str(gcg.parse(TEXT))
    assert gcg.compile(path).names == ("scale",)
    with pytest.raises(errors.UnreadableFile):
        gcg.parse(tmp_path / "scale.ll")
    path.write_text("affine.fro", encoding="utf-8")
    with pytest.raises(gcg.ParseError, match=r"affine\.for"):
        gcg.parse(path)


def test_environment_overrides_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCODEGEN_TARGET", "sim")
    program = gcg.compile(TEXT, target="cpu")
    program.scale(*arrays())
    assert program.scale.executable().target == "sim"
