"""Ready-made operations on arrays of the emulated device, and what such arrays can."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.kernels.table import KERNELS
from gpucodegen.runtime.devices import emulated_cupy as cp

K = gcg.kernels
X = np.arange(24, dtype="f4").reshape(2, 3, 4) / 8 - 1
M = np.arange(12, dtype="f4").reshape(3, 4) / 4
S = np.arange(9, dtype="f4").reshape(3, 3)
LINE, FILTER = X, np.ones((2, 4, 5), "f4")
IMAGE = np.arange(64, dtype="f4").reshape(1, 4, 4, 4)
VOLUME = np.arange(128, dtype="f4").reshape(1, 4, 4, 4, 2)
WHOLE = np.array([0, 2, 1], "i8")
CALLS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "elementwise": (lambda x, y: K.elementwise("x * y + 1", x=x, y=y), (X, M)),
    "transpose": (lambda x: K.transpose(x, (2, 0, 1)), (X,)),
    "copy": (K.copy, (X,)),
    "matmul": (lambda a, b: K.matmul(a, b, transpose_b=True), (M, M)),
    "matvec": (lambda a, b: K.matvec(a, b[0]), (M, M)),
    "vecdot": (K.vecdot, (M, M)),
    "einsum": (lambda a, b: K.einsum("ij,kj->ik", a, b), (M, M)),
    "tensordot": (lambda a, b: K.tensordot(a, b, ([1], [1])), (M, M)),
    "scaled_dot_product_attention": (K.scaled_dot_product_attention, (X, X, X)),
    **{name: (getattr(K, name), (X,)) for name in (
        "sum prod max min all any count_nonzero mean var std logsumexp argmax argmin"
        " softmax log_softmax cumsum cumprod").split()},
    "layer_norm": (lambda x: K.layer_norm(x, 4), (X,)),
    "rms_norm": (lambda x: K.rms_norm(x, 4), (X,)),
    "batch_norm": (lambda x, m: K.batch_norm(x, m[0], m[1], axis=2), (X, M)),
    "group_norm": (lambda x: K.group_norm(x, 3), (X,)),
    **{name: (getattr(K, name), (X,)) for name in (
        "instance_norm normalize triu tril").split()},
    "clip": (lambda x: K.clip(x, -0.5, 1), (X,)),
    **{name: (getattr(K, name), (X, X * 0.5)) for name in (
        "hinge_loss huber_loss kl_div l1_loss mse_loss smooth_l1_loss").split()},
    **{name: (getattr(K, name), (M, WHOLE)) for name in ("cross_entropy", "nll_loss")},
    "triplet_margin_loss": (K.triplet_margin_loss, (M, M + 1, M * 2)),
    "conv1d": (K.conv1d, (LINE, FILTER)),
    "conv2d": (lambda x, w: K.conv2d(x, w, groups=2),
               (IMAGE, np.ones((3, 3, 2, 4), "f4"))),
    "conv3d": (K.conv3d, (VOLUME, np.ones((2, 2, 2, 2, 1), "f4"))),
    "conv_transpose1d": (K.conv_transpose1d, (LINE, FILTER)),
    "conv_transpose2d": (lambda x, w: K.conv_transpose2d(x, w, groups=2),
                         (IMAGE, np.ones((2, 2, 4, 1), "f4"))),
    "conv_transpose3d": (K.conv_transpose3d, (VOLUME, np.ones((1, 2, 2, 2, 1), "f4"))),
    **{f"{kind}_pool{n}d": (partial(getattr(K, f"{kind}_pool{n}d"), window=2), (x,))
       for kind in ("max", "avg") for n, x in ((1, X), (2, IMAGE), (3, VOLUME))},
    "stencil": (lambda x, w: K.stencil(x, w, 2), (M, S)),
    "take": (lambda x, i: K.take(x, i, axis=1), (X, WHOLE)),
    "scatter_add": (K.scatter_add, (M, WHOLE, M)),
    "bincount": (lambda i: K.bincount(i, 4), (WHOLE,)),
    "histogram": (lambda x: K.histogram(x, 3, (0, 1)), (X,)),
}  # fmt: skip


def forms(x: np.ndarray) -> list[Any]:
    """The same elements row by row, and with their dimensions in another order."""
    turned = cp.asarray(np.ascontiguousarray(x.T)).T
    return [cp.asarray(x), turned]


def check(name: str) -> None:
    run, operands = CALLS[name]
    expected = run(*operands)
    for n in range(2):
        given = [forms(x)[n] for x in operands]
        found = run(*given)
        parts = zip(
            found if isinstance(found, tuple) else (found,),
            expected if isinstance(expected, tuple) else (expected,),
            strict=True,
        )
        for ours, right in parts:
            assert type(ours) is cp.EmulatedArray, name
            np.testing.assert_allclose(ours.get(), right, rtol=2e-5, atol=2e-5)


def test_every_operation_has_a_call() -> None:
    assert set(CALLS) == set(KERNELS)


def test_sums() -> None:
    check("sum")


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.drawn(16)
def test_an_operation(name: str) -> None:
    check(name)


def test_arrays_are_arranged_as_numpy_arranges_them() -> None:
    arrangements: list[Callable[[Any], Any]] = [
        lambda a: a.reshape(-1),
        lambda a: a.reshape(4, -1),
        lambda a: a.reshape((2, 2, -1)),
        lambda a: a.T.reshape(-1),
        lambda a: a.T.reshape(4, 6, order="F"),
        lambda a: a.ravel(),
        lambda a: a[::-1].flatten(),
        lambda a: a.transpose(),
        lambda a: a.transpose(1, 0, 2),
        lambda a: a.transpose((2, 0, 1)),
        lambda a: a.swapaxes(0, -1),
        lambda a: a[None, :, 1:2].squeeze(),
        lambda a: a[None].squeeze(0),
        lambda a: a[..., None],
        lambda a: a.astype("i4"),
        lambda a: a.astype("f4", copy=False),
        lambda a: a.copy(),
        lambda a: list(a)[1],
        lambda a: a[:0].reshape(3, 0),
    ]
    there = cp.asarray(X)
    for n, arrange in enumerate(arrangements):
        ours, right = arrange(there), arrange(X)
        assert (ours.shape, ours.dtype) == (right.shape, right.dtype), n
        assert (ours.size, ours.ndim, ours.nbytes) == (
            right.size, right.ndim, right.nbytes
        )  # fmt: skip
        np.testing.assert_array_equal(ours.get(), right, str(n))
    assert there.tolist() == X.tolist()
    assert there[1, 2, 3].item() == float(there[1, 2, 3]) == X[1, 2, 3]
    assert (len(there), int(there[0, 0, 0])) == (2, -1)
    assert bool(there[0, 0, 0])
    view = there.reshape(-1)
    view.fill(7)
    assert (there.get() == 7).all(), "a view shares memory"
    with pytest.raises(ValueError, match="reshape"):
        there.reshape(5, -1)
    with pytest.raises(TypeError, match="without dimensions"):
        len(there[0, 0, 0])
    with pytest.raises(TypeError, match="brought here by"):
        np.asarray(there)
