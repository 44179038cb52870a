"""Normalizations on a GPU, in the text of compilers: what is read, and the results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

ARCH = "sm_90a"


def accesses(program: Any, name: str) -> int:
    """Accesses of one kind in the text of all kernels."""
    text = dict(program.stages("main"))["lower-collectives"]
    return text.count(f"{name} ")


def kernels(program: Any) -> int:
    return len(program.main.executable().kernels)


LONG_ROWS = """
func.func @main(%x: memref<8x3072xf32>, %y: memref<8x3072xf32>) {
  linalg.softmax dimension(1) ins(%x : memref<8x3072xf32>) outs(%y : memref<8x3072xf32>)
  return
}"""


def rows_with_extremes() -> np.ndarray:
    """Rows of parts of 1024 elements, some of them infinite as a whole."""
    x = (np.random.default_rng(3).normal(size=(8, 3072)) * 30).astype("f4")
    x[1, :1024] = -np.inf
    x[2, 5] = x[3, 1024:2048] = np.inf
    x[4] = -np.inf
    x[5, 7] = np.nan
    x[6, 2048:] = -3e38
    x[7, ::3] = -np.inf
    return x


def test_a_softmax_of_few_long_rows_reads_them_twice() -> None:
    x = rows_with_extremes()
    with np.errstate(invalid="ignore"):
        powers = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    want = powers / powers.sum(1, keepdims=True)
    program, y = gcg.compile(LONG_ROWS, target="sim", arch=ARCH), np.empty_like(x)
    program.main(x, y)
    np.testing.assert_allclose(y, want, rtol=3e-5, atol=1e-30)
    assert kernels(program) == 3
    text = LONG_ROWS.replace("outs(%y", "outs(%x")
    gcg.compile(text, target="sim", arch=ARCH).main(x, y)
    np.testing.assert_allclose(x, want, rtol=3e-5, atol=1e-30)


@pytest.mark.slow
def test_a_sum_of_exponentials_may_have_another_shift() -> None:
    """JAX's `logsumexp` subtracts 0 where the largest element is infinite."""
    jax = pytest.importorskip("jax")
    x = rows_with_extremes()
    text = jax.jit(lambda x: jax.nn.logsumexp(x, 1)).lower(x).as_text()
    program = gcg.compile(text, target="sim", arch=ARCH)
    with np.errstate(all="ignore"):
        want = np.logaddexp.reduce(x.astype("f8"), 1)
    np.testing.assert_allclose(program.main(x), want, rtol=1e-5)
    assert "sums" in dict(program.stages("main"))["fuse-rows"]


ROOT_MEAN_SQUARES = """
func.func @main(%x: tensor<140x96xf32>) -> tensor<140x96xf32> {
  %s = stablehlo.multiply %x, %x : tensor<140x96xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<140x96xf32>, tensor<f32>) -> tensor<140xf32>
  %r = stablehlo.rsqrt %t : tensor<140xf32>
  %b = stablehlo.broadcast_in_dim %r, dims = [0]
    : (tensor<140xf32>) -> tensor<140x96xf32>
  %y = stablehlo.multiply %x, %b : tensor<140x96xf32>
  return %y : tensor<140x96xf32>
}"""


@pytest.mark.slow
@pytest.mark.cases("shape", [(140, 8, 12), (140, 96)])
def test_a_row_that_fits_is_read_once(shape: tuple[int, ...]) -> None:
    """Rows of several dimensions, too: their loops over one view become one."""
    text, axes = ROOT_MEAN_SQUARES, tuple(range(1, len(shape)))
    text = text.replace("140x96", "x".join(map(str, shape)))
    text = text.replace("dimensions = [1]", f"dimensions = {list(axes)}")
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    program = gcg.compile(text, target="sim", arch=ARCH)
    wide = x.astype(float)
    want = wide / np.sqrt((wide**2).sum(axes, keepdims=True))
    np.testing.assert_allclose(program.main(x), want, rtol=1e-5)
    assert kernels(program) == accesses(program, "vector.load") == 1


