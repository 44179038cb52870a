"""Arrays of every library go in without a copy, and results are of the same kind."""

from __future__ import annotations

import array
import copy
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.calls.foreign_calls import taken
from gpucodegen.runtime.devices import emulated_cupy

TEXT = """
func.func @matmul(%A: tensor<?x?xf32>, %B: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %A, %c0 : tensor<?x?xf32>
  %m = tensor.dim %B, %c1 : tensor<?x?xf32>
  %new = tensor.empty(%n, %m) : tensor<?x?xf32>
  %from = linalg.fill ins(%zero : f32) outs(%new : tensor<?x?xf32>) -> tensor<?x?xf32>
  %C = linalg.matmul ins(%A, %B : tensor<?x?xf32>, tensor<?x?xf32>)
    outs(%from : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %C : tensor<?x?xf32>
}
func.func @conv(%image: tensor<6x8xf32>, %filter: tensor<3x3xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  %out = linalg.conv_2d ins(%image, %filter : tensor<6x8xf32>, tensor<3x3xf32>)
    outs(%zero : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %out : tensor<4x6xf32>
}
func.func @stencil(%in: memref<6x8xf32>, %out: memref<6x8xf32>) -> memref<6x8xf32> {
  affine.for %i = 1 to 5 {
    affine.for %j = 1 to 7 {
      %a = affine.load %in[%i - 1, %j] : memref<6x8xf32>
      %b = affine.load %in[%i, %j + 1] : memref<6x8xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %out[%i, %j] : memref<6x8xf32>
    }
  }
  return %out : memref<6x8xf32>
}
func.func @halves(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xf32>, i32) {
  %y = arith.addf %x, %x : tensor<4xbf16>
  %z = arith.extf %x : tensor<4xbf16> to tensor<4xf32>
  %c = arith.constant 3 : i32
  return %y, %z, %c : tensor<4xbf16>, tensor<4xf32>, i32
}
"""


