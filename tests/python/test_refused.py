"""What jit does not compile is refused at its line, with what to write instead."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

VECTOR, MATRIX = np.ones(4), np.ones((2, 3))
PREFIX = """import functools, math
import numpy as np
BIG = np.ones(3)
@functools.wraps(abs)
def wrapper(x):
    return x
def helper(x):
    return x
"""

REFUSED: list[tuple[str, tuple[Any, ...], int, str, str]] = [
    ("def f(x):\n    return [v for v in x]", (VECTOR,), 2, "ListComp", "numpy.empty"),
    ("def f(x):\n    return {1: x}", (VECTOR,), 2, "Dict", "arrays"),
    ("def f(x):\n    return lambda: x", (1,), 1, "Closure", "numbers and arrays"),
    (
        "def f(x):\n    g = lambda n: g(n - 1)\n    return g(x)",
        (1,),
        2,
        "the recursion of 'lambda'",
        "loop",
    ),
    ("def f(n):\n    return n + (n := 3)", (1,), 2, "NamedExpr", "Write"),
    ("def f(n):\n    return n > 1 and (k := 3) > n", (1,), 2, "NamedExpr", "Write"),
    ("def f(x):\n    return round(x, 2)", (0.5,), 2, "to decimals", "numpy.round"),
    ("def f(x):\n    return x.flat[1]", (MATRIX.T,), 2, "gaps", ".ravel()"),
    ("def f(x):\n    a, *b = x", (VECTOR,), 2, "unpack", "value"),
    ("def f(x):\n    x[0] = 2j", (VECTOR,), 2, "real numbers", ".real"),
    ("def f(x):\n    return math.sin(2j * x)", (1,), 2, "a real number", ".real"),
    (
        "def f(x):\n    for v in zip(x, (1, 2)):\n        pass",
        (VECTOR,),
        2,
        "zip",
        "numpy.array",
    ),
    (
        "def f(x):\n    for i in range(3):\n        return\n    return x",
        (1,),
        3,
        "return",
        "break",
    ),
    (
        "def f(x):\n    return x + 0xFFFFFFFFFFFFFFFF",
        (VECTOR.astype(int),),
        2,
        "hold",
        "wider",
    ),
    ('def f(x):\n    return float("one") + x', (1,), 2, "this text", "'one'"),
    ("def f(x):\n    assert x > 0, x\n    return x", (1,), 2, "assert", "a text"),
    ("def f(x):\n    raise ValueError", (1,), 2, "raise", "alone in a branch"),
    (
        "def f(x):\n    try:\n        x = 1\n    finally:\n        x = 2",
        (1,),
        2,
        "try",
        "",
    ),
    ("def f(x):\n    import math\n    return x", (1,), 2, "import", "top of the file"),
    ("def f(x):\n    print(np.float32)", (1,), 2, "`print`", "texts"),
    ("def f(x):\n    return any(x)", (MATRIX,), 2, "`any`", "numpy.any"),
    ("def f(x):\n    return wrapper(x)", (1,), 2, "`wrapper`", "loops"),
    ("def f(x):\n    return helper(x, 2)", (1,), 2, "of `helper`", "takes helper(x)"),
    ("def f(x):\n    x.shape = 4, 1", (VECTOR,), 2, "shape of an argument", ".reshape"),
    ("def f(x):\n    return np.linalg.lstsq(x)", (MATRIX,), 2, "lstsq", "missing"),
    ("def f(x):\n    return np.linalg.inv(x)", (VECTOR,), 2, "linalg", "at least two"),
    ("def f(x):\n    return x + BIG", (VECTOR,), 2, "'BIG'", "as an argument"),
    ("def f(x):\n    return y", (1,), 2, "'y' has no value", "Assign it"),
    (
        "def f(x):\n    if x > 0:\n        y = 1\n    return y",
        (1,),
        4,
        "'y' has no value",
        "every way",
    ),
    (
        "def f(x):\n    for i in range(x):\n        if i: y = i\n    return y",
        (1,),
        4,
        "'y' has no value",
        "every way",
    ),
    (
        "def f(x, n):\n    y = x\n    if n:\n        y = 1.0\n    return y",
        (VECTOR, 1),
        3,
        "variable 'y'",
        "variable for each",
    ),
    ("def f(x):\n    return x[::0]", (VECTOR,), 2, "step", "other than 0"),
    ("def f(x):\n    return x[x]", (VECTOR,), 2, "an index that is", "integers"),
    ("def f(x):\n    return x[0.5]", (VECTOR,), 2, "an index", "int()"),
    ("def f(x):\n    return x[0, 1]", (VECTOR,), 2, "2 indices", "at most 1"),
    ("def f(x):\n    (x + 1)[0, 0] = 1", (MATRIX,), 2, "elements", "expression"),
    ("def f(x):\n    return x.tolist()", (VECTOR,), 2, "'tolist'", "astype"),
    ("def f(x):\n    return x.ctypes", (VECTOR,), 2, "'ctypes'", "shape"),
    ("def f(x):\n    if x:\n        pass", (VECTOR,), 2, "a condition", "numpy.any"),
    ("def f(x):\n    return math.sin(x)", (VECTOR,), 2, "math.sin", "numpy.sin"),
    ("def f(x):\n    return x & 1", (1.5,), 2, "BitAnd", "Convert"),
    ("def f(x):\n    x[0] = x", (VECTOR,), 2, "an element", "slice"),
    ("def f(x):\n    return np.sum(x, axis=2)", (MATRIX,), 2, "axis=2", "2 dimensions"),
    ("def f(x):\n    return np.sum(x, out=x)", (MATRIX,), 2, "out=", "0 dimensions"),
    ("def f(x):\n    return np.zeros(3, dtype=str)", (1,), 2, "dtype", "float32"),
    ("def f(x):\n    return np.diff(x, n=len(x))", (VECTOR,), 2, "n=", "a constant"),
    ("def f(x):\n    return np.split(x, 0)", (VECTOR,), 2, "no parts", "a number"),
    ("def f(x):\n    return np.einsum('ij->k', x)", (MATRIX,), 2, "`k`", "operand"),
    ("def f(x):\n    return np.take(x, 0, axis=3)", (MATRIX,), 2, "axis=3", "2 dim"),
    ("def f(x):\n    return np.cov(x[None])", (MATRIX,), 2, "`cov`", "a matrix"),
    ("def f(x):\n    return np.kron(x)", (MATRIX,), 2, "`kron`", "kron(a, b)"),
    ("def f(x):\n    return np.sum(x, foo=1)", (MATRIX,), 2, "`foo=`", "initial="),
    (
        "def f(x):\n    return np.min(x, where=x > 0)",
        (VECTOR,),
        2,
        "where=",
        "initial=",
    ),
    ("def f(x):\n    return np.add(x, x, where=x > 0)", (VECTOR,), 2, "where=", "out="),
    ("def f(x):\n    return np.subtract.reduce(x)", (VECTOR,), 2, "reduce", "add"),
    ("def f(x):\n    return np.sort(x, axis=4)", (VECTOR,), 2, "numpy.sort", "bounds"),
    ("def f(x):\n    return f'{x}'", (1,), 1, "Formatted", "numbers"),
    (
        "def f(x):\n    for i in range(2):\n        def g():\n            pass",
        (1,),
        3,
        "inside of a loop",
        "before the loop",
    ),
    ("def f(*x):\n    return 1", (1,), 1, "`*`", "Name each"),
    ("def f(x):\n    return 1 << 70", (1,), 2, "`LShift`", "float()"),
    ("def f(x):\n    return 1 << 63 << 1", (1,), 2, "`LShift`", "float()"),
    ("def f(x):\n    return x + 99999999999999999999", (1,), 2, "64 bits", "float"),
    ("def f(x):\n    a, b = x, x, x\n    return a", (1,), 2, "unpack", "value"),
    ("def f(x):\n    x.y = 1", (1,), 2, "x.y", "name"),
    ("def f(x):\n    if x:\n        return 1", (1,), 2, "some ways", "return"),
    ("def f(x):\n    with x:\n        pass", (1,), 2, "with x", "outside"),
]


def made(text: str, name: str = "f") -> Any:
    """A jitted function of a text, whose lines can be quoted."""
    filename = f"<refused {abs(hash(text))}>"
    source = PREFIX + textwrap.dedent(text)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), names)
    return gcg.jit(target="cpu")(names[name])


@pytest.mark.cases(
    ("text", "arguments", "line", "what", "remedy"),
    REFUSED,
    ids=[row[0].partition("\n")[2].strip()[:40].replace("\n", ";") for row in REFUSED],
)
def test_refused(
    text: str, arguments: tuple[Any, ...], line: int, what: str, remedy: str
):
    with pytest.raises(errors.PythonError) as refused:
        made(text)(*arguments)
    place, shown = refused.value.place, str(refused.value)
    assert place is not None
    assert place.line == line + PREFIX.count("\n")
    assert what in refused.value.message
    assert remedy in refused.value.message.rpartition(". ")[2]
    assert text.splitlines()[line - 1].strip() in shown, "the line is quoted"


def test_shapes_that_never_agree():
    function = made("def f(x):\n    return np.zeros(3) + np.zeros(4)")
    with pytest.raises(errors.NotBroadcastable, match=r"\(3\) and \(4\)"):
        function(1)


def test_recursion():
    text = "def f(n):\n    return g(n)\n"
    function = made(text)
    function.py_func.__globals__["g"] = function
    with pytest.raises(errors.UnsupportedPython, match="recursion of 'f'"):
        function(3)


def test_source_that_is_not_at_hand():
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x", names)
    with pytest.raises(errors.NoPythonSource):
        gcg.jit(names["f"])(1)


@pytest.mark.cases("value", [[1, 2], (3,), {}, np.zeros(2, "m8[s]")], ids=repr)
def test_argument_without_a_type(value: object):
    with pytest.raises(errors.UntypedArgument, match="argument 'x' of f"):
        made("def f(x):\n    return 1")(value)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_matrix_is_no_array():
    with pytest.raises(errors.UntypedArgument, match=r"numpy.asarray"):
        made("def f(x):\n    return x * x")(np.matrix([[1.0, 2.0]]))


def test_wrong_arguments():
    with pytest.raises(errors.WrongPythonCall, match="missing a required argument"):
        made("def f(x, y):\n    return x")(1)
    with pytest.raises(errors.WrongPythonCall, match="unexpected keyword"):
        made("def f(x):\n    return x")(1, z=2)


def test_option_is_checked_at_once():
    with pytest.raises(errors.InvalidOption, match="targt"):
        gcg.jit(targt="cpu")