SOFTMAX = """
func.func @main(%x: tensor<140x96xf32>) -> tensor<140x96xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum
    across dimensions = [1] : (tensor<140x96xf32>, tensor<f32>) -> tensor<140xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0]
    : (tensor<140xf32>) -> tensor<140x96xf32>
  %d = stablehlo.subtract %x, %mb : tensor<140x96xf32>
  %e = stablehlo.exponential %d : tensor<140x96xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add
    across dimensions = [1] : (tensor<140x96xf32>, tensor<f32>) -> tensor<140xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0]
    : (tensor<140xf32>) -> tensor<140x96xf32>
  %y = stablehlo.divide %e, %sb : tensor<140x96xf32>
  return %y : tensor<140x96xf32>
}"""


@pytest.mark.slow
def test_exponentials_that_stay_in_registers_are_not_stored() -> None:
    x = np.random.default_rng(0).normal(size=(140, 96)).astype(np.float32)
    program = gcg.compile(SOFTMAX, target="sim", arch=ARCH)
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    want = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(program.main(x), want, rtol=1e-5)
    assert kernels(program) == accesses(program, "vector.store") == 1


VARIANCE = """
func.func @main(%x: tensor<SHAPExELEMENT>) -> tensor<RxELEMENT> {
  %zero = stablehlo.constant dense<0.0> : tensor<ELEMENT>
  %n = stablehlo.constant dense<COUNT> : tensor<RxELEMENT>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = DIMS
    : (tensor<SHAPExELEMENT>, tensor<ELEMENT>) -> tensor<RxELEMENT>
  %m = stablehlo.divide %s, %n : tensor<RxELEMENT>
  %b = stablehlo.broadcast_in_dim %m, dims = [ROW]
    : (tensor<RxELEMENT>) -> tensor<SHAPExELEMENT>
  %d = stablehlo.subtract %x, %b : tensor<SHAPExELEMENT>
  %e = stablehlo.multiply %d, %d : tensor<SHAPExELEMENT>
  %q = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = DIMS
    : (tensor<SHAPExELEMENT>, tensor<ELEMENT>) -> tensor<RxELEMENT>
  %v = stablehlo.divide %q, %n : tensor<RxELEMENT>
  return %v : tensor<RxELEMENT>
}"""


def variance(shape: tuple[int, ...], row: int, element: str) -> str:
    axes = [n for n in range(len(shape)) if n != row]
    count = float(np.prod([shape[n] for n in axes]))
    words = {"COUNT": count, "DIMS": axes, "ROW": row, "ELEMENT": element}
    text = VARIANCE.replace("SHAPE", "x".join(map(str, shape)))
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text.replace("<Rx", f"<{shape[row]}x")


@pytest.mark.slow
@pytest.mark.cases(
    "shape, row, element",
    [
        ((3, 4, 40, 32), 0, "f32"),
        ((4, 3, 32, 40), 1, "f32"),
        ((2, 768), 0, "f64"),
        ((5, 251), 0, "f32"),
    ],
)
def test_a_variance_reads_few_long_rows_once(
    shape: tuple[int, ...], row: int, element: str
) -> None:
    """The error is that of two passes: u + (u k)^2 of the condition k, and factors."""
    kind = np.float32 if element == "f32" else np.float64
    axes = tuple(n for n in range(len(shape)) if n != row)
    program = gcg.compile(variance(shape, row, element), target="sim", arch=ARCH)
    unit = np.finfo(kind).eps / 2
    for mean in (0.0, 1e4, -3e5):
        rng = np.random.default_rng(int(abs(mean)))
        x = (rng.normal(size=shape) + mean).astype(kind)
        x[(0,) * len(shape)] += 50  # the first element is none to measure from
        wide = x.astype(np.longdouble)
        want = wide.var(axes)
        condition = np.sqrt(1 + wide.mean(axes) ** 2 / want)
        bound = 32 * unit + (4 * unit * condition) ** 2
        assert np.all(np.abs(program.main(x) - want) <= bound * want)
    stored = dict(program.stages("main"))["fuse-rows"].count("memref.alloc()")
    assert stored == (3 if shape[1] == 251 else 6)
    assert kernels(program) <= 3


