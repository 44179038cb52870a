"""The thirty kernels: MLIR file, the same loops in Python, arguments and sizes.

>>> len(KERNELS)
30
>>> KERNELS["jacobi-2d"].small
{'N': 11, 'T': 3}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from examples.catalogue import Program
from examples.polybench import mining, products, solvers, stencils
from examples.polybench.kernel import (
    Fill,
    Loops,
    autocorrelation,
    bases,
    counts,
    dominant,
    edges,
    positive_definite,
)
from examples.problems import Size

_SMALL: dict[str, int] = dict(
    zip(
        "N M T H W NX NY NI NJ NK NL NM NP NQ NR".split(),
        (11, 13, 3, 8, 9, 10, 12, 7, 9, 5, 8, 6, 7, 4, 5),
        strict=True,
    )
)
_LARGE = dict.fromkeys(_SMALL, 400) | {"T": 50, "NP": 64, "NQ": 60, "NR": 62}
_NUMBERS = {"alpha": 1.5, "beta": 1.2}


def _kernel(
    name: str,
    loops: Callable[..., None],
    signature: str,
    count: Callable[[Size], int],
    fills: Mapping[str, Fill] | None = None,
    numbers: Mapping[str, float] = _NUMBERS,
    large: Size | None = None,
) -> Program:
    problem = Loops(loops, signature, count, fills or {}, numbers)
    names = [name for name in _SMALL if name in problem.extents]
    return Program(
        name=name,
        file=f"polybench/{name}.mlir",
        entry=loops.__name__,
        problem=problem,
        small={name: _SMALL[name] for name in names},
        large={name: _LARGE[name] for name in names} | dict(large or {}),
        tolerance=1e-10,
    )


_PRODUCTS = (
    _kernel(
        "2mm",
        products.k2mm,
        "alpha beta tmp[NI,NJ] A[NI,NK] B[NK,NJ] C[NJ,NL] D[NI,NL]",
        lambda s: (
            3 * s["NI"] * s["NJ"] * s["NK"] + s["NI"] * s["NL"] * (2 * s["NJ"] + 1)
        ),
    ),
    _kernel(
        "3mm",
        products.k3mm,
        "E[NI,NJ] A[NI,NK] B[NK,NJ] F[NJ,NL] C[NJ,NM] D[NM,NL] G[NI,NL]",
        lambda s: (
            2 * (s["NI"] * s["NJ"] * (s["NK"] + s["NL"]) + s["NJ"] * s["NL"] * s["NM"])
        ),
    ),
    _kernel(
        "atax",
        products.atax,
        "A[M,N] x[N] y[N] tmp[M]",
        lambda s: 4 * s["M"] * s["N"],
        large={"M": 2000, "N": 2000},
    ),
    _kernel(
        "bicg",
        products.bicg,
        "A[N,M] s[M] q[N] p[M] r[N]",
        lambda s: 4 * s["M"] * s["N"],
        large={"M": 2000, "N": 2000},
    ),
    _kernel(
        "doitgen",
        products.doitgen,
        "A[NR,NQ,NP] C4[NP,NP] total[NP]",
        lambda s: 2 * s["NR"] * s["NQ"] * s["NP"] * s["NP"],
    ),
    _kernel(
        "gemm",
        products.gemm,
        "alpha beta C[NI,NJ] A[NI,NK] B[NK,NJ]",
        lambda s: s["NI"] * s["NJ"] * (3 * s["NK"] + 1),
    ),
    _kernel(
        "gemver",
        products.gemver,
        "alpha beta A[N,N] u1[N] v1[N] u2[N] v2[N] w[N] x[N] y[N] z[N]",
        lambda s: 10 * s["N"] * s["N"] + s["N"],
        large={"N": 2000},
    ),
    _kernel(
        "gesummv",
        products.gesummv,
        "alpha beta A[N,N] B[N,N] tmp[N] x[N] y[N]",
        lambda s: 4 * s["N"] * s["N"] + 3 * s["N"],
        large={"N": 2000},
    ),
    _kernel(
        "mvt",
        products.mvt,
        "x1[N] x2[N] y1[N] y2[N] A[N,N]",
        lambda s: 4 * s["N"] * s["N"],
        large={"N": 2000},
    ),
    _kernel(
        "symm",
        products.symm,
        "alpha beta C[M,N] A[M,M] B[M,N]",
        lambda s: s["M"] * s["N"] * (5 * (s["M"] - 1) // 2 + 6),
    ),
    _kernel(
        "syr2k",
        products.syr2k,
        "alpha beta C[N,N] A[N,M] B[N,M]",
        lambda s: (6 * s["M"] + 1) * s["N"] * (s["N"] + 1) // 2,
    ),
    _kernel(
        "syrk",
        products.syrk,
        "alpha beta C[N,N] A[N,M]",
        lambda s: (3 * s["M"] + 1) * s["N"] * (s["N"] + 1) // 2,
    ),
    _kernel(
        "trmm",
        products.trmm,
        "alpha A[M,M] B[M,N]",
        lambda s: s["M"] * s["M"] * s["N"],
    ),
)

_SOLVERS = (
    _kernel(
        "cholesky",
        solvers.cholesky,
        "A[N,N]",
        lambda s: s["N"] ** 3 // 3,
        fills={"A": positive_definite},
    ),
    _kernel(
        "durbin",
        solvers.durbin,
        "r[N] y[N]",
        lambda s: 2 * s["N"] * s["N"],
        fills={"r": autocorrelation},
        large={"N": 2000},
    ),
    _kernel(
        "gramschmidt",
        solvers.gramschmidt,
        "A[M,N] R[N,N] Q[M,N]",
        lambda s: 2 * s["M"] * s["N"] * s["N"],
    ),
    _kernel(
        "lu",
        solvers.lu,
        "A[N,N]",
        lambda s: 2 * s["N"] ** 3 // 3,
        fills={"A": dominant},
    ),
    _kernel(
        "ludcmp",
        solvers.ludcmp,
        "A[N,N] b[N] x[N] y[N]",
        lambda s: 2 * s["N"] ** 3 // 3,
        fills={"A": dominant},
    ),
    _kernel(
        "trisolv",
        solvers.trisolv,
        "L[N,N] x[N] b[N]",
        lambda s: s["N"] * s["N"],
        fills={"L": dominant},
        large={"N": 2000},
    ),
)

_STENCILS = (
    _kernel(
        "adi",
        stencils.adi,
        "T u[N,N] v[N,N] p[N,N] q[N,N]",
        lambda s: 30 * s["T"] * (s["N"] - 2) * (s["N"] - 2),
        large={"T": 10},
    ),
    _kernel(
        "fdtd-2d",
        stencils.fdtd_2d,
        "ex[NX,NY] ey[NX,NY] hz[NX,NY] fict[T]",
        lambda s: 11 * s["T"] * s["NX"] * s["NY"],
    ),
    _kernel(
        "heat-3d",
        stencils.heat_3d,
        "T A[N,N,N] B[N,N,N]",
        lambda s: 30 * s["T"] * (s["N"] - 2) ** 3,
        large={"T": 10, "N": 80},
    ),
    _kernel(
        "jacobi-1d",
        stencils.jacobi_1d,
        "T A[N] B[N]",
        lambda s: 6 * s["T"] * (s["N"] - 2),
        large={"T": 200, "N": 20000},
    ),
    _kernel(
        "jacobi-2d",
        stencils.jacobi_2d,
        "T A[N,N] B[N,N]",
        lambda s: 10 * s["T"] * (s["N"] - 2) ** 2,
    ),
    _kernel(
        "seidel-2d",
        stencils.seidel_2d,
        "T A[N,N]",
        lambda s: 9 * s["T"] * (s["N"] - 2) ** 2,
        large={"T": 20},
    ),
)

_MINING = (
    _kernel(
        "correlation",
        mining.correlation,
        "data[N,M] corr[M,M] mean[M] stddev[M]",
        lambda s: s["N"] * s["M"] * (s["M"] + 8),
    ),
    _kernel(
        "covariance",
        mining.covariance,
        "data[N,M] cov[M,M] mean[M]",
        lambda s: s["N"] * s["M"] * (s["M"] + 3),
    ),
    _kernel(
        "deriche",
        mining.deriche,
        "alpha image[W,H] out[W,H] y1[W,H] y2[W,H]",
        lambda s: 32 * s["W"] * s["H"],
        numbers={"alpha": 0.25},
        large={"W": 1000, "H": 800},
    ),
    _kernel(
        "floyd-warshall",
        mining.floyd_warshall,
        "path[N,N]",
        lambda s: 2 * s["N"] ** 3,
        fills={"path": edges},
    ),
    _kernel(
        "nussinov",
        mining.nussinov,
        "seq[N] table[N,N]",
        lambda s: s["N"] ** 3 // 3,
        fills={"seq": bases, "table": counts},
    ),
)

_ALL = sorted((*_PRODUCTS, *_SOLVERS, *_STENCILS, *_MINING), key=lambda k: k.name)

DATASET: Mapping[str, Size] = {
    "2mm": {"NI": 800, "NJ": 900, "NK": 1100, "NL": 1200},
    "3mm": {"NI": 800, "NJ": 900, "NK": 1000, "NL": 1100, "NM": 1200},
    "adi": {"N": 1000, "T": 500},
    "atax": {"M": 1900, "N": 2100},
    "bicg": {"M": 1900, "N": 2100},
    "cholesky": {"N": 2000},
    "correlation": {"M": 1200, "N": 1400},
    "covariance": {"M": 1200, "N": 1400},
    "deriche": {"W": 4096, "H": 2160},
    "doitgen": {"NQ": 140, "NR": 150, "NP": 160},
    "durbin": {"N": 2000},
    "fdtd-2d": {"T": 500, "NX": 1000, "NY": 1200},
    "floyd-warshall": {"N": 2800},
    "gemm": {"NI": 1000, "NJ": 1100, "NK": 1200},
    "gemver": {"N": 2000},
    "gesummv": {"N": 1300},
    "gramschmidt": {"M": 1000, "N": 1200},
    "heat-3d": {"T": 500, "N": 120},
    "jacobi-1d": {"T": 500, "N": 2000},
    "jacobi-2d": {"T": 500, "N": 1300},
    "lu": {"N": 2000},
    "ludcmp": {"N": 2000},
    "mvt": {"N": 2000},
    "nussinov": {"N": 2500},
    "seidel-2d": {"T": 500, "N": 2000},
    "symm": {"M": 1000, "N": 1200},
    "syr2k": {"M": 1000, "N": 1200},
    "syrk": {"M": 1000, "N": 1200},
    "trisolv": {"N": 2000},
    "trmm": {"M": 1000, "N": 1200},
}
"""The size that PolyBench 4.2 calls LARGE."""

KERNELS: Mapping[str, Program] = {kernel.name: kernel for kernel in _ALL}
