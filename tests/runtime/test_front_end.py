"""The front end for CUDA kernels: each form of text computes what Python computes.

Kernels run on the emulated device, as the PTX that a GPU gets.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from gpucodegen import errors
from gpucodegen.debugging.levels import debug
from gpucodegen.intrinsics.cuda import assembly
from gpucodegen.intrinsics.framework.lowering import CachingBuilder
from gpucodegen.runtime.cuda import compilation
from gpucodegen.runtime.cuda.compilation import llvm_text
from gpucodegen.runtime.host import generated_code
from gpucodegen.runtime.host.generated_code import (
    DIRECT,
    FRONT_END_VARIABLE,
    FRONT_ENDS,
)
from gpucodegen.runtime.host.spec import KernelSpec, Param
from tests.ptx.kernels import launch

HEADER = "from gpucodegen.intrinsics.cuda import float32, int32, int64\n\n\n"
ARRAY, NUMBER = "A", "n"


def spec_of(body: str, element: str = "i64", source: str = HEADER) -> KernelSpec:
    """A kernel ``k(A, n)`` of one array and a 32-bit index."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    params = Param(ARRAY, "pointer", element), Param(NUMBER, "scalar", "index")
    return KernelSpec("k", f"{source}def k({ARRAY}, {NUMBER}):\n{lines}", params)


FORMS = {
    "a loop": """
i = int32(0)
while i < n:
    A[i] = i * 3
    i = int32(i + 1)
""",
    "nested loops": """
i = int32(0)
while i < n:
    j = int32(i)
    while j < n:
        A[i] = A[i] + j
        j = int32(j + 2)
    i = int32(i + 1)
""",
    "an endless loop with breaks": """
i = int32(0)
while True:
    if i >= n:
        break
    A[i] = i
    if A[i] == 4:
        A[0] = 7
        break
    i = int32(i + 1)
A[5] = i
""",
    "a loop that runs once": """
while True:
    A[0] = n
    break
""",
    "a branch": """
if n > 3:
    x = int64(n)
else:
    x = int64(-n)
A[0] = x
""",
    "a chain of branches": """
if n == 0:
    A[0] = 10
elif n == 3:
    A[0] = 20
else:
    if True:
        A[0] = 30
""",
    "a name that a branch assigns anew": """
x = int64(5)
if n > 3:
    x = x + n
    A[1] = x
A[0] = x
""",
    "a name of a type for each use": """
x = int64(n) * 2
A[0] = x
x = float32(n)
if x > 2.5:
    A[1] = 1
x = int64(4)
A[2] = x
""",
    "names that change places": """
a, b, c = int64(n), int64(2), int64(3)
i = int32(0)
while i < n:
    a, b, c = b, c, a
    i = int32(i + 1)
A[0], A[1] = a, b
A[2] = c
""",
    "tests that are evaluated where needed": """
i = int32(0)
while i < n and A[i] == 0:
    if i > 4 or A[i + 1] == 9:
        A[i] = 5
    i = int32(i + 1)
A[7] = i
""",
    "truth of negated tests": """
if not n > 3:
    A[0] = 1
if not (n > 1 and n < 4):
    A[1] = 1
if not (n < 1 or n == 3):
    A[2] = 1
""",
    "truth of numbers": """
if n:
    A[0] = 1
p = n > 2 and n < 9
q = n > 2 or n == 0
if p:
    A[1] = 1
if q:
    A[2] = int64(q)
A[3] = int64(not p)
""",
    "comparisons": """
A[0] = int64(n < 3)
A[1] = int64(n <= 3)
A[2] = int64(n > 3)
A[3] = int64(n >= 3)
A[4] = int64(n == 3)
A[5] = int64(n != 3)
""",
    "operators": """
A[0] = (n + 5) * 3 - 1
A[1] = (n << 2) | 1
A[2] = (n ^ 12) & ~2
A[3] = (n + 100) // 7
A[4] = (n + 100) % 7
A[5] = -n
A[6] = (n - 9) >> 1
A[7] = 3 * 4 - (1 << 5)
""",
    "minima, and more of a name than one type": """
A[0] = min(n, 3)
A[1] = max(n, int32(2), 4)
""",
    "a name that an earlier iteration assigns": """
last = int64(0)
i = int32(0)
while i < n:
    if i > 0:
        A[i] = last
    last = int64(i)
    i = int32(i + 1)
""",
    "ranges": """
for i in range(n):
    A[0] = A[0] * 10 + i
for i in range(-1, 7 - n, 2):
    A[1] = A[1] * 10 + i
for i in range(n, 1, -2):
    A[2] = A[2] * 10 + i
for i in range(2, 9, 3):
    A[3] = A[3] * 10 + i
for i in range(9, 2, -3):
    A[4] = A[4] * 10 + i
for i in range(5, 2):
    A[5] = 1
""",
    "names of nested loops": """
a = int64(n)
b = int64(0)
for i in range(3):
    if n > 2:
        b = b + a
        c = b + i
        A[i] = c
    else:
        a = int64(i)
        A[i] = a
    for j in range(2):
        c = int64(j) + i
        while c < 4:
            c = c + n + 1
            A[5] = A[5] + c
    A[6] = A[6] + a + b
A[7] = a + b
""",
    "a constant name": """
step = 3
i = int32(0)
while i < n:
    A[i] = i + step
    i = int32(i + step)
""",
}