@pytest.mark.slow
def test_a_variance_is_computed_as_the_text_says_where_its_order_is_kept() -> None:
    text = variance((3, 1024), 0, "f32")
    exact = gcg.compile(text, target="sim", arch=ARCH, exact=True)
    x = (np.random.default_rng(0).normal(size=(3, 1024)) + 9).astype(np.float32)
    m = (np.cumsum(x, 1, dtype=np.float32)[:, -1:] / np.float32(1024)).astype("f4")
    squares = np.cumsum((x - m) ** 2, 1, dtype=np.float32)[:, -1]
    assert np.array_equal(exact.main(x), squares / np.float32(1024))


GROUPS = """
func.func @main(%x: tensor<2x6x8x64xf32>, %w: tensor<6xf32>) -> tensor<2x6x8x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %g = stablehlo.reshape %x : (tensor<2x6x8x64xf32>) -> tensor<2x3x2x8x64xf32>
  %s = stablehlo.reduce(%g init: %zero) applies stablehlo.maximum
    across dimensions = [2, 3, 4]
    : (tensor<2x3x2x8x64xf32>, tensor<f32>) -> tensor<2x3xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0, 1]
    : (tensor<2x3xf32>) -> tensor<2x3x2x8x64xf32>
  %d = stablehlo.subtract %g, %b : tensor<2x3x2x8x64xf32>
  %e = stablehlo.reshape %d : (tensor<2x3x2x8x64xf32>) -> tensor<2x6x8x64xf32>
  %v = stablehlo.broadcast_in_dim %w, dims = [1]
    : (tensor<6xf32>) -> tensor<2x6x8x64xf32>
  %y = stablehlo.multiply %e, %v : tensor<2x6x8x64xf32>
  %z = stablehlo.add %y, %v : tensor<2x6x8x64xf32>
  return %z : tensor<2x6x8x64xf32>
}"""


