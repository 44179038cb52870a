"""Products of matrices: into the caller's result, returned, and from naive loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.case import Call, Case, Peer
from bench.peers import iree_peer, jax_peer, numpy_peer, ours, torch_peer
from bench.row import Work
from examples.catalogue import FOLDER
from examples.problems import Arguments, MatrixProduct

LINALG, NAIVE = FOLDER / "linalg_matmul.mlir", FOLDER / "matmul.mlir"
TYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
TOLERANCES = {"f32": 1e-4, "f64": 1e-12}

Extents = tuple[int, int, int]
"""Rows, columns, and terms of each sum."""
CUBES: tuple[Extents, ...] = tuple((n, n, n) for n in (256, 512, 1024, 2048))
SHAPES: tuple[Extents, ...] = (
    *CUBES,
    (1000, 513, 777),
    (4096, 64, 64),
    (64, 4096, 64),
    (64, 64, 4096),
    (1, 4096, 4096),
)


def returned_text(dtype: str, extents: Extents) -> str:
    """``A B`` as a new tensor.

    >>> returned_text("f64", (1, 2, 3)).splitlines()[0]
    'func.func @matmul(%A: tensor<1x3xf64>, %B: tensor<3x2xf64>) -> tensor<1x2xf64> {'
    """
    m, n, k = extents
    a, b, c = (f"tensor<{x}x{y}x{dtype}>" for x, y in ((m, k), (k, n), (m, n)))
    return f"""func.func @matmul(%A: {a}, %B: {b}) -> {c} {{
  %zero = arith.constant 0.0 : {dtype}
  %empty = tensor.empty() : {c}
  %start = linalg.fill ins(%zero : {dtype}) outs(%empty : {c}) -> {c}
  %C = linalg.matmul ins(%A, %B : {a}, {b}) outs(%start : {c}) -> {c}
  return %C : {c}
}}"""


def product(
    kind: str,
    dtype: str,
    extents: Extents,
    problem: MatrixProduct,
    source: tuple[object, str],
    peers: tuple[Peer, ...],
) -> Case:
    """One product; ``source`` is a program and its entry."""
    m, n, k = extents
    text, entry = source
    return Case(
        name=f"{kind} {dtype} {m}x{n}x{k}",
        source=text,  # type: ignore[arg-type]
        entry=entry,
        arguments=lambda rng: problem.arguments(rng, {"M": m, "N": n, "K": k}),
        answer=problem.answer,
        peers=peers,
        work=Work(2 * m * n * k, TYPES[dtype].itemsize * (m * k + k * n + m * n)),
        dtype=dtype,
        tolerance=TOLERANCES[dtype],
    )


def into(dtype: str, extents: Extents) -> Case:
    """``linalg.matmul`` into the caller's matrix."""
    problem = MatrixProduct(TYPES[dtype].str[1:])
    peers = (
        numpy_peer(lambda a, b, c: np.matmul(a, b, out=c)),
        torch_peer(lambda torch: lambda a, b, c: torch.matmul(a, b, out=c)),
    )
    return product(
        "linalg", dtype, extents, problem, (LINALG, f"matmul_{dtype}"), peers
    )


def returned(dtype: str, extents: Extents) -> Case:
    """A new matrix from every call, memory for it included."""
    problem = MatrixProduct(TYPES[dtype].str[1:], returned=True)
    text = returned_text(dtype, extents)
    peers = (
        numpy_peer(np.matmul),
        torch_peer(lambda torch: torch.matmul),
        jax_peer(lambda jnp: jnp.matmul, 2),
        iree_peer(text, "matmul", 2),
    )
    return product("returned", dtype, extents, problem, (text, "matmul"), peers)


def naive(extents: Extents) -> Case:
    """Three plain loops, against the same product from ``linalg.matmul``."""
    problem = MatrixProduct("f4", accumulate=True)
    peers = (ours(LINALG, "matmul_f32", "linalg.matmul"), Peer("NumPy", _adding))
    return product("naive", "f32", extents, problem, (NAIVE, "matmul"), peers)


def _adding(arguments: Arguments) -> Call:
    """``C += A B``, the product in memory that exists before."""
    a, b, c = arguments
    product_ = np.empty_like(c)
    matmul: Callable[..., object] = np.matmul
    return lambda: np.add(c, matmul(a, b, out=product_), out=c)


LINES = (
    *(into(dtype, extents) for dtype in TYPES for extents in SHAPES),
    *(returned(dtype, extents) for dtype in TYPES for extents in SHAPES),
    *(naive(extents) for extents in SHAPES[:5]),
)