def by_python(spec: KernelSpec, n: int) -> np.ndarray:
    """What the text leaves in the array, run as Python."""
    body = spec.source.removeprefix(HEADER)
    known: dict[str, Any] = {"int32": int, "int64": int, "float32": float}
    exec(body, known)
    array = np.zeros(8, np.int64)
    known["k"](array, n)
    return array


def by_kernel(text: str, n: int) -> np.ndarray:
    array = np.zeros(8, np.int64)
    launch(assembly.ptx(text, "sm_80"), 1, 1, array, np.int32(n))
    return array


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's front end fails."""
    monkeypatch.setattr(assembly, "compile_extra", None)


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("no_numba")
@pytest.mark.cases("form", [*FORMS])
def test_forms_compute_what_python_computes(form: str) -> None:
    spec = spec_of(FORMS[form])
    text = llvm_text(spec, DIRECT)
    for n in (0, 3, 6):
        assert by_kernel(text, n).tolist() == by_python(spec, n).tolist(), n


@pytest.mark.usefixtures("no_numba")
def test_sums_with_literals_stay_narrow() -> None:
    for body in ("A[n + 5] = 0", "m = 5\nA[n + m] = 0"):
        text = llvm_text(spec_of(body), DIRECT)
        assert "add i32" in text
        assert "add nsw i64" not in text
    assert "add nsw i64" in llvm_text(spec_of("A[0] = A[1] + 5"), DIRECT)


@pytest.mark.usefixtures("no_numba")
def test_division_by_zero_gives_what_numpy_gives() -> None:
    spec = spec_of("A[0] = float32(1.0) / float32(n)", "f32")
    array = np.zeros(1, np.float32)
    launch(assembly.ptx(llvm_text(spec, DIRECT), "sm_80"), 1, 1, array, np.int32(0))
    assert array[0] == np.inf


MIXED = {
    "over a back edge": """
x = int32(1)
i = int32(0)
while i < n:
    A[i] = int64(x)
    x = x * 0.5
    i = int32(i + 1)
""",
    "a literal over a back edge": """
x = 1
i = int32(0)
while i < n:
    A[i] = i + x
    x = int32(2)
    i = int32(i + 1)
""",
    "a literal that one use takes alone": """
x = 1
A[0] = n + x
if n > 2:
    x = 7
A[1] = x
""",
    "of two branches": """
if n > 2:
    x = int32(1)
else:
    x = 2.5
A[0] = int64(x * 2)
""",
    "a loop variable behind its loop": """
x = 1.5
i = int32(0)
while i < n:
    x = int32(4)
    i = int32(i + 1)
A[0] = int64(x * 2)
""",
    "an expression that the emitter does not write": """
A[0] = 4 if n > 2 else 5
A[1] = int64(0 < n < 4)
""",
}


