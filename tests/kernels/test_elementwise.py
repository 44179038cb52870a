"""Expressions, transposes and copies against NumPy, and arrays of other libraries."""

from __future__ import annotations

import itertools
import operator
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.kernels.elementwise.expressions import names_of
from gpucodegen.kernels.table import KERNELS
from tests.house.readme import ROOT
from tests.kernels import formulas
from tests.kernels.formulas import EVERY, Array, made
from tests.python.test_number_tables import FLOATS, INTEGERS, special

K = gcg.kernels

EXPRESSIONS = {
    "a * x + y": lambda a, x, y: a * x + y,
    "where(x > y, x, a)": lambda a, x, y: np.where(x > y, x, a),
    "maximum(x, y) - minimum(x, a)": lambda a, x, y: (
        np.maximum(x, y) - np.minimum(x, a)
    ),
    "exp(-abs(x)) / (1 + y**2)": lambda _, x, y: np.exp(-np.abs(x)) / (1 + y**2),
    "(x if x != y else y) + a": lambda a, x, y: np.where(x != y, x, y) + a,
    "x // 2 + y % 3": lambda _, x, y: x // 2 + y % 3,
    "sqrt(abs(x)) * floor(y)": lambda _, x, y: np.sqrt(np.abs(x)) * np.floor(y),
}
BROADCAST = (
    ((3, 4), (4,)),
    ((2, 1, 4), (3, 1)),
    ((0, 3), (1, 3)),
    ((1,), (5,)),
    ((0, 3), (3,)),
)


def compare(text: str, shapes: Any, dtypes: tuple[str, str], a: Any) -> None:
    """The type is NumPy's, and the numbers are those of NumPy, halves in double."""
    x, y = (made(s, d, n) for n, (s, d) in enumerate(zip(shapes, dtypes, strict=True)))
    exact = (v.astype("f8") if v.dtype == np.float16 else v for v in (x, y))
    with np.errstate(all="ignore"):
        typed = np.asarray(EXPRESSIONS[text](a, x, y))
        right = np.asarray(EXPRESSIONS[text](a, *exact))
    operands = {"a": a, "x": x, "y": y}
    used = {name: operands[name] for name in names_of(text)}
    found = K.elementwise(text, **used)
    assert found.dtype == typed.dtype
    assert found.shape == typed.shape
    of_bytes = np.float16 if "sqrt" in text and x.dtype == np.uint8 else typed.dtype
    kinds = str(np.dtype(of_bytes)), str(typed.dtype)  # NumPy's root of bytes is a half
    far = max(formulas.DISTANCE.get(kind, 1e-6) for kind in kinds)
    np.testing.assert_allclose(
        found.astype("f8"), right.astype("f8"), rtol=far, atol=far
    )


KINDS = ("float32", "float64", "int32", "uint8", "int64", "float16")
CASES = (
    st.sampled_from(sorted(EXPRESSIONS)),
    st.sampled_from(BROADCAST),
    st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    st.sampled_from([2, 0.5]),
)


@pytest.mark.sampled(6)
@settings(max_examples=5, deadline=None)
@given(*CASES)
def test_some_expressions(text: str, shapes: Any, dtypes: Any, a: Any) -> None:
    compare(text, shapes, dtypes, a)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(*CASES)
def test_expressions(text: str, shapes: Any, dtypes: Any, a: Any) -> None:
    compare(text, shapes, dtypes, a)


@pytest.mark.cases(
    ("text", "refusal"),
    [
        ("x.T", "Leave out Attribute"),
        ("x[0]", "Leave out Subscript"),
        ("__import__(x)", "no function __import__"),
        ("exq(x)", "Did you mean 'exp'"),
        ("x @ x", "Leave out MatMult"),
        ("0 < x < 1", "Compare two values"),
        ("x and x", "Leave out BoolOp"),
        ("'a' + x", "Leave out 'a'"),
        ("x +", "invalid syntax"),
        ("x + y", "Pass y="),
        ("1 + 2", "Leave out x"),
    ],
)
def test_what_is_no_expression_is_refused_by_name(text: str, refusal: str) -> None:
    with pytest.raises(errors.InvalidOption, match=refusal):
        K.elementwise(text, x=np.zeros(3))


def test_a_number_may_change_without_a_new_kernel() -> None:
    x = made((5,), "float32")
    for a in (2.0, 3.0, 4.0):
        np.testing.assert_array_equal(K.elementwise("a * x", a=a, x=x), a * x)
    known = KERNELS["elementwise"].kernel.known
    assert sum("'a * x'" in str(form) for form in known) == 1


