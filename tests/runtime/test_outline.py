"""Parallel loops as functions of their own: which variables they take along."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from gpucodegen.runtime.cpu.kernels import compile_cpu, outlined
from gpucodegen.runtime.host.spec import KernelSpec, Param

HEADER = "from gpucodegen.intrinsics.cpu import prange\n"


def calls(body: str) -> list[str]:
    made = outlined(f"def f(A, B, n):\n{body}", "f")
    return [
        ast.unparse(node)
        for node in ast.walk(made.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "parallel_for"
    ]


@pytest.mark.cases(
    ("body", "expected"),
    [
        (" for i in prange(n):\n  A[i] = i", "parallel_for(f_0, n, (A,))"),
        (
            " k = n // 2\n for i in prange(4):\n  s = k + i\n  s += n\n  B[s] = s",
            "parallel_for(f_0, 4, (B, n, k))",
        ),
        (
            " s = 1\n for i in prange(n):\n  s = i\n  A[s] = s\n A[0] = s",
            "parallel_for(f_0, n, (A,))",
        ),
        (
            " k = 1\n for i in prange(n):\n  for k in range(k, 4):\n   A[k] = i",
            "parallel_for(f_0, n, (A, k))",
        ),
        (" for i in prange(3):\n  pass", "parallel_for(f_0, 3, ())"),
        (
            " begin = n\n for i in prange(begin):\n  A[i] = begin",
            "parallel_for(f_0, begin, (A, begin))",
        ),
    ],
)
def test_what_is_read_before_it_is_written_is_taken_along(body: str, expected: str):
    assert calls(body) == [expected]


def kernel(body: str, *params: tuple[str, str, str], threads: int = 2) -> Any:
    names = ", ".join(name for name, *_ in params)
    source = f"{HEADER}\n\ndef k({names}):\n{body}"
    spec = KernelSpec(
        "k", source, tuple(Param(*p) for p in params), parallel=True, threads=threads
    )
    return compile_cpu(spec).entry


@pytest.mark.parametrize("threads", [2, 3])
def test_each_iteration_runs_once(threads: int):
    body = (
        " for t in range(rounds):\n"
        "  for i in prange(n):\n"
        "   A[i] = A[i] + i * x + t\n"
        "  for j in prange(n - 1):\n"
        "   A[j] = A[j] + 1.0"
    )
    run = kernel(
        body,
        ("A", "pointer", "f64"),
        ("n", "scalar", "index"),
        ("rounds", "scalar", "index"),
        ("x", "scalar", "f64"),
        threads=threads,
    )
    for n in (0, 1, 2, 3, 4, 7, 1000):
        a = np.zeros(n + 1)
        run(a.ctypes.data, n, 3, 0.5)
        expected = 3 * 0.5 * np.arange(n + 1) + 3
        expected[: max(n - 1, 0)] += 3
        expected[n] = 0
        assert np.array_equal(a, expected), n


def test_a_negative_number_of_iterations_is_none():
    run = kernel(
        " for i in prange(n):\n  A[0] = 1.0",
        ("A", "pointer", "f64"),
        ("n", "scalar", "index"),
    )
    a = np.zeros(1)
    run(a.ctypes.data, -5)
    assert a[0] == 0