@pytest.mark.slow
@pytest.mark.cases("form", [*MIXED])
def test_numba_compiles_what_is_not_covered(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_of(MIXED[form])
    with debug(2):
        text = llvm_text(spec, DIRECT)
    assert "kernel k: Numba's front end, since " in capsys.readouterr().err
    _, _, rest = text.partition("\n")  # the first line has a number that counts
    assert llvm_text(spec, "numba").endswith(rest)
    for n in (0, 3, 6):
        assert by_kernel(text, n).tolist() == by_python(spec, n).tolist(), n


@pytest.mark.slow
def test_numba_compiles_sums_that_are_deeper_than_the_stack(
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = spec_of(f"A[0] = n{' + n' * 1100}")
    with debug(2):
        text = llvm_text(spec, DIRECT)
    assert "maximum recursion depth" in capsys.readouterr().err
    assert by_kernel(text, 3)[0] == 3303


INVALID = {
    "an unknown name": "A[0] = unknown",
    "an unknown attribute": "A[0] = n.unknown",
    "a call with wrong arguments": "A[0] = int32(A, n)",
    "operands without an operator": "A[0] = A + A",
}


@pytest.mark.cases("form", [*INVALID])
def test_errors_of_invalid_kernels_are_numba_s(form: str) -> None:
    messages: list[str] = []
    for by in FRONT_ENDS:
        with pytest.raises(Exception) as found:
            llvm_text(spec_of(INVALID[form]), by)
        messages.append(f"{type(found.value)}: {found.value}")
    assert messages[0] == messages[1]


def test_lines_of_the_program_are_the_same_by_both() -> None:
    body = """
i = int32(0)
while i < n:  # f.mlir:3
    A[i] = i  # f.mlir:4
    i = int32(i + 1)
if n > 2:  # g.mlir:9
    A[0] = n  # f.mlir:10
"""
    spec = spec_of(body)
    texts = (assembly.ptx(llvm_text(spec, by), "sm_80") for by in FRONT_ENDS)
    direct, numba = (set(re.findall(r"\.loc\s+(\d+ \d+)", text)) for text in texts)
    assert {line.split()[1] for line in direct} >= {"3", "4", "10"}
    assert direct == numba


def test_a_variable_chooses_the_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert generated_code.front_end() == DIRECT
    monkeypatch.setenv(FRONT_END_VARIABLE, "numba")
    monkeypatch.setattr(assembly.front_end, "llvm_text", None)
    assert "add.s32" in compilation.compile_ptx(spec_of("A[n + 5] = 11"))
    monkeypatch.setenv(FRONT_END_VARIABLE, "other")
    with pytest.raises(errors.InvalidOption, match="Write direct or numba"):
        generated_code.front_end()


def test_parts_are_kept_for_the_rest_of_a_block_only() -> None:
    function: Any = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), []), "f")
    first, second = (function.append_basic_block() for _ in range(2))
    builder: Any = CachingBuilder(first)
    value = ir.Constant(ir.IntType(32), 1)
    made: list[Any] = []

    def make() -> list[Any]:
        made.append(builder.add(value, value))
        return made[-1:]

    parts = builder.parts("sum", value, make)
    parts.append(None)
    assert builder.parts("sum", value, make) == made[:1]
    assert builder.parts("other", value, make) == made[1:2]
    builder.position_at_start(first)
    assert builder.parts("sum", value, make) == made[2:3]
    builder.position_at_end(first)
    assert builder.parts("sum", value, make) == made[:1]
    builder.position_at_end(second)
    assert builder.parts("sum", value, make) == made[3:4]
