"""Complex numbers, run: every operation against NumPy in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

Array = np.ndarray[Any, Any]
TARGETS = pytest.mark.parametrize("target", ALL)
PARTS = pytest.mark.parametrize(("part", "dtype"), [("f32", "c8"), ("f64", "c16")])


def log1p(z: Array) -> Array:
    x, y = z.real, z.imag
    near = 0.5 * np.log1p(2 * x + (x * x + y * y))
    real = np.where(abs(z) < 0.5, near, np.log(abs(1 + z)))
    return real + 1j * np.arctan2(y, 1 + x)


UNARY: dict[str, Callable[[Array], Array]] = {
    "conj": np.conj,
    "cos": np.cos,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": log1p,
    "neg": np.negative,
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "atan2": lambda a, b: -1j * np.log((b + 1j * a) / np.sqrt(a * a + b * b)),
}


def kernel(part: str) -> str:
    """Every operation on element i, each into a row of its own."""
    number = f"complex<{part}>"
    operations = [(name, "%a", number) for name in UNARY]
    operations += [(name, "%a, %b", number) for name in BINARY]
    operations += [("powi", "%a, %k", f"{number}, i64")]
    lines: list[str] = []
    for row, (name, operands, types) in enumerate(operations):
        lines.append(f"%r{row} = complex.{name} {operands} : {types}")
        lines.append(f"affine.store %r{row}, %out[{row}, %i] : memref<20x?x{number}>")
    for row, name in enumerate(("abs", "angle", "re", "im")):
        lines.append(f"%s{row} = complex.{name} %a : {number}")
        lines.append(f"affine.store %s{row}, %real[{row}, %i] : memref<4x?x{part}>")
    for row, name in enumerate(("eq", "neq")):
        lines.append(f"%t{row} = complex.{name} %a, %b : {number}")
        lines.append(f"affine.store %t{row}, %bits[{row}, %i] : memref<2x?xi1>")
    body = "\n".join(lines)
    return f"""
    func.func @f(%x: memref<?x{number}>, %y: memref<?x{number}>, %n: memref<?xi64>,
        %out: memref<20x?x{number}>, %real: memref<4x?x{part}>,
        %bits: memref<2x?xi1>) {{
      %c0 = arith.constant 0 : index
      %count = memref.dim %x, %c0 : memref<?x{number}>
      affine.for %i = 0 to %count {{
        %a = affine.load %x[%i] : memref<?x{number}>
        %b = affine.load %y[%i] : memref<?x{number}>
        %k = affine.load %n[%i] : memref<?xi64>
        {body}
      }}
      return
    }}"""


def numbers(dtype: str, *shape: int, seed: int = 3) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


@pytest.mark.slow
@TARGETS
@PARTS
def test_operations(part: str, dtype: str, target: str):
    x, y = numbers(dtype, 60), numbers(dtype, 60, seed=4)
    x[:4] = [1, -2, 1e-5j, 1e-5]
    x[7] = y[7]
    n = np.random.default_rng(5).integers(-4, 5, 60)
    part_type = np.zeros(1, dtype).real.dtype
    out, real = np.zeros((20, 60), dtype), np.zeros((4, 60), part_type)
    bits = np.zeros((2, 60), bool)
    gcg.compile(kernel(part), target=target).f(x, y, n, out, real, bits)
    a, b = x.astype("c16"), y.astype("c16")
    wanted = [f(a) for f in UNARY.values()] + [f(a, b) for f in BINARY.values()]
    wanted.append(a**n)
    tolerance = 3e-6 if part == "f32" else 1e-13
    for name, row, exact in zip([*UNARY, *BINARY, "powi"], out, wanted, strict=True):
        np.testing.assert_allclose(row, exact, tolerance, tolerance / 10, err_msg=name)
    parts = [np.abs(a), np.angle(a), a.real, a.imag]
    for row, exact in zip(real, parts, strict=True):
        np.testing.assert_allclose(row, exact, tolerance, tolerance / 10)
    assert bits[0].tolist() == (x == y).tolist()
    assert bits[1].tolist() == (x != y).tolist()


@pytest.mark.slow
@TARGETS
def test_ends_of_the_range(target: str):
    x = np.array([0, 1e30 + 1e30j, 1e-30j, 3 - 4j, 50j, -50j, -4, -4 - 0.0j], "c8")
    y = np.array([2, 1e30 - 1e30j, 2e-30, 0, 1, 1, 2j, 2j], "c8")
    out, real = np.zeros((20, 8), "c8"), np.zeros((4, 8), "f4")
    n, bits = np.zeros(8, "i8"), np.zeros((2, 8), bool)
    gcg.compile(kernel("f32"), target=target).f(x, y, n, out, real, bits)
    rows = dict(zip([*UNARY, *BINARY, "powi"], out, strict=True))
    assert rows["sqrt"][0] == 0
    assert rows["sign"][0] == 0
    assert rows["pow"][0] == 0
    np.testing.assert_allclose(rows["div"][[1, 2]], [1j, 0.5j], 1e-6)
    assert np.isinf(rows["div"][3].real)
    np.testing.assert_allclose(rows["sqrt"][[1, 2]], np.sqrt(x[[1, 2]]), 1e-6)
    np.testing.assert_allclose(rows["tan"][[4, 5]], [1j, -1j], 1e-6)
    assert rows["powi"].tolist() == [1] * 8
    np.testing.assert_allclose(rows["sqrt"][6:], np.sqrt(x[6:]), 1e-6)


EXTREME = """
func.func @f(%x: memref<?xcomplex<{0}>>, %y: memref<?xcomplex<{0}>>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xcomplex<{0}>>
  affine.for %i = 0 to %n {{
    %z = affine.load %x[%i] : memref<?xcomplex<{0}>>
    %r = complex.{1} %z : complex<{0}>
    affine.store %r, %y[%i] : memref<?xcomplex<{0}>>
  }}
  return
}}"""


def results(name: str, part: str, target: str, x: Array) -> tuple[Array, Array]:
    y = np.zeros_like(x)
    gcg.compile(EXTREME.format(part, name), target=target).f(x, y)
    with np.errstate(all="ignore"):
        return y, UNARY[name](x)


@TARGETS
@PARTS
def test_square_roots_of_infinities_and_of_the_largest_numbers(
    part: str, dtype: str, target: str
):
    largest = float(np.finfo(dtype).max)
    parts = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, largest, -largest]
    x = np.array([complex(a, b) for a in parts for b in parts], dtype)
    y, want = results("sqrt", part, target, x)
    np.testing.assert_allclose(y.real, want.real, 1e-5)
    np.testing.assert_allclose(y.imag, want.imag, 1e-5)


@TARGETS
@pytest.mark.parametrize("name", ["sin", "cos", "sign"])
def test_a_zero_part_stays_zero_beside_an_infinite_one(name: str, target: str):
    parts = [0.0, -0.0, 1.0, 800.0, -800.0, np.inf, -np.inf]
    pairs = [(a, b) for a in parts for b in parts if 0 in (a, b) and np.inf != abs(a)]
    y, want = results(name, "f64", target, np.array([complex(*p) for p in pairs]))
    np.testing.assert_allclose(y.real, want.real, 1e-12)
    np.testing.assert_allclose(y.imag, want.imag, 1e-12)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_the_sign_of_the_largest_numbers(target: str):
    y, _ = results("sign", "f32", target, np.array([3e38 + 3e38j, -3e38j], "c8"))
    np.testing.assert_allclose(y, [0.5**0.5 * (1 + 1j), -1j], 1e-6)


PROGRAM = """
func.func @scalars(%a: complex<f32>, %x: f32) -> (complex<f32>, f32) {
  %k = complex.constant [1.5 : f32, -2.0 : f32] : complex<f32>
  %c = complex.create %x, %x : complex<f32>
  %0 = complex.mul %a, %c : complex<f32>
  %1 = complex.add %0, %k : complex<f32>
  %2 = complex.re %1 : complex<f32>
  return %1, %2 : complex<f32>, f32
}
func.func @matmul(%A: tensor<4x5xcomplex<f64>>, %B: tensor<5x3xcomplex<f64>>)
    -> tensor<4x3xcomplex<f64>> {
  %z = complex.constant [0.0 : f64, 0.0 : f64] : complex<f64>
  %e = tensor.empty() : tensor<4x3xcomplex<f64>>
  %f = linalg.fill ins(%z : complex<f64>) outs(%e : tensor<4x3xcomplex<f64>>)
    -> tensor<4x3xcomplex<f64>>
  %0 = linalg.matmul
    ins(%A, %B : tensor<4x5xcomplex<f64>>, tensor<5x3xcomplex<f64>>)
    outs(%f : tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
  return %0 : tensor<4x3xcomplex<f64>>
}
func.func @constants() -> (tensor<2xcomplex<f32>>, tensor<3xcomplex<f32>>) {
  %0 = arith.constant dense<[(1.0, 2.0), (-3.0, 0.5)]> : tensor<2xcomplex<f32>>
  %1 = arith.constant dense<(1.0, -2.0)> : tensor<3xcomplex<f32>>
  return %0, %1 : tensor<2xcomplex<f32>>, tensor<3xcomplex<f32>>
}
func.func @named(%A: memref<4xcomplex<f32>>, %B: memref<4xcomplex<f32>>) {
  linalg.exp ins(%A : memref<4xcomplex<f32>>) outs(%B : memref<4xcomplex<f32>>)
  linalg.square ins(%B : memref<4xcomplex<f32>>) outs(%B : memref<4xcomplex<f32>>)
  linalg.reciprocal ins(%B : memref<4xcomplex<f32>>) outs(%B : memref<4xcomplex<f32>>)
  linalg.div ins(%B, %A : memref<4xcomplex<f32>>, memref<4xcomplex<f32>>)
    outs(%B : memref<4xcomplex<f32>>)
  return
}
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @generic(%A: memref<6xcomplex<f32>>, %s: memref<complex<f32>>,
                   %c: complex<f32>) {
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
    ins(%A : memref<6xcomplex<f32>>) outs(%s : memref<complex<f32>>) {
  ^bb0(%a: complex<f32>, %t: complex<f32>):
    %0 = complex.eq %a, %c : complex<f32>
    %1 = complex.conj %a : complex<f32>
    %2 = arith.select %0, %c, %1 : complex<f32>
    %3 = complex.add %t, %2 : complex<f32>
    linalg.yield %3 : complex<f32>
  }
  return
}
func.func @carried(%A: memref<6xcomplex<f32>>, %out: memref<1xcomplex<f32>>) {
  %one = complex.constant [1.0 : f32, 0.0 : f32] : complex<f32>
  %tile = memref.alloc() : memref<6xcomplex<f32>>
  memref.copy %A, %tile : memref<6xcomplex<f32>> to memref<6xcomplex<f32>>
  %p = affine.for %i = 0 to 6 iter_args(%q = %one) -> complex<f32> {
    %a = affine.load %tile[%i] : memref<6xcomplex<f32>>
    %r = complex.mul %q, %a : complex<f32>
    affine.yield %r : complex<f32>
  }
  affine.store %p, %out[0] : memref<1xcomplex<f32>>
  memref.dealloc %tile : memref<6xcomplex<f32>>
  return
}
"""


@TARGETS
def test_numbers_in_and_out(target: str):
    run = gcg.compile(PROGRAM, target=target)
    total, real = run.scalars(1 + 2j, 3.0)
    assert (total, real) == (-1.5 + 7j, -1.5)
    assert isinstance(total, complex)
    assert run.scalars(2.0, 1.0)[0] == 3.5
    first, second = run.constants()
    assert first.dtype == second.dtype == np.complex64
    assert first.tolist() == [1 + 2j, -3 + 0.5j]
    assert second.tolist() == [1 - 2j] * 3


@pytest.mark.slow
@TARGETS
def test_structured_operations(target: str):
    run = gcg.compile(PROGRAM, target=target)
    a, b = numbers("c16", 4, 5), numbers("c16", 5, 3)
    np.testing.assert_allclose(run.matmul(a, b), a @ b, 1e-13)
    x, out = numbers("c8", 4), np.zeros(4, "c8")
    run.named(x, out)
    np.testing.assert_allclose(out, 1 / np.exp(x) ** 2 / x, 1e-5)


@pytest.mark.slow
@TARGETS
def test_generic_bodies_and_carried_values(target: str):
    run = gcg.compile(PROGRAM, target=target)
    x = numbers("c8", 6)
    total = np.array(1j, "c8")
    run.generic(x, total, x[2])
    wanted = 1j + np.where(x == x[2], x[2], np.conj(x)).sum()
    np.testing.assert_allclose(total, wanted, 1e-5)
    product = np.zeros(1, "c8")
    run.carried(x, product)
    np.testing.assert_allclose(product, x.prod(), 1e-5)


REFUSED = {
    "half": ("%a: memref<4xcomplex<f16>>", "memref<4xcomplex<f16>>", np.zeros(4, "c8")),
    "integers": ("%a: memref<4xcomplex<i32>>", "memref<4xcomplex<i32>>", np.zeros(4)),
    "scalar": ("%a: complex<i32>", "complex<i32>", 1j),
}


@pytest.mark.parametrize("case", REFUSED)
def test_parts_without_a_numpy_type_are_refused(case: str):
    arguments, ty, value = REFUSED[case]
    text = f"func.func @f({arguments}) -> {ty} {{ return %a : {ty} }}"
    with pytest.raises(errors.UnsupportedType) as caught:
        gcg.compile(text, target="cpu").f(value)
    assert "complex<f32>" in str(caught.value)


def test_arrays_of_reals_are_refused_by_name():
    with pytest.raises(gcg.LaunchError) as caught:
        gcg.compile(PROGRAM, target="cpu").carried(np.zeros(6), np.zeros(1, "c8"))
    assert "argument A must hold complex64, got float64" in str(caught.value)


def test_functions_that_need_an_order_are_refused():
    text = """
    func.func @f(%A: memref<4xcomplex<f32>>) {
      linalg.max ins(%A, %A : memref<4xcomplex<f32>>, memref<4xcomplex<f32>>)
        outs(%A : memref<4xcomplex<f32>>)
      return
    }"""
    with pytest.raises(errors.UnsupportedOperation):
        gcg.compile(text, target="cpu").f(np.zeros(4, "c8"))


@pytest.mark.slow
@pytest.mark.ptxas
@PARTS
def test_kernels_compile_to_ptx(part: str, dtype: str):
    from gpucodegen.runtime.cuda.compilation import compile_cubin

    x, n = numbers(dtype, 8), np.ones(8, "i8")
    real = np.zeros((4, 8), np.zeros(1, dtype).real.dtype)
    call = gcg.compile(kernel(part), target="sim").f
    call(x, x.copy(), n, np.zeros((20, 8), dtype), real, np.zeros((2, 8), bool))
    for spec in call.executable().kernels:
        assert compile_cubin(spec, (9, 0)).spills == 0


def test_a_complex_argument_is_two_parameters_of_a_cuda_kernel():
    from gpucodegen.runtime.cuda.kernel_launch import ArgumentLayout
    from gpucodegen.runtime.host.spec import KernelSpec, Param

    params = Param("i", "scalar", "i32"), Param("z", "scalar", "complex<f32>")
    layout = ArgumentLayout.of(KernelSpec("k", "", params))
    assert layout.offsets == (0, 4, 8)
    assert np.frombuffer(layout.pack([0, 1 + 2j]).contents, "f4").tolist() == [0, 1, 2]


CORNERS = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]


@pytest.mark.sampled(3)
@PARTS
@pytest.mark.parametrize("target", [*ALL, "interp"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_and_quotients_of_extreme_numbers(target: str, part: str, dtype: str):
    """As MLIR lowers them: products plainly, quotients with the limits of annex G."""
    parts = np.array(CORNERS)
    numbers = np.array([complex(x, y) for x in parts for y in parts], dtype)
    a, b = (grid.reshape(-1).copy() for grid in np.meshgrid(numbers, numbers))
    ty = f"memref<{a.size}xcomplex<{part}>>"
    body = "\n".join(
        f"%{op} = complex.{op} %a, %b : complex<{part}>\n"
        f"affine.store %{op}, %to_{op}[%i] : {ty}"
        for op in ("mul", "div")
    )
    text = f"""func.func @f(%x: {ty}, %y: {ty}, %to_mul: {ty}, %to_div: {ty}) {{
      affine.for %i = 0 to {a.size} {{
        %a = affine.load %x[%i] : {ty}
        %b = affine.load %y[%i] : {ty}
        {body}
      }}
      return
    }}"""
    product, quotient = np.zeros_like(a), np.zeros_like(a)
    gcg.compile(text, target=target).f(a, b, product, quotient)
    x, y, u, v = a.real, a.imag, b.real, b.imag
    same_parts(product, x * u - y * v, y * u + x * v)
    infinite_a, infinite_b = (np.isinf(z.real) | np.isinf(z.imag) for z in (a, b))
    nan_a = np.isnan(x) & np.isnan(y)
    is_zero = (b == 0) & ~nan_a
    large = np.copysign(np.inf, u)
    same_parts(quotient[is_zero], (large * x)[is_zero], (large * y)[is_zero])
    to_zero = np.isfinite(a) & infinite_b
    assert not np.nan_to_num(quotient[to_zero], nan=0).any()
    assert not np.isnan(quotient[to_zero & ~np.isnan(b)]).any()
    to_infinity = infinite_a & np.isfinite(b) & (b != 0)
    assert (np.isinf(quotient.real) | np.isinf(quotient.imag))[to_infinity].all()


def same_parts(found: Array, real: Array, imaginary: Array) -> None:
    np.testing.assert_array_equal(found.real, real)
    np.testing.assert_array_equal(found.imag, imaginary)