@pytest.mark.slow
def test_channels_are_scaled_where_their_groups_are_normalized() -> None:
    """Not after the reshape back, in a pass over memory of its own."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 6, 8, 64)).astype(np.float32)
    w = rng.normal(size=6).astype(np.float32)
    program = gcg.compile(GROUPS, target="sim", arch=ARCH)
    groups = x.reshape(2, 3, -1).astype(float)
    far = (groups - groups.max(2, keepdims=True)).reshape(x.shape)
    scale = w[:, None, None].astype(float)
    np.testing.assert_allclose(program.main(x, w), far * scale + scale, 1e-5, 1e-6)
    assert dict(program.stages("main"))["bufferize"].count("linalg.generic") == 3


CHANNELS = """
func.func @main(%x: tensor<3x2x368x368xf32>) -> tensor<3x2x368x368xf32> {
  %s = stablehlo.multiply %x, %x : tensor<3x2x368x368xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<3x2x368x368xf32>, tensor<f32>) -> tensor<3x368x368xf32>
  %b = stablehlo.broadcast_in_dim %t, dims = [0, 2, 3]
    : (tensor<3x368x368xf32>) -> tensor<3x2x368x368xf32>
  %y = stablehlo.divide %x, %b : tensor<3x2x368x368xf32>
  return %y : tensor<3x2x368x368xf32>
}"""


@pytest.mark.slow
def test_many_strided_rows_are_a_thread_each() -> None:
    x = np.random.default_rng(0).normal(size=(3, 2, 368, 368)).astype(np.float32)
    program = gcg.compile(CHANNELS, target="sim", arch=ARCH)
    wide = x.astype(float)
    want = wide / (wide**2).sum(1, keepdims=True)
    np.testing.assert_allclose(program.main(x), want, rtol=1e-5)
    assert kernels(program) == 1


LOOPS = """
func.func @main(%x: memref<3x512xf32>, %s: memref<3xf32>, %q: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 512.0 : f32
  affine.for %r = 0 to 3 {
    affine.store %zero, %s[%r] : memref<3xf32>
    affine.for %k = 0 to 512 {
      %t = affine.load %s[%r] : memref<3xf32>
      %v = affine.load %x[%r, %k] : memref<3x512xf32>
      %u = arith.addf %t, %v fastmath<reassoc> : f32
      affine.store %u, %s[%r] : memref<3xf32>
    }
  }
  affine.for %r = 0 to 3 {
    affine.store %zero, %q[%r] : memref<3xf32>
    affine.for %k = 0 to 512 {
      %m = affine.load %s[%r] : memref<3xf32>
      %w = affine.load %x[%r, %k] : memref<3x512xf32>
      %c = arith.divf %m, %n : f32
      %d = arith.subf %w, %c : f32
      %e = arith.mulf %d, %d : f32
      %t = affine.load %q[%r] : memref<3xf32>
      %u = arith.addf %t, %e fastmath<reassoc> : f32
      affine.store %u, %q[%r] : memref<3xf32>
    }
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.cases(
    "old, new",
    [
        ("%v = affine.load %x[%r, %k]", "%v = affine.load %x[%r, 511 - %k]"),
        ("%m = affine.load %s[%r]", "%m = affine.load %s[0]"),
        ("%c = arith.divf %m, %n", "%c = arith.divf %m, %w"),
        ("arith.addf %t, %e fastmath<reassoc>", "arith.addf %t, %e"),
        ("arith.mulf %d, %d", "arith.mulf %d, %w"),
        ("affine.store %zero, %q[%r]", "affine.store %n, %q[%r]"),
        ("arith.subf %w, %c", "arith.subf %c, %w"),
    ],
)
def test_squares_of_other_distances_are_left_as_they_are(old: str, new: str) -> None:
    """The last two cases are variances, too: from another start, and negated."""
    x = np.random.default_rng(0).normal(size=(3, 512)).astype(np.float32) + 3
    text = LOOPS.replace(old, new)
    program = gcg.compile(text, target="sim", arch=ARCH)
    found = np.zeros((2, 3), np.float32)
    wanted = np.zeros_like(found)
    program.main(x, *found)
    gcg.compile(text, target="interp").main(x, *wanted)
    np.testing.assert_allclose(found, wanted, rtol=2e-5)
    is_split = "memref.alloc" in dict(program.stages("main"))["fuse-rows"]
    assert is_split == (new in ("affine.store %n, %q[%r]", "arith.subf %c, %w"))


GATHERED = """
#each = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<9x40xf32>, %m: tensor<9xf32>, %k: tensor<9xindex>)
    -> tensor<9xf32> {
  %e = tensor.empty() : tensor<9x40xf32>
  %t = linalg.generic {indexing_maps = [#each, #row, #each],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<9x40xf32>, tensor<9xf32>) outs(%e : tensor<9x40xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %j = linalg.index 1 : index
      %n = arith.index_cast %j : index to i32
      %f = arith.sitofp %n : i32 to f32
      %d = arith.subf %a, %b : f32
      %s = arith.addf %d, %f : f32
      linalg.yield %s : f32
  } -> tensor<9x40xf32>
  %u = linalg.generic {indexing_maps = [#each, #each],
      iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<9x40xf32>) outs(%e : tensor<9x40xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %a : f32
      linalg.yield %s : f32
  } -> tensor<9x40xf32>
  %z = tensor.empty() : tensor<9xf32>
  %r = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%k : tensor<9xindex>) outs(%z : tensor<9xf32>) {
    ^bb0(%p: index, %o: f32):
      %i = linalg.index 0 : index
      %a = tensor.extract %u[%i, %p] : tensor<9x40xf32>
      linalg.yield %a : f32
  } -> tensor<9xf32>
  return %r : tensor<9xf32>
}"""


def test_gathered_elements_are_computed_where_they_are_gathered() -> None:
    rng = np.random.default_rng(0)
    x, m = (rng.normal(size=s).astype(np.float32) for s in ((9, 40), 9))
    k = rng.integers(0, 40, 9)
    program = gcg.compile(GATHERED, target="sim", arch=ARCH)
    want = (x[range(9), k].astype(float) - m + k) ** 2
    np.testing.assert_allclose(program.main(x, m, k), want, rtol=1e-5)
    assert dict(program.stages("main"))["bufferize"].count("memref.alloc()") == 1