OF_INTEGERS = {
    "x + n": lambda x, n: x + n,
    "n - x": lambda x, n: n - x,
    "maximum(x, n)": np.maximum,
    "where(x > 1, x, n)": lambda x, n: np.where(x > 1, x, n),
    "x < n": lambda x, n: x < n,
    "x == n": lambda x, n: x == n,
    "x < 300": lambda x, _: x < 300,
    "reciprocal(x)": lambda x, _: np.reciprocal(x),
    "round(x)": lambda x, _: np.round(x),
    "sign(x)": lambda x, _: np.sign(x),
    "x**2": lambda x, _: x**2,
    "(x < 2) ** 2": lambda x, _: (x < 2) ** 2,
}


@pytest.mark.slow
@pytest.mark.cases("text", OF_INTEGERS, parts=6)
def test_integers_that_a_type_may_not_hold(text: str) -> None:
    """NumPy's numbers and types, and a refusal where NumPy raises."""
    for dtype, n in itertools.product([*INTEGERS[:-1], "bool"], [3, -1, 300, 1 << 40]):
        x = np.array([1, 2, 100]).astype(dtype)
        operands = {"x": x, "n": n} if "n" in names_of(text) else {"x": x}
        try:
            wanted = OF_INTEGERS[text](x, n)
        except (OverflowError, TypeError):
            with pytest.raises(errors.InvalidOption, match="NumPy says"):
                K.elementwise(text, **operands)
            continue
        found = K.elementwise(text, **operands)
        assert found.dtype == wanted.dtype, (dtype, n)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.sampled(14)
def test_elements_move_as_they_are(dtype: str) -> None:
    x = made((3, 4, 5), dtype)
    moved = K.transpose(x, (2, 0, 1))
    np.testing.assert_array_equal(moved, x.transpose(2, 0, 1))
    assert moved.flags.c_contiguous
    np.testing.assert_array_equal(K.copy(x[::-1, 1:, ::2]), x[::-1, 1:, ::2])


@pytest.mark.slow
def test_narrow_floats_are_rounded_once() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = (np.arange(64).reshape(8, 8) % 7).astype(ml_dtypes.bfloat16)
    exact = x.astype("f8")
    assert K.matmul(x, x).dtype == x.dtype
    right = (exact @ exact).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(K.matmul(x, x).astype("f8"), right.astype("f8"))
    small = x.astype(ml_dtypes.float8_e4m3fn)
    found = K.elementwise("x * x + x", x=small)
    right = (exact * exact + exact).astype(ml_dtypes.float8_e4m3fn)
    assert found.dtype == small.dtype
    np.testing.assert_array_equal(found.astype("f8"), right.astype("f8"))


@pytest.mark.frameworks
def test_torch_tensors() -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(3, 4)
    found = K.matmul(x, x.T)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, x @ x.T)
    out = torch.empty(3, 4)
    assert K.softmax(x, out=out) is out
    torch.testing.assert_close(out, torch.softmax(x, -1))
    half = x.to(torch.bfloat16)
    torch.testing.assert_close(K.matmul(half, half.T), half @ half.T)


def test_jax_arrays() -> None:
    jax: Any = pytest.importorskip("jax")
    x = jax.numpy.arange(12.0).reshape(3, 4)
    found = K.cumsum(x, 1)
    assert isinstance(found, jax.Array)
    np.testing.assert_allclose(found, np.cumsum(np.asarray(x), 1))
    with pytest.raises(errors.ReadOnlyArgument, match="JAX writes no array"):
        K.cumsum(x, 1, out=x)


