"""Matrix factorizations and Fourier transforms, run by SciPy's LAPACK and NumPy.

JAX prints factorizations as calls of LAPACK: ``lapack_spotrf_ffi``, where ``s`` is the
element type.  A routine gets the operands, whose last two dimensions are matrices, and
returns all results; ``attributes`` are those of the call.  Names of options are
LAPACK's letters, as numbers of their character: ``uplo = 76`` is ``L``.

The results are SciPy's, whose LAPACK JAX calls, too: equal pivots, signs and orders.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.library.prints import Routine, RoutineCall

Array = np.ndarray[Any, Any]
Arrays = tuple[Any, ...]
Options = Mapping[str, Any]


class RefusedError(Exception):
    """A call that no routine computes: the operation, and a remedy."""


# -- LAPACK ----------------------------------------------------------------------------


def letter(options: Options, name: str, default: str = "N") -> str:
    """The letter of an option.

    >>> letter({"uplo": 76}, "uplo"), letter({}, "diag")
    ('L', 'N')
    """
    return chr(int(options.get(name, ord(default))))


def _is_lower(options: Options) -> bool:
    return letter(options, "uplo", "L") == "L"


def _potrf(run: Any, o: Options, a: Array) -> Arrays:
    return tuple(run(a, lower=_is_lower(o), clean=False))


def _getrf(run: Any, _: Options, a: Array) -> Arrays:
    factors, pivots, info = run(a)
    return factors, pivots + 1, info


def _trsm(run: Any, o: Options, a: Array, b: Array) -> Arrays:
    made = run(
        1.0,
        a,
        b,
        side=letter(o, "side", "L") == "R",
        lower=_is_lower(o),
        trans_a="NTC".index(letter(o, "trans_x")),
        diag=letter(o, "diag") == "U",
    )
    return (made,)


def _geqrf(run: Any, o: Options, a: Array) -> Arrays:
    del o
    factors, scales, _, info = run(a)
    return factors, scales, info


def _geqp3(run: Any, o: Options, a: Array, fixed: Array) -> Arrays:
    del o
    if fixed.any():
        raise RefusedError("geqp3 with fixed columns", "Leave all columns free")
    factors, pivots, scales, _, info = run(a)
    return factors, pivots, scales, info


def _orgqr(run: Any, o: Options, a: Array, scales: Array) -> Arrays:
    del o
    made, _, info = run(a, scales)
    return made, info


def _syevd(run: Any, o: Options, a: Array) -> Arrays:
    vectors = letter(o, "mode", "V") == "V"
    values, made, info = run(a, compute_v=vectors, lower=_is_lower(o))
    return made if vectors else a, values, info


def _gesdd(run: Any, o: Options, a: Array) -> Arrays:
    """``left`` and ``right``: how many vectors a result has that is not computed."""
    mode = letter(o, "mode", "A")
    made = run(a, compute_uv=mode != "N", full_matrices=mode == "A")
    left, values, right, info = made
    if mode == "N":
        left = np.zeros((len(a), int(o["left"])), a.dtype)
        right = np.zeros((int(o["right"]), a.shape[1]), a.dtype)
    return a, values, left, right, info


def _geev(run: Any, o: Options, a: Array) -> Arrays:
    sides = [letter(o, f"compute_{side}") == "V" for side in ("left", "right")]
    made = run(a, compute_vl=sides[0], compute_vr=sides[1])
    *values, left, right, info = made
    if a.dtype.kind == "f":
        left, right = (_pairs(values[1], vectors) for vectors in (left, right))
    shown = [
        vectors if wanted else np.zeros(a.shape, vectors.dtype)
        for wanted, vectors in zip(sides, (left, right), strict=True)
    ]
    return *values, *shown, info


def _pairs(imaginary: Array, vectors: Array) -> Array:
    """Eigenvectors of conjugate pairs, which LAPACK stores as real and imaginary part.

    >>> _pairs(np.array([0., 2., -2.]), np.array([[1., 3., 4.]])).tolist()
    [[(1+0j), (3+4j), (3-4j)]]
    """
    made = vectors.astype(np.result_type(vectors.dtype, np.complex64))
    for n in np.flatnonzero(imaginary > 0) if vectors.size else ():
        made[:, n] = vectors[:, n] + 1j * vectors[:, n + 1]
        made[:, n + 1] = made[:, n].conj()
    return made


def _selects_none(*value: object) -> bool:
    del value
    return False


def _gees(run: Any, o: Options, a: Array) -> Arrays:
    if letter(o, "sort") != "N":
        raise RefusedError("gees with sorting", "Leave the eigenvalues unsorted")
    made = run(_selects_none, a, compute_v=letter(o, "mode") == "V")
    form, selected, *values, vectors, _, info = made
    if not vectors.size:
        vectors = np.zeros_like(form)
    return form, vectors, *values, selected, info


def _gehrd(run: Any, o: Options, a: Array) -> Arrays:
    low, high = int(o.get("low", 1)) - 1, int(o.get("high", len(a))) - 1
    made, scales, info = run(a, lo=low, hi=high)
    return made, scales, info


def _sytrd(run: Any, o: Options, a: Array) -> Arrays:
    return tuple(run(a, lower=_is_lower(o)))


def _gtsv(run: Any, o: Options, dl: Array, d: Array, du: Array, b: Array) -> Arrays:
    """Tridiagonal systems; JAX's lower diagonal starts with an unused element."""
    del o
    *_, solution, info = run(dl[1:], d, du[:-1], b)
    return dl, d, du, solution, info