class OfDlpack:
    """Memory that DLPack alone tells of."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __dlpack__(self, **options: Any) -> Any:
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.held.__dlpack_device__()


def of_interface(x: np.ndarray) -> Any:
    return SimpleNamespace(__array_interface__=x.__array_interface__, held=x)


def of_cuda_interface(x: np.ndarray) -> Any:
    held = emulated_cupy.asarray(x)
    described = held.__cuda_array_interface__
    return SimpleNamespace(__cuda_array_interface__=described, held=held)


def as_buffer(x: np.ndarray) -> Any:
    return memoryview(bytearray(x.tobytes())).cast("f", x.shape)


def of_torch(x: np.ndarray) -> Any:
    return pytest.importorskip("torch").tensor(x)


def of_jax(x: np.ndarray) -> Any:
    return pytest.importorskip("jax").numpy.asarray(x)


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy": np.array,
    "emulated": emulated_cupy.asarray,
    "interface": of_interface,
    "cuda interface": of_cuda_interface,
    "dlpack": OfDlpack,
    "buffer": as_buffer,
    "torch": of_torch,
    "jax": of_jax,
}
OWN_KIND = {"numpy", "emulated", "torch", "jax"}
ON_DEVICES = {"emulated", "cuda interface"}
TARGETS = ["cpu", "sim"]
MARKS = {"torch": [pytest.mark.frameworks]}


def kinds(*without: str) -> list[Any]:
    return [
        pytest.param(name, marks=MARKS.get(name, ()))
        for name in KINDS
        if name not in without
    ]


def targets_and_kinds(*without: str) -> list[Any]:
    """Each target with the kinds of array whose memory it works on."""
    return [
        pytest.param(target, name, marks=MARKS.get(name, ()), id=f"{target}-{name}")
        for target in TARGETS
        for name in KINDS
        if name not in without and (target == "sim" or name not in ON_DEVICES)
    ]


def contents(x: Any) -> np.ndarray:
    x = getattr(x, "held", x)
    return x.get() if hasattr(x, "get") else np.asarray(x)


@pytest.fixture(scope="module", params=TARGETS)
def program(request: pytest.FixtureRequest) -> gcg.Program:
    return gcg.compile(TEXT, target=request.param)


def sums(x: np.ndarray) -> np.ndarray:
    out = np.zeros_like(x)
    out[1:-1, 1:-1] = x[:-2, 1:-1] + x[1:-1, 2:]
    return out


IMAGE = np.arange(48, dtype=np.float32).reshape(6, 8) % 7


@pytest.mark.slow
@pytest.mark.parametrize(("program", "kind"), targets_and_kinds(), indirect=["program"])
def test_results_are_of_the_kind_of_the_arguments(
    program: gcg.Program, kind: str
) -> None:
    make = KINDS[kind]
    image, weights = IMAGE, np.eye(3, dtype=np.float32)[::-1].copy()
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    for _ in range(2):
        product = program.matmul(make(image), make(image.T.copy()))
        np.testing.assert_array_equal(contents(product), image @ image.T)
        filtered = program.conv(make(image), make(weights))
        np.testing.assert_array_equal(
            contents(filtered), np.einsum("ijkl,kl", windows, weights)
        )
        if kind in OWN_KIND:
            assert type(product) is type(filtered) is type(make(image))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "kind"), targets_and_kinds("jax"), indirect=["program"]
)
def test_memory_is_written_where_it_is(program: gcg.Program, kind: str) -> None:
    make = KINDS[kind]
    x, out = make(IMAGE), make(np.zeros_like(IMAGE))
    for _ in range(2):
        assert program.stencil(x, out) is out
        np.testing.assert_array_equal(contents(out), sums(IMAGE))


def pointer(x: Any) -> int:
    return x.data.ptr if hasattr(x.data, "ptr") else x.ctypes.data


@pytest.mark.frameworks
def test_tensors_are_taken_where_they_lie() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(48.0).reshape(6, 8)
    held = taken((x, x), gcg.compile(TEXT, target="cpu").stencil.signature)
    assert held is not None
    assert [pointer(m) for m in held.memory] == [x.data_ptr()] * 2
    back = held.library.give(torch, held.memory[0], "float32")
    assert back.data_ptr() == x.data_ptr()


def test_arrays_of_jax_are_taken_where_they_lie() -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(48.0).reshape(6, 8)
    held = taken((x, x), gcg.compile(TEXT, target="cpu").stencil.signature)
    assert held is not None
    assert pointer(held.memory[0]) == x.unsafe_buffer_pointer()


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_arrays_of_jax_are_not_written(target: str) -> None:
    jax = pytest.importorskip("jax")
    x, program = jax.numpy.asarray(IMAGE), gcg.compile(TEXT, target=target)
    for out in (x, jax.numpy.zeros((6, 8))):
        with pytest.raises(errors.ReadOnlyArgument, match=r"gpucodegen\.jax\.call"):
            program.stencil(np.asarray(IMAGE), out)
    with pytest.raises(errors.UnreadableBuffer, match=r"gpucodegen\.jax\.call"):
        jax.jit(lambda a: program.conv(a, a[:3, :3]))(x)


@pytest.mark.frameworks
def test_gradients_are_not_lost_in_silence() -> None:
    torch = pytest.importorskip("torch")
    program = gcg.compile(TEXT, target="cpu")
    x, w = torch.ones(6, 8, requires_grad=True), torch.ones(3, 3)
    with pytest.raises(errors.UnreadableBuffer, match=r"gpucodegen\.torch\.op"):
        program.conv(x, w)
    with torch.no_grad():
        assert (program.conv(x, w) == 9).all()
    with pytest.raises(errors.UnreadableBuffer, match="gradient"):
        gcg.kernels.matmul(x, w)
    with pytest.raises(errors.UnreadableBuffer, match="does not offer its memory"):
        program.conv(torch.ones(6, 8).to_sparse(), w)


BRAIN = np.array([1, 2, -3, 0.5], np.float32)


@pytest.mark.parametrize("kind", kinds("numpy", "emulated", "interface", "dlpack",
                                       "cuda interface", "buffer"))  # fmt: skip
def test_brain_floats_of_other_libraries(kind: str) -> None:
    pytest.importorskip("ml_dtypes")
    program = gcg.compile(TEXT, target="cpu")
    x = KINDS[kind](BRAIN)
    x = x.bfloat16() if kind == "torch" else x.astype("bfloat16")
    twice, wide, three = program.halves(x)
    assert (type(twice), twice.dtype, three) == (type(x), x.dtype, 3)
    wanted = wide.numpy() if kind == "torch" else np.asarray(wide)
    np.testing.assert_array_equal(wanted, BRAIN)
    np.testing.assert_array_equal(np.asarray([float(v) for v in twice]), 2 * BRAIN)


def test_buffers_of_python() -> None:
    program = gcg.compile(
        "func.func @f(%x: memref<3xf64>) { %c = arith.constant 2.0 : f64 "
        "affine.for %i = 0 to 3 { affine.store %c, %x[%i] : memref<3xf64> } return }",
        target="cpu",
    )
    x = array.array("d", [0, 0, 0])
    program.f(x)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(errors.ReadOnlyArgument):
        program.f(memoryview(x).toreadonly())
    with pytest.raises(errors.WrongDtype):
        program.f(b"123")


@pytest.mark.parametrize("target", ["cpu", "sim", "interp"])
def test_masked_arrays_are_refused_by_name(target: str) -> None:
    masked = np.ma.masked_array(IMAGE, IMAGE > 3)
    program = gcg.compile(TEXT, target=target)
    for _ in range(2):
        with pytest.raises(errors.WrongArgumentType, match=r"MaskedArray.*filled"):
            program.conv(masked, np.ones((3, 3), "f4"))


ODD: dict[str, Callable[[], np.ndarray]] = {
    "transposed": lambda: np.ones((8, 6), "f4").T,
    "sliced": lambda: np.ones((12, 24), "f4")[::2, 1::3],
    "reversed": lambda: np.ones((6, 8), "f4")[::-1, ::-1],
    "columns": lambda: np.ones((6, 20), "f4")[:, 4:12],
    "broadcast": lambda: np.broadcast_to(np.ones(8, "f4"), (6, 8)),
}


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
def test_a_kernel_for_the_strides_of_arrays(program: gcg.Program, odd: str) -> None:
    for _ in range(2):
        x, out = ODD[odd](), np.zeros((8, 6), "f4").T
        if x.flags.writeable:
            x[...] = IMAGE
        assert program.stencil(x, out) is out
        np.testing.assert_array_equal(out, sums(np.asarray(x)))
        weights = np.ones((3, 3), "f4")[::-1].T
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3))
        np.testing.assert_array_equal(
            program.conv(x, weights), windows.sum(axis=(2, 3))
        )


def test_a_kernel_for_strides_works_without_copies() -> None:
    program = gcg.compile(TEXT, target="cpu")
    x, out = IMAGE.T.copy().T, np.zeros_like(IMAGE)
    program.stencil(x, out)
    assert "strided<[1, 6]>" in dict(program.stages("stencil"))["specialize"]


@pytest.mark.parametrize("specialize", [True, False])
def test_a_copy_where_no_kernel_keeps_to_strides(specialize: bool) -> None:
    text = """
    func.func @f(%x: memref<4x6xf32>) -> memref<4x6xf32> {
      func.call @first(%x) : (memref<4x6xf32>) -> ()
      return %x : memref<4x6xf32>
    }
    func.func private @first(memref<4x6xf32>)
    """
    first: dict[str, Any] = {"first": lambda x: x.__setitem__((0, 1), 5)}
    program = gcg.compile(text, target="cpu", externals=first, specialize=specialize)
    for n in range(2):
        x = np.zeros((6, 4), "f4").T
        if not n:
            with pytest.warns(errors.ArgumentCopied, match="argument x of strides"):
                assert program.f(x) is x
        else:
            assert program.f(x) is x
        assert x[0, 1] == 5
        assert np.count_nonzero(x) == 1


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.ArgumentCopied")
@pytest.mark.parametrize("specialize", [True, False])
def test_copies_are_checked_as_arguments_are(specialize: bool) -> None:
    program = gcg.compile(TEXT, target="cpu", specialize=specialize)
    lines = np.zeros((24, 6), "f4")
    for x, y in ((lines[:8].T, lines[:8].T), (lines[:8].T, lines[4:12].T)):
        with pytest.raises(errors.OverlappingArguments):
            program.stencil(x, y)
    frozen = lines[:8].T
    frozen.flags.writeable = False
    with pytest.raises(errors.ReadOnlyArgument):
        program.stencil(lines[8:16].T, frozen)


def test_written_elements_share_no_memory() -> None:
    program = gcg.compile(TEXT, target="cpu")
    line = np.zeros(64, "f4")
    folded = np.lib.stride_tricks.as_strided(line, (6, 8), (4, 4))
    program.stencil(folded, np.zeros((6, 8), "f4"))
    with pytest.raises(errors.WrongStride, match="share no memory"):
        program.stencil(IMAGE, folded)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("program", "kind"),
    targets_and_kinds("buffer", "jax", "interface", "dlpack", "cuda interface"),
    indirect=["program"],
)
def test_out(program: gcg.Program, kind: str) -> None:
    make = KINDS[kind]
    out = make(np.zeros((6, 6), "f4"))
    assert program.matmul(make(IMAGE), make(IMAGE.T.copy()), out=out) is out
    np.testing.assert_array_equal(contents(out), IMAGE @ IMAGE.T)


def test_out_is_checked() -> None:
    program = gcg.compile(TEXT, target="cpu")
    with pytest.raises(errors.WrongArgumentType, match="shape"):
        program.matmul(IMAGE, IMAGE.T, out=np.zeros((6, 5), "f4"))
    with pytest.raises(errors.WrongDtype):
        program.matmul(IMAGE, IMAGE.T, out=np.zeros((6, 6), "i4"))
    with pytest.raises(errors.ReadOnlyArgument):
        program.matmul(IMAGE, IMAGE.T, out=np.broadcast_to(np.zeros(6, "f4"), (6, 6)))
    with pytest.raises(errors.WrongArgumentType, match="one array for each of 3"):
        program.halves(np.zeros(4, "u2"), out=np.zeros(4))


def test_names_of_arguments() -> None:
    program = gcg.compile(TEXT, target="cpu")
    assert str(inspect.signature(program.matmul)) == (
        "(A: 'tensor<?x?xf32>', B: 'tensor<?x?xf32>', *, out=None, stream=None)"
        " -> 'tensor<?x?xf32>'"
    )
    assert list(inspect.signature(program.stencil).parameters)[:2] == ["in_", "out_"]
    assert program.matmul.__name__ == "matmul"
    out = np.zeros_like(IMAGE)
    program.stencil(out_=out, in_=IMAGE)
    program.stencil(IMAGE, out_=out)
    np.testing.assert_array_equal(out, sums(IMAGE))
    with pytest.raises(errors.WrongArgumentName, match="does not exist"):
        program.stencil(IMAGE, outer=out)
    with pytest.raises(errors.WrongArgumentName, match="given twice"):
        program.stencil(IMAGE, out, in_=IMAGE)
    with pytest.raises(errors.WrongArgumentCount):
        program.stencil(in_=IMAGE)


def test_attributes() -> None:
    program = gcg.compile(TEXT, target="cpu")
    assert hasattr(program, "matmul")
    assert not hasattr(program, "matmull")
    assert {"matmul", "conv", "stencil"} <= {*dir(program)}
    assert program._ipython_key_completions_() == list(program.names)


@pytest.mark.slow
def test_programs_travel_to_other_processes() -> None:
    program = gcg.compile(TEXT, target="cpu", threads=1)
    program.conv(IMAGE, np.ones((3, 3), "f4"))
    code = (
        "import pickle, sys, numpy as np\n"
        "program, conv = pickle.load(sys.stdin.buffer)\n"
        "x, w = np.ones((6, 8), 'f4'), np.ones((3, 3), 'f4')\n"
        "print(program.conv(x, w).sum(), conv(x, w).sum(), program.options.threads)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps((program, program.conv)),
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"216.0", b"216.0", b"1"]


@pytest.mark.slow
def test_programs_of_modules_travel_as_text() -> None:
    program = gcg.compile(gcg.parse(TEXT), target="cpu")
    for made in (pickle.loads(pickle.dumps(program)), copy.copy(program)):
        assert made.names == program.names
        assert (made.conv(IMAGE * 0, np.ones((3, 3), "f4")) == 0).all()
