from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from gpucodegen.intrinsics.elementwise import ELEMENTWISE
from gpucodegen.ir.number_formats import of_bits, to_bits
from tests.runtime.kernel_texts import FACES, NAMES, loop, run

INTEGERS = [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 100, 127, -128]
FLOATS = [0.0, -0.0, 1.0, -1.5, 2.5, 0.3, -7.25, 1e30, math.inf, -math.inf, math.nan]
UNARY_INTEGER = "absi ctpop ctlz cttz".split()
UNARY_FLOAT = "negf absf sqrt floor ceil trunc roundeven round".split()
BINARY_FLOAT = (
    "addf subf mulf divf remf maximumf minimumf maxnumf minnumf maximumnumf minimumnumf"
    " copysign"
).split()
OF_NUMPY = {
    **{name: name for name in "exp expm1 log log10 log1p log2 exp2 cbrt".split()},
    **{name: name for name in "sin cos tan sinh cosh tanh".split()},
    **{f"a{name}": f"arc{name}" for name in "sin cos tan sinh tanh".split()},
}
UNITS = [0.1, 0.5, 0.9]


def elementwise(
    face: str, names: Iterable[str], *columns: np.ndarray
) -> dict[str, np.ndarray]:
    """What each operation makes of the columns, all in one kernel."""
    letters = "ABC"[: len(columns)]
    call = ", ".join(f"{letter}[i]" for letter in letters)
    results = {name: np.zeros_like(columns[0]) for name in names}
    header = "\n".join(f"{name} = intrinsics.{name}" for name in results)
    lines = [f"R_{name}[i] = {name}({call})" for name in results]
    arrays: dict[str, Any] = dict(zip(letters, columns, strict=True))
    arrays |= {f"R_{name}": result for name, result in results.items()}
    run(face, header, loop(*lines), **arrays, n=len(columns[0]))
    return results


