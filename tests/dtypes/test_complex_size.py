"""The size of a complex number is rounded once, without overflow in between."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

TEXT = """func.func @f(%z: memref<?xcomplex<KIND>>, %o: memref<?xKIND>) {
  %c = arith.constant 0 : index
  %n = memref.dim %z, %c : memref<?xcomplex<KIND>>
  affine.for %i = 0 to %n {
    %v = affine.load %z[%i] : memref<?xcomplex<KIND>>
    %a = complex.abs %v : complex<KIND>
    affine.store %a, %o[%i] : memref<?xKIND>
  }
  return
}"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(("kind", "exponent"), [("f32", 120), ("f64", 1000)])
def test_sizes(kind: str, exponent: int, target: str):
    real = np.dtype(kind.replace("f", "float"))
    random, count = np.random.default_rng(0), 500
    info = np.finfo(real)
    with np.errstate(all="ignore"):
        scales = 2.0 ** random.uniform(-exponent, exponent, (2, count))
        x, y = (random.standard_normal((2, count)) * scales).astype(real)
        y[::2] = (x[::2] * random.uniform(0.1, 3, count)[::2]).astype(real)
        ends = [0, -0.0, np.inf, -np.inf, np.nan, info.max, info.smallest_subnormal]
        pairs = np.array([(a, b) for a in ends for b in ends], real)
        z = np.empty(count + len(pairs), f"c{2 * real.itemsize}")
        z.real, z.imag = np.r_[x, pairs[:, 0]], np.r_[y, pairs[:, 1]]
        exact = np.hypot(z.real.astype(np.longdouble), z.imag.astype(np.longdouble))
        want = exact.astype(real)
    sizes = np.empty(len(z), real)
    gcg.compile(TEXT.replace("KIND", kind), target=target).f(z, sizes)
    np.testing.assert_array_max_ulp(sizes[:count], want[:count], maxulp=1)
    np.testing.assert_array_equal(sizes[count:], want[count:])
