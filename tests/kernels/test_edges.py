"""Edge shapes of ready-made operations: as NumPy and SciPy, or a clear refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.kernels.products import attention

K = gcg.kernels
INF, NAN = np.inf, np.nan


def numbers(*shape: int, dtype: str = "f4") -> np.ndarray:
    count = int(np.prod(shape))
    return ((np.arange(count) * 7 % 11 - 4) / 2).reshape(shape).astype(dtype)


def agree(ours: Any, theirs: Any, *arguments: Any, **options: Any) -> None:
    """Both give the same, or both refuse; ours by an error of the catalogue."""
    with np.errstate(all="ignore"):
        try:
            expected = theirs(*arguments, **options)
        except (ValueError, IndexError, TypeError):
            with pytest.raises(errors.Error):
                ours(*arguments, **options)
            return
    found = ours(*arguments, **options)
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


EINSUMS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ii", [(3, 1)]), ("ii", [(1, 3)]), ("ii->i", [(3, 3)]), ("iij->j", [(2, 1, 3)]),
    ("ii,ii->i", [(3, 3), (1, 3)]), ("ii,ii->i", [(3, 3), (1, 1)]),
    ("ij,jk", [(2, 3), (1, 4)]), ("ij,jk", [(2, 3), (4, 2)]), ("ij->i", [(3, 0)]),
    ("ij->iz", [(2, 3)]), ("i->ii", [(2,)]), ("ij,jk", [(2, 2)]),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.cases(("text", "shapes"), EINSUMS)
def test_einsum_broadcasts_between_operands_only(text: str, shapes: Any) -> None:
    arrays = [numbers(*shape) for shape in shapes]
    agree(K.einsum, np.einsum, text, *arrays)


@pytest.mark.sampled(3)
@pytest.mark.cases(
    "axes", [1, 2, 3, ([0], [1]), ([0, 0], [1, 0]), ([5], [0]), "x", ([], [])]
)
def test_axes_of_tensordot(axes: Any) -> None:
    agree(K.tensordot, np.tensordot, numbers(2, 3), numbers(3, 2), axes)


@pytest.mark.slow
def test_reductions_of_numbers_and_of_nothing() -> None:
    names = "sum prod max all count_nonzero argmax argmin".split()
    for name in names:
        for shape in ((), (0, 3), (3, 0), (1,)):
            for axis in (None, 0, -1, 1, 2):
                x = numbers(*shape)
                agree(getattr(K, name), getattr(np, name), x, axis=axis)


def test_the_place_of_the_largest_number() -> None:
    assert K.argmax(np.float32(3).reshape(())) == 0
    with pytest.raises(errors.Error):
        K.argmax(np.zeros(0, "f4"))


@pytest.mark.slow
def test_rows_that_are_not_finite() -> None:
    special = pytest.importorskip("scipy.special")
    rows = [[INF, 0], [INF, INF], [-INF, -INF], [-INF, 0], [NAN, 0], [INF, -INF]]
    for dtype in ("f4", "f8"):
        x = np.array(rows, dtype)
        for name in ("log_softmax", "softmax"):
            agree(getattr(K, name), getattr(special, name), x, axis=-1)
        agree(K.logsumexp, special.logsumexp, x, axis=-1)
    nothing = np.zeros((2, 0), "f4")
    assert K.logsumexp(nothing, axis=1).tolist() == [-INF, -INF]


# -- attention -------------------------------------------------------------------------


def attended(q: Any, k: Any, v: Any, mask: Any, is_causal: bool) -> np.ndarray:
    """By the definition; a row of which nothing is left is zero, as in torch 2.5."""
    scores = q.astype("f8") @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    added = np.where(mask, 0, -INF) if mask.dtype == bool else mask
    scores = scores + added
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -INF)
    most = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = powers.sum(-1, keepdims=True)
    return np.where(total == 0, 0, powers / np.where(total == 0, 1, total)) @ v


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_rows_that_a_mask_leaves_empty(
    streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if streamed:
        monkeypatch.setattr(attention, "MOST_SCORES", 0)
    attention.ATTENTION.known.clear()
    attention.ATTENTION.last.clear()
    q, k, v = numbers(2, 3, 4), numbers(2, 5, 4), numbers(2, 5, 6)
    mask = np.ones((3, 5), bool)
    mask[1], mask[0, 0] = False, False
    for given in (mask, np.where(mask, 0, -INF).astype("f4")):
        for is_causal in (False, True):
            found = K.scaled_dot_product_attention(q, k, v, given, is_causal=is_causal)
            expected = attended(q, k, v, given, is_causal)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
            assert not found[:, 1].any()
    attention.ATTENTION.known.clear()
    attention.ATTENTION.last.clear()


# -- windows ---------------------------------------------------------------------------

SMALL: list[Callable[[], Any]] = [
    lambda: K.max_pool1d(numbers(1, 2, 1), 3),
    lambda: K.max_pool1d(numbers(1, 3, 1), 2, dilations=3),
    lambda: K.avg_pool1d(numbers(1, 0, 1), 1),
    lambda: K.max_pool2d(numbers(1, 1, 2, 2), 3, layout="NCHW"),
    lambda: K.avg_pool3d(numbers(1, 2, 2, 2, 1), 3),
    lambda: K.conv1d(numbers(1, 2, 1), numbers(3, 1, 1)),
    lambda: K.conv1d(numbers(1, 0, 1), numbers(3, 1, 1), padding=1),
    lambda: K.conv1d(numbers(1, 5, 1), numbers(0, 1, 1)),
    lambda: K.conv2d(numbers(1, 2, 2, 1), numbers(3, 3, 1, 1)),
    lambda: K.conv3d(numbers(1, 1, 2, 2, 1), numbers(2, 1, 1, 1, 1)),
    lambda: K.conv_transpose1d(numbers(1, 0, 1), numbers(2, 1, 1)),
    lambda: K.conv_transpose1d(numbers(1, 1, 1), numbers(2, 1, 1), padding=1),
]


def test_images_smaller_than_the_window() -> None:
    for call in SMALL:
        with pytest.raises(errors.ShapesDisagree, match="the window"):
            call()
    padded = K.conv1d(numbers(1, 2, 1), np.ones((3, 1, 1), "f4"), padding=1)
    assert padded.shape == (1, 2, 1)
    assert K.max_pool1d(numbers(0, 4, 2), 2).shape == (0, 2, 2)


def test_a_histogram_of_one_place() -> None:
    x = np.array([1.0, 1.2, 3.0])
    assert K.histogram(x, 2, (1, 1)).tolist() == np.histogram(x, 2, (1, 1))[0].tolist()


def test_messages_show_the_ends_of_long_options() -> None:
    """The second argument of `torch.nn.functional.layer_norm` is a shape, too."""
    x, gamma = np.ones((4, 1024), "f4"), np.ones(1024, "f4")
    with pytest.raises(errors.InvalidOption, match=r"last extents") as found:
        K.layer_norm(x, gamma, gamma)  # pyright: ignore[reportArgumentType]
    assert len(str(found.value)) < 200