def pairs(numbers: list[Any], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(list(itertools.product(numbers, numbers)), dtype)
    return table[:, 0].copy(), table[:, 1].copy()


def exact(name: str, a: int, b: int, bits: int) -> int:
    ua, ub = a % (1 << bits), b % (1 << bits)
    truncated = 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    shift = ub if ub < bits else None
    results = {
        "addi": a + b,
        "subi": a - b,
        "muli": a * b,
        "divsi": truncated,
        "divui": ua // ub if ub else 0,
        "remsi": a - truncated * b if b else 0,
        "remui": ua % ub if ub else 0,
        "floordivsi": a // b if b else 0,
        "ceildivsi": -(-a // b) if b else 0,
        "ceildivui": -(-ua // ub) if ub else 0,
        "mulsi_high": a * b >> bits,
        "mului_high": ua * ub >> bits,
        "andi": a & b,
        "ori": a | b,
        "xori": a ^ b,
        "shli": 0 if shift is None else a << shift,
        "shrui": 0 if shift is None else ua >> shift,
        "shrsi": a >> min(ub, bits - 1),
        "minsi": min(a, b),
        "maxsi": max(a, b),
        "minui": min(ua, ub),
        "maxui": max(ua, ub),
    }
    return (results[name] + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


BINARY_INTEGER = (
    "addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui mulsi_high"
    " mului_high andi ori xori shli shrui shrsi minsi maxsi minui maxui"
).split()


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.sampled(3)
def test_integer_pairs(face: str, dtype: str) -> None:
    bits = 8 * np.dtype(dtype).itemsize
    a, b = pairs(INTEGERS, dtype)
    for name, result in elementwise(face, BINARY_INTEGER, a, b).items():
        wanted = [exact(name, int(x), int(y), bits) for x, y in zip(a, b, strict=True)]
        assert result.tolist() == wanted, name


@pytest.mark.parametrize("face", FACES)
def test_integer_singles(face: str) -> None:
    a = np.array(INTEGERS, "int32")
    unsigned = [int(x) % 2**32 for x in a]
    wanted = {
        "absi": [abs(int(x)) for x in a],
        "ctpop": [x.bit_count() for x in unsigned],
        "ctlz": [32 - x.bit_length() for x in unsigned],
        "cttz": [(x & -x).bit_length() - 1 if x else 32 for x in unsigned],
    }
    results = elementwise(face, wanted, a)
    assert {name: result.tolist() for name, result in results.items()} == wanted


def agree(names: Iterable[str], *columns: np.ndarray) -> None:
    here, there = (elementwise(face, names, *columns) for face in FACES)
    for name, result in here.items():
        np.testing.assert_array_equal(result, there[name], name)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_agree(dtype: str) -> None:
    agree(BINARY_FLOAT, *pairs(FLOATS, dtype))
    agree(UNARY_FLOAT, np.array(FLOATS, dtype))


def test_the_tables_have_no_other_operations() -> None:
    tested = {*BINARY_INTEGER, *UNARY_INTEGER, *BINARY_FLOAT, *UNARY_FLOAT, "fma"}
    assert tested == set(ELEMENTWISE)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("face", FACES)
@pytest.mark.sampled(3)
def test_library_functions(face: str, dtype: str) -> None:
    a = np.array(UNITS, dtype)
    tolerance = 4 * np.finfo(dtype).eps
    for name, result in elementwise(face, OF_NUMPY, a).items():
        wanted = getattr(np, OF_NUMPY[name])(a)
        np.testing.assert_allclose(result, wanted, tolerance, err_msg=name)
    results = elementwise(face, ("atan2", "powf"), a, a + 1)
    np.testing.assert_allclose(results["atan2"], np.arctan2(a, a + 1), tolerance)
    np.testing.assert_allclose(results["powf"], a ** (a + 1), tolerance)


@pytest.mark.parametrize("face", FACES)
def test_maximumf_keeps_nan_and_maxnumf_drops_it(face: str) -> None:
    a, b = np.array([math.nan, 1.0], "f4"), np.array([2.0, math.nan], "f4")
    results = elementwise(face, ("maximumf", "maxnumf"), a, b)
    assert np.isnan(results["maximumf"]).all()
    assert results["maxnumf"].tolist() == [2.0, 1.0]


@pytest.mark.parametrize("face", FACES)
def test_fma_rounds_once(face: str) -> None:
    a = np.array([1 + 2.0**-12], "f4")
    result = elementwise(face, ["fma"], a, a, np.array([-1.0], "f4"))["fma"]
    assert result[0] == np.float32(float(a[0]) ** 2 - 1)


@pytest.mark.parametrize("face", FACES)
def test_index_division_rounds_down(face: str) -> None:
    header = "floordiv, floormod = intrinsics.floordiv, intrinsics.floormod"
    body = loop("Q[i] = floordiv(A[i], 4)", "M[i] = floormod(A[i], 4)")
    a = np.array([-9, -8, -1, 0, 3, 4, 9], "int64")
    q, m = np.zeros_like(a), np.zeros_like(a)
    run(face, header, body, A=a, Q=q, M=m, n=len(a))
    assert (q.tolist(), m.tolist()) == ((a // 4).tolist(), (a % 4).tolist())


@pytest.mark.parametrize("face", FACES)
def test_powers(face: str) -> None:
    header = "ipowi, fpowi = intrinsics.ipowi, intrinsics.fpowi"
    body = loop("R[i] = ipowi(A[i], B[i])", "S[i] = fpowi(float32(A[i]), B[i])")
    a, b = np.array([2, -3, 1, 7, 2], "i4"), np.array([10, 3, -5, 0, -1], "i4")
    r, s = np.zeros_like(a), np.zeros(5, "f4")
    run(face, header, body, A=a, B=b, R=r, S=s, n=5)
    assert r.tolist() == [1024, -27, 1, 1, 0]
    assert s.tolist() == [1024.0, -27.0, 1.0, 1.0, 0.5]


_STORE = "store = intrinsics.store('i1')\n"

PREDICATES = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip


def compared(
    face: str, compare: str, predicates: list[str], a: np.ndarray, b: np.ndarray
) -> dict[str, list[bool]]:
    """What each predicate says of the columns, all in one kernel."""
    results = {name: np.zeros(len(a), "bool") for name in predicates}
    header = _STORE + "\n".join(
        f"p_{name} = intrinsics.{compare}('{name}')" for name in predicates
    )
    body = loop(*(f"store(R_{name}, i, p_{name}(A[i], B[i]))" for name in predicates))
    arrays = {f"R_{name}": result for name, result in results.items()}
    run(face, header, body, A=a, B=b, **arrays, n=len(a))
    return {name: result.tolist() for name, result in results.items()}


@pytest.mark.parametrize("face", FACES)
def test_integer_comparisons(face: str) -> None:
    a, b = pairs([0, 1, -1, -128, 127], "int8")
    predicates = "eq ne slt sle sgt sge ult ule ugt uge".split()
    for predicate, result in compared(face, "cmpi", predicates, a, b).items():
        left, right = (a, b) if predicate[0] != "u" else (a.view("u1"), b.view("u1"))
        symbol = PREDICATES[predicate[-2:]]
        wanted = eval(f"left {symbol} right", {"left": left, "right": right})
        assert result == wanted.tolist(), predicate


@pytest.mark.slow
@pytest.mark.parametrize("face", FACES)
def test_float_comparisons(face: str) -> None:
    a, b = pairs([0.0, 1.0, math.nan], "float32")
    unordered = np.isnan(a) | np.isnan(b)
    predicates = "oeq one olt ole ogt oge ueq une ult ule ugt uge ord uno".split()
    for predicate, result in compared(face, "cmpf", predicates, a, b).items():
        if predicate in {"ord", "uno"}:
            wanted = unordered if predicate == "uno" else ~unordered
        else:
            symbol = PREDICATES[predicate[1:]]
            truth = eval(f"a {symbol} b", {"a": a, "b": b})
            wanted = truth | unordered if predicate[0] == "u" else truth & ~unordered
        assert result == wanted.tolist(), predicate


CASTS = [
    ("extsi", "int8", "i32", [-128, -1, 127], [-128, -1, 127]),
    ("extui", "int8", "i32", [-128, -1, 127], [128, 255, 127]),
    ("trunci", "int32", "i8", [300, -129, 5], [44, 127, 5]),
    ("trunci", "int32", "i1", [0, 1, 2, 3], [False, True, False, True]),
    ("extui", "bool", "i32", [False, True], [0, 1]),
    ("extsi", "bool", "i32", [False, True], [0, -1]),
    ("sitofp", "int32", "f32", [-3, 7], [-3.0, 7.0]),
    ("uitofp", "int8", "f32", [-1, 7], [255.0, 7.0]),
    ("fptosi", "float32", "i32", [1.9, -1.9, 1e30, -1e30, math.nan],
     [1, -1, 2**31 - 1, -(2**31), 0]),
    ("fptoui", "float32", "i8", [1.9, 255.0, -5.0, 1e9], [1, -1, 0, -1]),
    ("extf", "float32", "f64", [0.1], [float(np.float32(0.1))]),
    ("truncf", "float64", "f32", [0.1], [np.float32(0.1)]),
    ("bitcast", "float32", "i32", [1.0, -0.0], [0x3F800000, -(2**31)]),
    ("index_cast", "int32", "i64", [-5], [-5]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.cases("face", FACES, parts=3)
@pytest.mark.cases(("op", "source", "target", "given", "wanted"), CASTS)
def test_casts(
    face: str, op: str, source: str, target: str, given: list[Any], wanted: list[Any]
) -> None:
    dtype = next(k for k, v in NAMES.items() if v == target)
    a, result = np.array(given, source), np.zeros(len(given), dtype)
    header = f"""
convert = intrinsics.cast('{op}', '{target}')
load = intrinsics.load('{NAMES[source]}')
store = intrinsics.store('{target}')
"""
    body = loop("store(R, i, convert(load(A, i)))")
    run(face, header, body, A=a, R=result, n=len(a))
    assert result.tolist() == wanted


@pytest.mark.parametrize("face", FACES)
def test_select(face: str) -> None:
    header = "select = intrinsics.select"
    a, b = np.array([1.0, 2.0], "f4"), np.array([5.0, 0.0], "f4")
    result = np.zeros(2, "f4")
    body = loop("R[i] = select(A[i] < B[i], A[i], B[i])", end="2")
    run(face, header, body, A=a, B=b, R=result)
    assert result.tolist() == [1.0, 0.0]


@pytest.mark.cases("face", FACES)
@pytest.mark.cases(("name", "dtype"), [("f16", "float16"), ("bf16", "uint16")])
def test_halves_round_to_nearest_even(face: str, name: str, dtype: str) -> None:
    numbers = np.array([1.0, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 0.1, 65519.0, 3e-5], "f4")
    header = f"""
store = intrinsics.store('{name}')
load = intrinsics.load('{name}')
round_it = intrinsics.round_to('{name}')
"""
    body = loop("store(H, i, A[i])", "R[i] = load(H, i)", "S[i] = round_it(A[i])")
    stored = np.zeros(len(numbers), dtype)
    r, s = np.zeros_like(numbers), np.zeros_like(numbers)
    run(face, header, body, A=numbers, H=stored, R=r, S=s, n=len(numbers))
    assert (
        r.tolist()
        == s.tolist()
        == [of_bits(to_bits(float(x), name), name) for x in numbers]
    )
    if name == "f16":
        assert r.tolist() == numbers.astype("f2").astype("f4").tolist()
