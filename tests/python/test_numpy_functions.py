"""Calls of NumPy's functions under jit, each option once, against NumPy itself."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.python.results import is_tuple

NAMES = ("v", "w", "m", "t", "s", "i", "b")
FAMILIES = {
    "rounding": "np.round(m); np.round(m, 1); np.around(m, decimals=-1); m.round(2);"
    " np.fix(m); np.rint(m); np.deg2rad(m); np.degrees(v);"
    " np.float_power(np.abs(v), 2); np.round(i, 1); round(v[0], 2); round(7, 1);"
    " np.signbit(m); np.modf(m); np.divmod(m, v); np.logaddexp(m, v);"
    " np.logaddexp2(v, w)",
    "ufunc options": "np.add(v, w, out=np.zeros_like(v));"
    " np.add(v, w, np.ones_like(v));"
    " np.multiply(v, w, where=v > w, out=np.ones_like(v));"
    " np.add(v, w, dtype=np.float64); np.maximum(m, v, out=np.zeros(m.shape))",
    "reductions": "np.sum(m, axis=0, out=np.zeros(6)); np.sum(a=m, where=b);"
    " np.sum(m, axis=1, initial=2, dtype=np.float64); np.prod(m, 0, where=b);"
    " np.max(m, initial=9, axis=1); np.min(m, where=b, initial=5); np.mean(m, where=b);"
    " np.var(m, where=b); np.std(m, axis=1, ddof=1, where=b); np.any(m, 0, where=b);"
    " np.all(m, axis=1, keepdims=True); np.cumsum(m); m.cumprod(axis=0);"
    " np.sum((1, 2, 3)); np.prod(m.shape); np.max(m, axis=(0, 1));"
    " sum(v, 0.0); sum(i, 2); sum(b[0]); sum(m); any(v); all(w)",
    "items": "min(v); max(w); min(i); max(b[0]); min(np.array([np.nan, 1.0]));"
    " min(np.array([1.0, np.nan]))",
    "ufunc methods": "np.add.reduce(m); np.add.reduce(m, axis=1, keepdims=True);"
    " np.maximum.reduce(m, axis=None); np.multiply.reduce(v, dtype=np.float64);"
    " np.logical_or.reduce(m, 1); np.add.reduce(m, where=b); np.add.accumulate(m);"
    " np.maximum.accumulate(m, axis=1); np.multiply.accumulate(v);"
    " np.logical_and.accumulate(v); np.add.reduce(m, initial=3)",
    "integers": "np.bitwise_or.reduce(i); np.bitwise_and.reduce(i);"
    " np.bitwise_xor.reduce(i)",
    "products": "np.matmul(t, t.transpose(0, 2, 1)); t @ m.T; np.matmul(t, v); v @ m.T;"
    " t[:1] @ m.T; np.dot(t, v); np.dot(m, t.transpose(0, 2, 1)); np.inner(m, m);"
    " np.inner(v, w); np.vdot(v, w); np.kron(s, m); np.kron(v, m);"
    " np.matmul(m, v, out=np.zeros(4)); np.dot(v, 2); np.tensordot(t, m, 2);"
    " np.tensordot(m, m, axes=([1], [1])); np.tensordot(m, t, axes=(0, 1));"
    " np.tensordot(v, w, axes=0)",
    "einsum": "np.einsum('ij,kj->ik', m, m); np.einsum('ij', m); np.einsum('ji', m);"
    " np.einsum('ii', s); np.einsum('ii->i', s); np.einsum('...j,j', t, v);"
    " np.einsum('ij->', m); np.einsum('bij, bkj -> bik', t, t);"
    " np.einsum('ij,j,kj->ik', m, v, m, optimize=True); np.einsum('i,i', v, w);"
    " np.einsum('i,j->ij', v, w); np.einsum('...ij,...kj->...ik', t, m)",
    "differences": "np.diff(v); np.diff(m, axis=0); np.diff(v, n=2); np.diff(v, 0);"
    " np.diff(v, prepend=0, append=v[:2]); np.gradient(v); np.gradient(v, 2.0);"
    " np.gradient(m); np.gradient(m, 2, axis=1); np.gradient(m, 1.0, 2.0);"
    " np.gradient(v, np.arange(6.0) ** 2); np.gradient(m, axis=0, edge_order=2);"
    " np.gradient(v, np.arange(6.0) ** 2, edge_order=2);"
    " np.trapezoid(v); np.trapezoid(m, v); np.trapezoid(m, dx=0.5, axis=0);"
    " np.cross(m[:, :3], m[:, 3:]); np.cross(v[:3], m[:, 3:]); np.convolve(v, w[:3]);"
    " np.convolve(v, w[:3], 'same'); np.convolve(w[:2], v, mode='valid');"
    " np.correlate(v, w[:3])",
    "searches": "np.searchsorted(np.arange(6.0), w);"
    " np.searchsorted(i[:1], v, 'right');"
    " np.searchsorted(np.arange(9), 3); np.interp(w, np.arange(6.0), v);"
    " np.interp(0.5, (0, 1), (2, 4)); np.interp(w, (0.0, 1.0), (5, 6), left=-1);"
    " np.digitize(v, np.array([-1.0, 0.0, 1.0])); np.digitize(v, (2, 1), right=True)",
    "statistics": "np.average(m); np.average(m, axis=1, weights=np.abs(v) + 1);"
    " np.average(m, 0, returned=True); np.cov(m); np.cov(m, rowvar=False);"
    " np.cov(v, w);"
    " np.cov(v, bias=True); np.cov(m, ddof=0); np.corrcoef(m); np.corrcoef(v, w);"
    " np.median(m); np.median(m, axis=1); np.percentile(m, 30);"
    " np.quantile(m, 0.3, axis=0); np.percentile(v, (25, 75))",
    "histograms": "np.histogram(v); np.histogram(m, bins=4);"
    " np.histogram(v, 5, weights=w);"
    " np.histogram(v, np.array([-1.0, 0.0, 1.0])); np.histogram(v, 3, (-1, 1));"
    " np.histogram(v, bins=(0, 1, 2), density=True); np.bincount(i);"
    " np.bincount(i, minlength=9); np.bincount(i, weights=v[:4]);"
    " np.histogram_bin_edges(v, 3)",
    "nan": "np.nansum(m); np.nanmean(m, axis=0); np.nanmax(m); np.nanmin(m, axis=1);"
    " np.nanstd(m); np.nanvar(m, ddof=1); np.nanprod(m, 0); np.nanargmax(v);"
    " np.nancumsum(v); np.nan_to_num(v); np.nan_to_num(m, nan=1, posinf=2, neginf=-3);"
    " np.nanmedian(m)",
    "order": "np.sort(m); np.sort(m, axis=0); np.sort(m, None); np.argsort(v);"
    " np.unique(v); np.unique(i, return_counts=True); np.partition(v, 2); v.argsort();"
    " np.lexsort((v, w)); np.take_along_axis(m, np.argsort(m, axis=1), axis=1)",
    "selection": "np.take(v, i); np.take(m, i[:2], axis=1); m.take((0, 2), 0);"
    " np.take(m, 3, axis=-1); np.take(m, i); np.take(v, i + 4, mode='wrap');"
    " np.take(v, i + 4, mode='clip'); np.select([v > 0, v < -1], [v, w], 0);"
    " np.select((v > 0, w > 0), (v, 2)); np.choose(np.array([0, 1, 0]), (v[:3], 2));"
    " m.diagonal(); np.diagonal(t, 1, 1, 2); np.trace(m, 1); np.trace(t);"
    " np.isin(v, w); np.isin(i, (1, 2), invert=True); np.extract(b, m);"
    " np.delete(v, 2); np.insert(v, 2, 1); np.argwhere(b); np.compress(v > 0, v)",
    "comparisons": "np.array_equal(v, w); np.array_equal(v, v); np.array_equal(v, m);"
    " np.array_equal(v, v, equal_nan=True); np.allclose(v, w); np.allclose(v, v);"
    " np.isclose(v, w); np.isclose(v, v, equal_nan=True); np.isclose(m, m + 1e-9, 0)",
    "clip": "np.clip(m, 0, 1); np.clip(m, None, 1); m.clip(min=0); m.clip(0, v);"
    " np.clip(m, a_min=0, a_max=2)",
    "parts": "np.split(v, 2); np.split(m, (1, 3), axis=1); np.array_split(v, 4);"
    " np.hsplit(m, 2); np.vsplit(m, [1]); np.indices((2, 3));"
    " np.indices((2, 3), sparse=True); np.fromfunction(lambda x, y: x * 2 + y, (3, 4));"
    " np.fromfunction(lambda x, y: x == y, (2, 2), dtype=int); np.atleast_1d(v);"
    " np.atleast_2d(v); np.pad(m, 2); np.pad(v, (1, 9), 'reflect');"
    " np.pad(m, ((1, 2), (0, 3)), 'edge'); np.pad(m, 5, mode='wrap');"
    " np.pad(v, (8,), 'symmetric'); np.pad(m, (1, 2), constant_values=3);"
    " np.broadcast_arrays(v, m); np.rot90(m); np.rollaxis(t, 2);"
    " np.roll(m, 1); np.dstack((m, m)); np.triu_indices(3); np.vander(v, 3)",
    "fourier": "np.fft.fft(v); np.fft.ifft(v); np.fft.rfft(v); np.fft.irfft(v);"
    " np.fft.fft2(m); np.fft.fft(m, axis=0); np.fft.fft(v, n=4); np.fft.rfft(m, 4, 1);"
    " np.fft.fftshift(v); np.fft.fftfreq(6, 0.5)",
    "linear algebra": "np.linalg.matrix_power(s, 3); np.linalg.slogdet(s);"
    " np.linalg.matrix_rank(s); np.linalg.lstsq(m.T, v); np.linalg.cond(s);"
    " np.linalg.svd(m, full_matrices=False); np.linalg.svd(s, compute_uv=False)[:2]",
    "queries": "np.ndim(m); np.shape(m); np.size(m, 1); m.itemsize; m.nbytes;"
    " m.dtype == np.float64; m.dtype.kind == 'f'; m.dtype in (np.int32, np.int64);"
    " np.iscomplexobj(m); np.finfo(np.float32).eps; np.iinfo(np.int32).max;"
    " np.zeros([2, 3], dtype=m.dtype);"
    " np.zeros(shape=(3,), dtype=np.result_type(m, v));"
    " np.array(m.shape); max(m.shape); sum(m.shape); all((True, m.ndim == 2));"
    " divmod(7, len(v)); m[(slice(None),) * 1 + (2,)]; (*m.shape, 1); v[0].item();"
    " m.shape == (4, 6); m[[0, 2]]; m[..., [1, 0]]; v.round().dtype.itemsize",
}  # fmt: skip
KINDS = ("f8", "f4", "i4", "i8", "?", "special", "empty")


def arrays(kind: str) -> dict[str, Any]:
    """An array for each of `NAMES`, of ranks 1 to 3; ``i`` has places.

    ``special``: float64 with NaN, infinities and negative zeros.
    """
    shapes = ((6,), (6,), (4, 6), (2, 4, 6), (4, 4))
    rng = np.random.default_rng(3)
    if kind == "empty":
        made = {
            n: np.zeros(shape)
            for n, shape in zip("wts", ((0,), (2, 0, 6), (0, 0)), strict=False)
        }
        made |= {"v": np.zeros(0), "m": np.zeros((4, 0)), "b": np.zeros((4, 0), bool)}
        return {n: made.get(n, np.zeros(0, int)) for n in NAMES}
    dtype = np.dtype("f8" if kind == "special" else kind)

    def numbers(*shape: int) -> Any:
        if dtype.kind == "f":
            return (3 * rng.standard_normal(shape)).astype(dtype)
        return rng.integers(0 if dtype.kind == "b" else -9, 9, shape).astype(dtype)

    made = dict(zip(NAMES, [numbers(*shape) for shape in shapes], strict=False))
    for name in "vmt" if kind == "special" else "":
        made[name].flat[:4] = np.nan, np.inf, -np.inf, -0.0
    return made | {"i": np.array([3, 1, 2, 0]), "b": rng.random((4, 6)) < 0.7}


def function_of(expressions: list[str]) -> Any:
    """A function that returns the value of each expression."""
    body = "".join(f"        {text},\n" for text in expressions)
    source = (
        f"import numpy as np\ndef f({', '.join(NAMES)}):\n    return (\n{body}    )\n"
    )
    filename = f"<functions {abs(hash(source))}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), names)
    return names["f"]


def same(actual: Any, expected: Any, tolerance: float) -> None:
    if isinstance(expected, tuple | list):
        assert is_tuple(actual)
        for one, other in zip(actual, expected, strict=True):
            same(one, other, tolerance)
        return
    one, other = np.asarray(actual), np.asarray(expected)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def check(family: str, given: dict[str, Any], target: str) -> None:
    """Compare what NumPy computes of these arrays; what it refuses is left out."""
    kept: list[str] = []
    values: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in map(str.strip, FAMILIES[family].split(";")):
            if not given["v"].size and CUT in text:
                continue
            copies = {n: x.copy() for n, x in given.items()}
            try:
                values.append(eval(text, {"np": np}, copies))
            except (TypeError, ValueError, IndexError, ZeroDivisionError):
                continue
            kept.append(text)
        compiled = gcg.jit(target=target)(function_of(kept))
        actual = compiled(*(x.copy() for x in given.values()))
    tolerance = 2e-4 if given["v"].dtype == np.float32 else 1e-9
    for text, one, other in zip(kept, actual, values, strict=True):
        try:
            same(one, other, tolerance)
        except AssertionError as problem:
            raise AssertionError(f"{text}: {problem}") from problem


CUT = "[:"
"""Slices must lie inside of their arrays, which empty arrays have none of."""
CASES = [(family, kind) for family in FAMILIES for kind in KINDS]


@pytest.mark.drawn(2)
@pytest.mark.sampled(280)
@pytest.mark.cases("case", CASES, ids=" ".join, parts=12)
def test_functions(case: tuple[str, str]):
    check(case[0], arrays(case[1]), "cpu")


@pytest.mark.slow
@pytest.mark.drawn(2)
@pytest.mark.cases("family", list(FAMILIES), parts=8)
def test_functions_on_the_emulated_gpu(family: str):
    check(family, arrays("f8"), "sim")


WRONG = {
    "np.cross(m, m)": "vectors of 3",
    "np.bincount(i - 9)": "no negative numbers",
    "np.split(v, 4)": "equal parts",
    "np.choose(i, (v[:4], 1))": "invalid entry",
    "np.linalg.lstsq(m, v)": "Incompatible dimensions",
}


@pytest.mark.sampled(3)
@pytest.mark.cases(("text", "said"), WRONG.items())
def test_what_numpy_refuses_at_a_call_ends_it(text: str, said: str):
    compiled = gcg.jit(target="cpu")(function_of([text]))
    with pytest.raises(errors.AssertionFailed, match=said):
        compiled(*arrays("f8").values())
