from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.interop.texts import VALUES

A = np.arange(48, dtype=np.float32).reshape(6, 8) % 5


@pytest.fixture(scope="module")
def jax() -> Any:
    return pytest.importorskip("jax")


@pytest.fixture(scope="module")
def program() -> gcg.Program:
    return gcg.compile(VALUES, target="cpu", threads=1)


def product(program: gcg.Program) -> Any:
    def vjp(given: Any, result: Any, ct: Any) -> Any:
        del result
        a, b = given
        return ct @ b.T, a.T @ ct

    return lambda a, b: gcg.jax.call(program.matmul, a, b, vjp=vjp)


def test_under_jit(jax: Any, program: gcg.Program) -> None:
    found = jax.jit(product(program))(A, A.T)
    assert isinstance(found, jax.Array)
    np.testing.assert_array_equal(found, A @ A.T)
    image = jax.jit(lambda x: gcg.jax.call(program.conv, x, x[:3, :3]))(A)
    windows = np.lib.stride_tricks.sliding_window_view(A, (3, 3))
    np.testing.assert_array_equal(image, np.einsum("ijkl,kl", windows, A[:3, :3]))


def test_what_is_written_is_the_result(jax: Any, program: gcg.Program) -> None:
    x = jax.numpy.arange(5.0)
    scaled = jax.jit(lambda x: gcg.jax.call(program.scale, x, 3.0) + 1)(x)
    np.testing.assert_array_equal(scaled, 3 * np.arange(5) + 1)
    np.testing.assert_array_equal(x, np.arange(5))
    traced = jax.jit(lambda x, k: gcg.jax.call(program.scale, x, k))(x, 2.0)
    np.testing.assert_array_equal(traced, 2 * np.arange(5))


def test_the_gradient_of_the_caller(jax: Any, program: gcg.Program) -> None:
    def loss(call: Any) -> Any:
        return jax.jit(jax.grad(lambda a, b: (call(a, b) ** 2).sum(), argnums=(0, 1)))

    wanted = loss(lambda a, b: a @ b)(A, A.T)
    for found, right in zip(loss(product(program))(A, A.T), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6)
    with pytest.raises(ValueError, match="custom_"):
        jax.grad(lambda x: gcg.jax.call(program.scale, x, 2.0).sum())(A[0])


def test_several_results_and_batches(jax: Any, program: gcg.Program) -> None:
    x = jax.numpy.asarray([1, 2, 3, 4], jax.numpy.bfloat16)
    twice, wide, three = jax.jit(lambda x: gcg.jax.call(program.halves, x))(x)
    assert (twice.dtype, wide.dtype, int(three)) == (x.dtype, np.float32, 3)
    np.testing.assert_array_equal(twice.astype("f4"), [2, 4, 6, 8])
    images = np.stack([A, 2 * A])
    batch = jax.vmap(lambda x: gcg.jax.call(program.conv, x, np.ones((3, 3), "f4")))
    found = batch(images)
    np.testing.assert_array_equal(found[1], 2 * found[0])


@pytest.mark.usefixtures("jax")
def test_results_of_unknown_extents_are_refused(program: gcg.Program) -> None:
    with pytest.raises(errors.UnknownResult, match="result 0"):
        gcg.jax.call(program.unknown, A[0], 3)
    with pytest.raises(errors.WrongArgumentCount):
        gcg.jax.call(program.conv, A)
