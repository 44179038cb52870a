"""Small programs of the subset, made by Hypothesis as lines of Python."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

HEAD = "import math\nimport numpy as np\ndef f(a, b, x, y, v, w, k):\n"
INTS, FLOATS = ("a", "b"), ("x", "y")
Draw = Callable[[st.SearchStrategy[object]], object]


def _one(draw: Draw, *choices: object) -> str:
    return str(draw(st.sampled_from(choices)))


def integer(draw: Draw, depth: int) -> str:
    """An expression that is an integer of at most a few digits."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return _one(draw, *INTS, *range(-3, 8), "int(k[2])", "len(v)", "w.shape[0]")
    left, right = integer(draw, depth - 1), integer(draw, depth - 1)
    form = _one(
        draw,
        "({0} + {1})",
        "({0} - {1})",
        "({0} * {1} % 89)",
        "({0} // 3)",
        "({0} // -4)",
        "({0} % 5)",
        "({0} % -7)",
        "min({0}, {1})",
        "max({0}, {1}, 2)",
        "abs({0})",
        "({0} & 15)",
        "({0} if {2} else {1})",
        "int({3})",
    )
    return form.format(left, right, truth(draw, depth - 1), bounded(draw, depth - 1))


def truth(draw: Draw, depth: int) -> str:
    """A condition."""
    left, right = integer(draw, depth // 2), integer(draw, depth // 2)
    number = floating(draw, depth // 2)
    form = _one(
        draw,
        "{0} < {1}",
        "{0} == {1}",
        "0 <= {0} < 4",
        "({0} != {1} and v[{0} % 5] > {2})",
        "({0} > {1} or not {2} <= 0.5)",
        "{2} > 0.25",
    )
    return form.format(left, right, number)


def bounded(draw: Draw, depth: int) -> str:
    """A float whose integer part every machine agrees upon."""
    return f"math.floor(4 * math.sin({floating(draw, depth)}) + 0.123)"


def floating(draw: Draw, depth: int) -> str:
    """An expression that is a float between -10 and 10 or so."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return _one(draw, *FLOATS, "0.5", "-1.25", "float(w[1])", "v[-1]", "v[0]")
    left, right = floating(draw, depth - 1), floating(draw, depth - 1)
    form = _one(
        draw,
        "math.sin({0} + {1})",
        "({0} - {1}) / 2",
        "math.sqrt(abs({0}))",
        "np.cos({0} * {1})",
        "v[{2} % 5]",
        "({0} / (1.5 + abs({1})))",
        "min({0}, {1})",
        "np.maximum({0}, {1})",
        "float({2} % 11)",
        "np.sum(v) / 7",
        "({0} % 2.5)",
    )
    return form.format(left, right, integer(draw, depth - 1))


def array(draw: Draw) -> str:
    """A statement on whole arrays."""
    return _one(
        draw,
        "v[1:] = v[:-1] * 0.5",
        "v[:-1] = v[1:] + np.sin(v[:-1])",
        "v += w",
        "w[:] = np.where(k > 1, w, 0.5)",
        "v[::2] *= 0.5",
        "w[1:4] = w[2:] - w[:-2]",
        "z = v + 1.0; v[:] = z / 3",
        "k[:] = np.minimum(k, k[0])",
        "v[:] = v[:, None].T.sum(axis=0)",
    )


def statements(draw: Draw, depth: int, loops: int, indent: str) -> list[str]:
    """One to three statements, in as many loops."""
    made: list[str] = []
    for _ in range(int(str(draw(st.integers(1, 3))))):
        made += statement(draw, depth, loops, indent)
    return made


def statement(draw: Draw, depth: int, loops: int, indent: str) -> list[str]:
    """One statement."""
    simple = [
        lambda: f"{_one(draw, *INTS)} = {integer(draw, 2)} % 97",
        lambda: f"{_one(draw, *FLOATS)} = math.sin({floating(draw, 2)})",
        lambda: f"v[{integer(draw, 1)} % 5] = {floating(draw, 2)} % 9.0",
        lambda: f"k[{integer(draw, 1)} % 5] = {integer(draw, 2)} % 97",
        lambda: f"x, y = y, math.cos({floating(draw, 1)})",
        lambda: f"w[{integer(draw, 1)} % 5] += {floating(draw, 1)} % 3.0",
        lambda: f"a, b = b, a % {_one(draw, 3, -5)}",
        lambda: array(draw),
    ]
    kind = draw(st.integers(0, 5 if depth else 2))
    if kind in (0, 1, 2):
        return [indent + draw(st.sampled_from(simple))()]  # type: ignore[operator]
    inner = indent + "    "
    if kind == 3:
        body = statements(draw, depth - 1, loops, inner)
        jump = [inner + _one(draw, "break", "continue")] if loops else []
        other = statements(draw, depth - 1, loops, inner)
        head = f"{indent}if {truth(draw, 2)}:"
        use = jump if draw(st.booleans()) else []
        return [head, *body, *use, f"{indent}else:", *other]
    name = f"i{loops}"
    if kind == 4:
        form = _one(draw, "3", "1, 4", "4, 0, -1", "0, 7, 3", "5, -2, -3", "b % 4")
        use = [f"{inner}a = (a + {name}) % 97"]
        body = statements(draw, depth - 1, loops + 1, inner)
        return [f"{indent}for {name} in range({form}):", *use, *body]
    count = f"n{loops}"
    body = statements(draw, depth - 1, loops + 1, inner)
    head = f"{indent}while {count} < 4 and {truth(draw, 1)}:"
    return [f"{indent}{count} = 0", head, f"{inner}{count} += 1", *body]


@st.composite
def programs(draw: Draw) -> str:
    """A function of two integers, two floats and three arrays."""
    body = statements(draw, 2, 0, "    ") + statements(draw, 2, 0, "    ")
    return "\n".join([HEAD + body[0], *body[1:], "    return a, b, x, y", ""])
