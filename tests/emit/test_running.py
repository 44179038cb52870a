"""The samples' generated text, executed on every engine and compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from running import loaded, sample

RNG = np.random.default_rng(7)


def random(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.slow
def test_parallel_loops_with_dynamic_extents():
    A, B, C = random(64, 777), random(777, 9), random(64, 9)
    loaded(sample("cpu_matmul"), "cpu", "matmul")(A, B, C)
    np.testing.assert_allclose(C, A.astype(float) @ B, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_register_tiles():
    A, B, C = random(8, 40), random(40, 16), random(8, 16)
    want = C + A.astype(float) @ B
    loaded(sample("cpu_register_tile"), "cpu", "tile")(A, B, C)
    np.testing.assert_allclose(C, want, rtol=1e-4, atol=1e-4)


def control(x: np.ndarray) -> np.ndarray:
    n, y = len(x), np.zeros_like(x)
    for i in range(n):
        a, b = 0, 1
        for _ in range(i % 10):
            a, b = b, a + b
        w = np.int32(x[i] * np.int32(a)) if 2 <= i <= n - 3 else x[i]
        while w > 100:
            w >>= 1
        y[i] = w
        for j in range(max(0, i - 3), min(i, n - 1), 2):
            y[i] ^= y[j]
    return y


def test_branches_and_loops():
    x = RNG.integers(-(2**31), 2**31 - 1, 41, np.int32)
    y = np.zeros_like(x)
    loaded(sample("cpu_control"), "cpu", "control")(x, y)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(y, control(x))


@pytest.mark.slow
def test_transfers_on_the_cpu():
    A, B, C = random(32, 48), random(48, 16), random(32, 16)
    want = C + A.astype(float) @ B
    loaded(sample("cpu_dma"), "cpu", "dma_matmul")(A, B, C)
    np.testing.assert_allclose(C, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_host_program(steps: int):
    x = random(20)
    want = x.copy()
    for _ in range(steps):
        want[1:-1] = want[:-2] / 4 + want[1:-1] / 2 + want[2:] / 4
    result, h, m = loaded(sample("host_program"), "cpu", "smooth")(x, steps, 0.5)
    np.testing.assert_allclose(result.array, want, rtol=1e-5, atol=1e-6)
    assert (h, m) == (want[0] if want[0] > 0.5 else 1.0, 3 * steps)


@pytest.mark.parametrize("n", [33, 64])
@pytest.mark.sampled(2)
def test_shared_memory_kernel_on_the_emulated_device(n: int):
    A, B, C = random(128, 64), random(64, n), random(128, n)
    want = C + A.astype(float) @ B
    loaded(sample("cuda_matmul"), "sim", "mm")(A, B, C)
    np.testing.assert_allclose(C, want, rtol=1e-4, atol=1e-4)


def test_views_and_strides_on_the_emulated_device():
    whole = random(11, 14, dtype=np.float64)
    x, y = whole[:9, 2:13], np.zeros((9, 11))
    want = y.copy()
    mid = (x[:-2, 1:-1], x[2:, 1:-1], x[1:-1, :-2], x[1:-1, 2:])
    want[1:-1, 1:-1] = sum(mid) / 4
    loaded(sample("cuda_stencil"), "sim", "stencil")(x, y)
    np.testing.assert_allclose(y, want)


@pytest.mark.parametrize("name", ["cuda_matmul", "cuda_stencil"])
def test_cuda_text_compiles_to_ptx(name: str):
    from gpucodegen.emit import CUDA, emit_program
    from gpucodegen.parser import parse_module
    from gpucodegen.runtime.cuda.compilation import compile_ptx
    from gpucodegen.runtime.host.loader import kernel_spec

    module = parse_module(sample(name), name)
    for kernel in emit_program(module, CUDA).kernels:
        assert f".entry {kernel.name}" in compile_ptx(kernel_spec(kernel))