@pytest.mark.slow
def test_libraries_are_not_imported() -> None:
    code = (
        "import numpy, sys; from gpucodegen import kernels as k; "
        "k.sum(numpy.ones(3)); "
        "print(*{'torch', 'jax', 'cupy', 'ml_dtypes'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_the_table_has_every_function_and_the_page_names_it() -> None:
    assert set(KERNELS) == set(K.__all__)
    page = (ROOT / "docs" / "kernels.md").read_text("utf-8")
    assert [name for name in KERNELS if f"`{name}" not in page] == []


LIKE_TORCH = {name for name in KERNELS if KERNELS[name].like.startswith("torch")}


@pytest.mark.cases("name", lambda: sorted({*KERNELS} - LIKE_TORCH))
def test_the_functions_that_operations_are_like(name: str) -> None:
    library, _, path = KERNELS[name].like.partition(".")
    if not library:
        return
    found: Any = pytest.importorskip(library)
    if library == "scipy":
        found = pytest.importorskip("scipy." + path.partition(".")[0])
        path = path.partition(".")[2]
    for part in path.split("."):
        if library == "numpy" and np.lib.NumpyVersion(np.__version__) < "2.2.0":
            return  # matvec and vecdot came later
        found = getattr(found, part)
    assert callable(found)


@pytest.mark.frameworks
def test_functions_of_pytorch_that_operations_are_like() -> None:
    torch: Any = pytest.importorskip("torch")
    for name in LIKE_TORCH:
        assert callable(operator.attrgetter(KERNELS[name].like[6:])(torch)), name


def array_kinds() -> list[Array]:
    return [made((3, 4), "float32"), made((3, 4), "float32").T]


def test_results_go_where_they_are_wanted() -> None:
    for x in array_kinds():
        out = np.empty(x.shape, "f4")
        assert K.elementwise("x + 1", x=x, out=out) is out
        np.testing.assert_array_equal(out, x + 1)
    with pytest.raises(errors.WrongExtent, match="out"):
        K.sum(made((3, 4), "float32"), 0, out=np.empty(5, "f4"))
    with pytest.raises(errors.WrongDtype, match="out"):
        K.sum(made((3, 4), "float32"), 0, out=np.empty(4, "f8"))


def unary(name: str) -> Any:
    """A function of NumPy of the first of two arrays."""
    return lambda x, _: getattr(np, name)(x)


SPECIAL = {
    "x // y": np.floor_divide,
    "x % y": np.remainder,
    "sign(x)": lambda x, _: np.sign(x),
}
MORE = {
    **{f"x {s} y": u for s, u in zip(
        "+ - * / & | ^ == != < <= > >=".split(),
        [np.add, np.subtract, np.multiply, np.true_divide, np.bitwise_and,
         np.bitwise_or, np.bitwise_xor, np.equal, np.not_equal, np.less,
         np.less_equal, np.greater, np.greater_equal], strict=True,
    )},
    **{f"{name}(x)": unary(name)
       for name in "abs square ceil floor trunc sqrt".split()},
    "round(x)": lambda x, _: np.round(x),
    "-x": lambda x, _: -x,
    "~x": lambda x, _: ~x,
    "copysign(x, y)": np.copysign,
    "where(x, y, x)": lambda x, y: np.where(x, y, x),
}  # fmt: skip


def special_values(texts: dict[str, Any], dtypes: list[str]) -> list[str]:
    """Where exact expressions of special numbers are not NumPy's, with signs of zero.

    What NumPy refuses, and what the table has no row for, is left out.
    """
    found: list[str] = []
    for dtype in dtypes:
        grid = np.meshgrid(special(dtype), special(dtype))
        x, y = (array.ravel().copy() for array in grid)
        for text, of_numpy in texts.items():
            with np.errstate(all="ignore"):
                try:
                    right = of_numpy(x, y)
                except TypeError:
                    continue
                given = {n: {"x": x, "y": y}[n] for n in names_of(text)}
                made = K.elementwise(text, **given)
                same = (made == right) | ((made != made) & (right != right))  # noqa: PLR0124
                if right.dtype.kind == "f":
                    same &= (np.signbit(made) == np.signbit(right)) | (made != made)  # noqa: PLR0124
            assert made.dtype == right.dtype, (text, dtype)
            found += [
                f"{text} of {x[n]!r}, {y[n]!r}: {made[n]}"
                for n in np.flatnonzero(~same)[:2]
            ]
    return found


def test_divisions_at_special_values():
    assert special_values({"x // y": SPECIAL["x // y"]}, ["float64"]) == []


EXACT = {**SPECIAL, **MORE}
PAIRS = [(text, dtype) for text in EXACT for dtype in ("bool", *FLOATS, *INTEGERS)]
"""Expressions and types of their operands."""


@pytest.mark.drawn(2)
@pytest.mark.slow
@pytest.mark.cases(("text", "dtype"), PAIRS, parts=9)
def test_special_values(text: str, dtype: str):
    assert special_values({text: EXACT[text]}, [dtype]) == []


@pytest.mark.slow
@pytest.mark.cases("base", ["i1", "u1", "i4", "u4", "i8", "u8", "f4"])
@pytest.mark.cases("exponent", ["u1", "u4", "u8", "?"])
def test_powers_of_integers(base: str, exponent: str):
    """Exponents without a sign are never negative; also beyond 63 bits."""
    a = np.arange(12).astype(base)
    if a.dtype.kind == "i":
        a[::2] *= -1
    b = np.array([0, 1, 2, 3, 5, 7, 40, 63, 64, 2, 1, 3]).astype(exponent)
    if exponent == "u8":
        b[:3] = 1 << 63, (1 << 63) + 1, (1 << 64) - 1
    with np.errstate(all="ignore"):
        expected = a**b
    found = K.elementwise("a ** b", a=a, b=b)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.cases("text", ["a ** b", "2 ** a", "a ** -1", "a ** (b + 1)"])
def test_powers_that_may_be_negative_are_refused(text: str):
    a = np.arange(4, dtype="i4")
    used = {name: a for name in "ab" if name in text}
    with pytest.raises(errors.InvalidOption, match="negative integer powers"):
        K.elementwise(text, **used)