_Wrapper = Callable[..., Arrays]
_ROUTINES: dict[str, _Wrapper] = {
    "potrf": _potrf,
    "getrf": _getrf,
    "geqrf": _geqrf,
    "geqp3": _geqp3,
    "orgqr": _orgqr,
    "ungqr": _orgqr,
    "syevd": _syevd,
    "heevd": _syevd,
    "gesdd": _gesdd,
    "geev": _geev,
    "gees": _gees,
    "gehrd": _gehrd,
    "sytrd": _sytrd,
    "hetrd": _sytrd,
    "gtsv": _gtsv,
    "trsm": _trsm,
}
"""By LAPACK's name without the letter of the type."""

VECTORS = {("orgqr", 1), ("ungqr", 1), ("geqp3", 1)} | {("gtsv", n) for n in range(3)}
"""Operands of rank 1, by routine and position; the others are matrices."""


def lapack_name(call: str) -> str | None:
    """The routine that a call of JAX names, with the type; None if there is none.

    >>> lapack_name("lapack_spotrf_ffi"), lapack_name("blas_dtrsm")
    ('spotrf', 'dtrsm')
    >>> lapack_name("my_function")
    """
    for prefix in ("lapack_", "blas_"):
        name = call.removeprefix(prefix).removesuffix("_ffi")
        if name != call and name[:1] in "sdcz" and name[1:] in _ROUTINES:
            return name
    return None


def _function(name: str) -> Any:
    library = "blas" if name[1:] == "trsm" else "lapack"
    try:
        routines = getattr(importlib.import_module("scipy.linalg"), library)
    except ImportError:
        raise RefusedError(name, "Install scipy, which has it") from None
    return getattr(routines, name)


def lapack(given: RoutineCall) -> Arrays:
    """Call a routine for each matrix of a batch.  Raises UnsupportedOperation."""
    try:
        return _of_each_matrix(given)
    except RefusedError as refused:
        operation, advice = refused.args
        raise errors.UnsupportedOperation(
            given.location, operation=operation, target="LAPACK", advice=advice
        ) from None


def _of_each_matrix(given: RoutineCall) -> Arrays:
    name = given.name.partition(".")[2]
    wrapper = _ROUTINES[name[1:]]
    run = _function(name)
    operands = [given.contents(v) for v in given.operands]
    ranks = [1 if (name[1:], n) in VECTORS else 2 for n in range(len(operands))]
    batch = operands[0].shape[: operands[0].ndim - ranks[0]]
    if not batch:
        return _numbers(wrapper(run, given.attributes, *operands))
    flat = [
        x.reshape((-1, *x.shape[x.ndim - rank :]))
        for x, rank in zip(operands, ranks, strict=True)
    ]
    made = [
        _numbers(wrapper(run, given.attributes, *each))
        for each in zip(*flat, strict=True)
    ]
    columns = zip(*made, strict=True)
    return tuple(_stacked(column, batch) for column in columns)


def _numbers(made: Arrays) -> Arrays:
    return tuple(
        np.asarray(x, np.int32) if np.asarray(x).dtype.kind == "i" else np.asarray(x)
        for x in made
    )


def _stacked(column: Sequence[Array], batch: tuple[int, ...]) -> Array:
    return np.stack(column).reshape((*batch, *column[0].shape))


# -- Fourier transforms ----------------------------------------------------------------


def fourier(given: RoutineCall) -> Arrays:
    """The transform of ``kind`` along the last dimensions, of these lengths.

    >>> x = np.array([1.0, 0.0, 0.0, 0.0])
    >>> about = {"kind": "RFFT", "length": "4"}
    >>> fourier(RoutineCall("fft.transform", (x,), ("f64[]",), about))[0].tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    x = given.contents(given.operands[0])
    lengths = [int(n) for n in str(given.attributes["length"]).split(",")]
    axes = tuple(range(-len(lengths), 0))
    kind = str(given.attributes["kind"])
    made: Array = _TRANSFORMS[kind](x, lengths, axes)
    single = str(x.dtype) in ("float32", "complex64")
    return (made.astype(_SINGLE[made.dtype.kind]) if single else made,)


_SINGLE = {"f": np.float32, "c": np.complex64}
_TRANSFORMS: dict[str, Callable[..., Any]] = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "RFFT": np.fft.rfftn,
    "IRFFT": np.fft.irfftn,
}

TRANSFORMS: dict[str, Routine] = {
    "fft.transform": fourier,
    **{f"lapack.{kind}{name}": lapack for name in _ROUTINES for kind in "sdcz"},
}
"""The routines by the name of the operation."""
