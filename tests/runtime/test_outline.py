"""Parallel loops as functions of their own: which variables they take along."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gpucodegen.intrinsics.cpu import target
from gpucodegen.runtime.cpu.kernels import (
    assembly,
    compile_cpu,
    dispatcher_of,
    outlined,
)
from gpucodegen.runtime.host.spec import KernelSpec, Param

HEADER = """from gpucodegen.intrinsics import cpu
from gpucodegen.intrinsics.cpu import addf, prange
local_9xf64 = cpu.local(9, "f64")
vload_4xf32 = cpu.vload(4, "f32")
vstore_4xf32 = cpu.vstore(4, "f32")
"""


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


def spec_of(body: str, *params: tuple[str, str, str], threads: int = 2) -> KernelSpec:
    names = ", ".join(name for name, *_ in params)
    source = f"{HEADER}\n\ndef k({names}):\n{body}"
    given = tuple(Param(*p) for p in params)
    return KernelSpec("k", source, given, parallel=True, threads=threads)


def kernel(body: str, *params: tuple[str, str, str], threads: int = 2) -> Any:
    return compile_cpu(spec_of(body, *params, threads=threads)).entry


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


LAYERS = """
 for i in range(n):
  k = i + 1
  for j in range(4):
   {0}[i] = {0}[i] + 0.5 * {1}[k] + A[j] / 2.0 + {0}[k] - {1}[i] / 3.0 + A[j + 1] / 4.0
"""


def test_loops_that_differ_in_names_are_one_function():
    body = "".join(LAYERS.format(*names) for names in ("BC", "CB", "DA"))
    made = outlined(f"def f(A, B, C, D, n):\n{body}", "f")
    (part,) = made.parts
    lines = ast.unparse(made.tree).splitlines()
    assert [line.strip() for line in lines if "call_outlined" in line] == [
        f"call_outlined({part}, (A, B, C, n))",
        f"call_outlined({part}, (A, C, B, n))",
    ]


def test_a_part_is_compiled_once_for_all_its_loops():
    loop = " for i in prange(n):\n  for j in range(n):\n   {0}[i] = {0}[i] + {0}[j]\n"
    names = ("A", "pointer", "f64"), ("B", "pointer", "f64"), ("n", "scalar", "index")
    text = assembly(spec_of("".join(map(loop.format, "ABA")), *names))
    assert len(re.findall(r"^part\S*:", text, re.MULTILINE)) == 1
    assert not re.findall(r"^_ZN\S*k_0\S*:", text, re.MULTILINE)


def test_attributes_and_exponents_are_no_variables():
    lines = ("A[i] = c.real * 1e5", "A[i] = c.imag * 1e5", "A[i] = c.real * 1e6")
    body = "".join(
        f" for i in range(n):\n  {line} + (A[i] + 1.0) * (A[i] + 2.0) * (A[i] + 3.0)\n"
        f"  {line} - (A[i] + 4.0) * (A[i] + 5.0) * (A[i] + 6.0)\n"
        for line in lines
    )
    names = " real = 1\n imag = 2\n e5 = 3\n e6 = 4\n"
    assert not outlined(f"def f(A, c, n):\n{names}{body}", "f").parts
    assert outlined(f"def f(A, c, n):\n{names}{body * 2}", "f").parts


@pytest.mark.parametrize("behind", ["A[0] = k", "B[0] = j\n A[1] = k"])
def test_loops_stay_whose_variables_are_needed_behind_them(behind: str):
    body = LAYERS.format(*"BC") + f" {behind}\n" + LAYERS.format(*"CB")
    assert not outlined(f"def f(A, B, C, n):\n{body}", "f").parts


def test_repeated_loops_compute_the_same():
    names = [*"BCDBDC"] * 3
    body = "".join(LAYERS.format(*pair) for pair in pairwise(names))
    params = [*((name, "pointer", "f64") for name in "ABCD"), ("n", "scalar", "index")]
    values = np.random.default_rng(1).uniform(0.1, 1, (4, 9))
    expected = values.copy()
    found: dict[str, Any] = {}
    exec(f"def k(A, B, C, D, n):\n{body}", found)
    found["k"](*expected, 8)
    run = kernel(body, *params)
    run(*(each.ctypes.data for each in values), 8)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_pointers_of_python_and_of_a_kernel_are_one_type(
    monkeypatch: pytest.MonkeyPatch,
):
    compiled, original = list[str](), target._in_library

    def recorded(context: Any, function: Any, taken: Any) -> Any:
        compiled.append(function.__name__)
        return original(context, function, taken)

    monkeypatch.setattr(target, "_in_library", recorded)
    body = " E = local_9xf64()\n" + "".join(
        LAYERS.format(*pair) for pair in ("BC", "EB", "CE")
    )
    params = [*((name, "pointer", "f64") for name in "ABC"), ("n", "scalar", "index")]
    kernel(body, *params)
    assert compiled == ["k_0"]


LOOPS = {
    "range(0, 4096, 4)": 32,  # 4 operations: the largest power of two up to 128 / 4
    "range(0, 32, 4)": 8,
    "range(0, 4 * n, 4)": 32,
}


@pytest.mark.parametrize("over", LOOPS)
def test_loops_are_unrolled_up_to_the_size_that_hides_their_control(over: str):
    source = (
        f"{HEADER}\ndef k(A, n):\n for i in {over}:\n"
        "  vstore_4xf32(A, i, addf(vload_4xf32(A, i), vload_4xf32(A, i)))"
    )
    spec = KernelSpec(
        "k", source, (Param("A", "pointer", "f32"), Param("n", "scalar", "index"))
    )
    dispatcher, types = dispatcher_of(spec)
    dispatcher.compile(types)
    text = dispatcher.inspect_llvm(types)
    body = text[text.index("define") :].partition("\n}")[0]
    stores = body.count("store <4 x float>")
    assert stores in {LOOPS[over], LOOPS[over] + 1}, body  # a loop for the rest
    assert ("br i1" in body) == (over != "range(0, 32, 4)")
