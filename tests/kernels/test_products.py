"""Products against NumPy in f64: matrices, Einstein's notation, attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.kernels.products import attention
from gpucodegen.kernels.products.einsum import contraction_path
from tests.kernels import formulas
from tests.kernels.formulas import COMPLEX, EVERY, FLOATS, Array, check, made, wide

K = gcg.kernels
NATURAL = {"i", "u", "b"}


def exact(function: Any, *given: Array) -> Any:
    """What NumPy makes of integers as they are, of others in a wide type."""
    is_whole = given[0].dtype.kind in NATURAL
    return function(*(a if is_whole else wide(a) for a in given))


EXTENTS = st.sampled_from([0, 1, 2, 3, 7])
SIZES = st.tuples(EXTENTS, EXTENTS, EXTENTS)
BATCHES = st.sampled_from(
    [((), ()), ((2,), ()), ((1,), (3,)), ((2, 1), (3,)), ((), (0,))]
)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Array, Array]:
    m, n, k = draw(SIZES)
    before, dtype = draw(BATCHES), draw(st.sampled_from(EVERY))
    a, b = made((*before[0], m, k), dtype), made((*before[1], k, n), dtype, 1)
    if draw(st.booleans()):
        a = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    if draw(st.booleans()):
        b = b[..., ::-1]
    return a, b


def product(pair: tuple[Array, Array]) -> None:
    check(K.matmul(*pair), exact(np.matmul, *pair), pair[0].dtype)


@pytest.mark.slow
@settings(max_examples=2, deadline=None)
@given(matrices())
def test_some_products(pair: Any) -> None:
    product(pair)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(matrices())
def test_products(pair: Any) -> None:
    product(pair)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", EVERY)
def test_elements(dtype: str) -> None:
    product((made((5, 9), dtype), made((9, 6), dtype, 1)))


@pytest.mark.slow
def test_what_is_around_a_product() -> None:
    x, w, c = (made(s, "float16", n) for n, s in enumerate(((5, 9), (9, 6), (5, 6))))
    b = made((6,), "float16", 4)
    right = 2 * wide(x) @ wide(w) + 0.5 * wide(c) + wide(b)
    found = K.matmul(x, w, alpha=2, beta=0.5, c=c, bias=b, activation="relu")
    check(found, np.maximum(right, 0), "f2")
    turned = K.matmul(x.T.copy(), w.T.copy(), transpose_a=True, transpose_b=True)
    check(turned, wide(x) @ wide(w), "f2")


@pytest.mark.slow
def test_bytes_in_wider_sums() -> None:
    a, b = made((5, 90), "int8") * 9, made((90, 6), "int8", 1) * 9
    check(K.matmul(a, b, dtype="i4"), a.astype("i4") @ b.astype("i4"), "i4")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_vectors(target: str) -> None:
    a, x = made((2, 4, 5), "float32"), made((5,), "float32", 1)
    check(K.matvec(a, x, target=target), wide(a) @ wide(x), "f4")
    check(K.vecdot(a, x), wide(a) @ wide(x), "f4")
    check(K.matmul(x, x), np.dot(wide(x), wide(x)), "f4")


@pytest.mark.cases(
    ("options", "refusal"),
    [
        ({"activation": "relux"}, "relu, sigmoid"),
        ({"beta": 1.0}, "Pass c"),
        ({"bias": np.zeros(3, "f4")}, "does not broadcast"),
        ({"bias": np.zeros(4)}, "must hold float32"),
        ({"dtype": "U3"}, "Pass one of"),
    ],
)
def test_refusals(options: Any, refusal: str) -> None:
    a = np.zeros((4, 4), "f4")
    with pytest.raises(gcg.Error, match=refusal):
        K.matmul(a, a, **options)


EXPRESSIONS: dict[str, tuple[tuple[int, ...], ...]] = {
    "ij,jk->ki": ((3, 4), (4, 5)),
    "ii->i": ((4, 4),),
    "ii": ((4, 4),),
    "...ij,...jk": ((2, 3, 4), (4, 5)),
    "ab,bc,cd->ad": ((3, 4), (4, 5), (5, 6)),
    "i,j->ij": ((3,), (0,)),
    "ijk,kl,lm,jm->i": ((3, 4, 5), (5, 6), (6, 2), (4, 2)),
    "ij,ik->j": ((3, 4), (3, 5)),
    "ij,ij->ij": ((3, 4), (1, 4)),
    "b...,b...->...": ((2, 3), (2, 3)),
    "iij,j->i": ((3, 3, 4), (4,)),
}


@pytest.mark.drawn(20)
@pytest.mark.slow
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("dtype", ["float32", "int16", "complex128"])
def test_einsum(expression: str, dtype: str) -> None:
    given = [made(s, dtype, n) for n, s in enumerate(EXPRESSIONS[expression])]
    right = exact(lambda *xs: np.einsum(expression, *xs), *given)
    check(K.einsum(expression, *given), right, dtype)


@pytest.mark.cases(
    ("expression", "refusal"),
    [
        ("ij,jk", "2 arrays"),
        ("ijk", "2 letters"),
        ("ij->k", "each once"),
        ("i1", "letters"),
        ("...->", "'...' behind"),
    ],
)
def test_einsum_refuses(expression: str, refusal: str) -> None:
    with pytest.raises(errors.InvalidOption, match=refusal):
        K.einsum(expression, np.zeros((2, 2)))


def test_extents_that_differ() -> None:
    with pytest.raises(errors.ShapesDisagree, match="axis j"):
        K.einsum("ij,jk", np.zeros((2, 3)), np.zeros((4, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("axes", [0, 1, 2, ([1, 2], [1, 0]), (2, 0)])
def test_tensordot(axes: Any) -> None:
    a, b = made((2, 3, 4), "float64"), made((4, 3, 5), "float64", 1)
    if axes == 2:
        b = made((3, 4, 5), "float64", 1)
    check(K.tensordot(a, b, axes), np.tensordot(a, b, axes), "f8")


def test_the_cheapest_path_is_found() -> None:
    """A chain of matrices, against its best parentheses by dynamic programming."""
    for seed in range(20):
        n = 6
        sizes = np.random.default_rng(seed).integers(1, 30, n + 1).tolist()
        names = {f"x{i}": size for i, size in enumerate(sizes)}
        chain = [frozenset((f"x{i}", f"x{i + 1}")) for i in range(n)]
        best = [[0] * n for _ in range(n)]
        for width in range(1, n):
            for i in range(n - width):
                j = i + width
                best[i][j] = min(
                    best[i][k] + best[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                    for k in range(i, j)
                )
        left, cost = list(chain), 0
        ends = frozenset(("x0", f"x{n}"))
        for i, j in contraction_path(chain, ends, names):
            pair = left[i] | left[j]
            cost += int(np.prod([names[x] for x in pair]))
            left = [x for at, x in enumerate(left) if at not in {i, j}]
            left.append(pair & ends.union(*left))
        assert cost <= best[0][n - 1]


def attended(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    scores = wide(q) @ wide(k).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = (
            np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
        )
    return formulas.softmax(scores, -1) @ wide(v)


@pytest.mark.drawn(18)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "causal", "bools", "numbers"])
@pytest.mark.parametrize("most", [1 << 28, 4 * 7 * 3, 0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_attention(kind: str, most: int, dtype: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(attention, "MOST_SCORES", most)
    attention.ATTENTION.known.clear()
    attention.ATTENTION.last.clear()
    shapes = ((2, 5, 8), (2, 7, 8), (2, 7, 3))
    q, k, v = (made(s, dtype, n) for n, s in enumerate(shapes))
    masks = {
        "plain": None,
        "causal": np.tril(np.ones((5, 7), bool)),
        "bools": np.arange(35).reshape(5, 7) % 3 < 2,
        "numbers": made((2, 1, 7), dtype, 5),
    }
    mask, options = masks[kind], {"is_causal": kind == "causal"}
    given = None if kind == "causal" else mask
    found = K.scaled_dot_product_attention(q, k, v, given, **options)
    check(found, attended(q, k, v, mask), dtype)
    attention.ATTENTION.known.clear()
    attention.ATTENTION.last.clear()


@pytest.mark.slow
def test_attention_of_any_extents_is_proven() -> None:
    """Extents of collapsed operands are products, which no loop bound may lose."""
    q = made((2, 2, 64, 32), "float32")
    text = attention.ATTENTION.prepare((q, q, q), False, None).text.text()
    kernels = gcg.compile(text, target="cuda", arch="sm_90a").assembly(attention.NAME)
    assert len(kernels) >= 3


@pytest.mark.cases("is_gpu", [False, True])
def test_scores_of_wide_heads_come_in_parts(is_gpu: bool) -> None:
    """512 MiB of scores are two parts, and one on a GPU."""
    q = np.broadcast_to(np.float16(0), (16, 32, 512, 264))
    recipe = attention.ATTENTION.prepare((q, q, q), False, None, is_gpu)
    assert ("affine.for" in recipe.text.text()) != is_gpu


def test_complex_elements_have_no_softmax() -> None:
    q = made((2, 3), COMPLEX[0])
    with pytest.raises(errors.WrongDtype):
        K.scaled_dot_product_attention(q, q, q)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["ieee", "tf32", "3xtf32"])
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_precision_is_a_permission(target: str, precision: Any) -> None:
    """Rounded factors err by 2^-10 of each product at most, and a CPU rounds none."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape, "f4") for shape in ((9, 40), (40, 7)))
    far = 2.0**-10 if (target, precision) == ("sim", "tf32") else 40 * 2.0**-23
    most = far * (np.abs(wide(a)) @ np.abs(wide(b)))
    right = wide(a) @ wide(b)
    for found in (
        K.matmul(a, b, target=target, precision=precision),
        K.einsum("ij,jk->ik", a, b, target=target, precision=precision),
        K.conv1d(a[None], b[None], layout="NWC", target=target, precision=precision)[0],
    ):
        assert np.all(np.abs(found - right) <= most)


def test_an_unknown_precision_is_refused() -> None:
    x = np.ones((2, 2), "f4")
    with pytest.raises(errors.InvalidOption, match="'ieee', 'tf32' or '3xtf32'"):
        K.matmul(x, x, precision="half")


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.sampled(6)
def test_sums_of_narrow_floats_are_rounded_once(name: str, target: str) -> None:
    narrow = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    a = (np.arange(3 * 24).reshape(3, 24) % 7 / 4).astype(narrow)
    b = (np.arange(24 * 5).reshape(24, 5) % 5 / 8 - 0.25).astype(narrow)
    right = (wide(a) @ wide(b)).astype("f4").astype(narrow)
    found = K.matmul(a, b, target=target)
    assert found.dtype == narrow
    np.testing.assert_array_equal(wide(found), wide(right))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_sums_of_bytes_are_kept_in_a_wider_type(target: str) -> None:
    a, b = made((4, 300), "int8"), made((300, 3), "int8", 1)
    found = K.matmul(a * 9, b * 9, dtype="i4", target=target)
    np.testing.assert_array_equal(found, (a * 9).astype(int) @ (b * 9).astype(int))
