"""Python functions of NumPy types for `gpucodegen.jit`, one for each seed.

A function grows by a statement at a time: a statement that plain Python and NumPy
refuse, or whose result is open (a cast of NaN, an integer of more than 48 bits), is
dropped.  So every function runs in Python, and that run is the oracle: the function
under `jit` gives the same numbers and types, or is refused by an error of the
catalogue.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import gpucodegen as gcg
from gpucodegen import errors

DTYPES = (
    "bool int8 uint8 int16 int32 uint32 int64 uint64 float16 float32 float64".split()
)
SCALARS = ("int8", "uint8", "int32", "int64", "float32", "float64", "bool_")
FLOATS = ("float16", "float32", "float64")
BINARY = "+ - * / // % & | ^ << >> < <= > >= == !=".split()
AUGMENTED = "+= -= *= /= //= %= &= |= ^= **=".split()
LENGTH = 6
HEAD = "import math\nimport numpy as np\n"
Environment = Mapping[str, Any]


@dataclass
class Function:
    """A function that grows: its lines, and the variables after them."""

    random: Random
    arguments: dict[str, Any]
    lines: list[str] = field(default_factory=list[str])
    temporaries: int = 0

    def text(self, lines: list[str], end: str) -> str:
        """The source with these lines for a body."""
        given = ", ".join(self.arguments)
        body = "\n".join(f"    {line}" for line in [*lines, f"return {end}"])
        return f"{HEAD}def f({given}):\n{body}\n"

    def run(self, lines: list[str]) -> Environment | None:
        """The variables after these lines, unless Python refuses one of them."""
        names: dict[str, Any] = {}
        exec(self.text(lines, "locals()"), names)
        try:
            found = plain(names["f"], self.given())
        except (ArithmeticError, TypeError, ValueError, IndexError, RuntimeWarning):
            return None
        except UnboundLocalError:
            return None
        whole = [v for v in found.values() if type(v) is int]
        return None if any(abs(v) >> 48 for v in whole) else found

    def given(self) -> list[Any]:
        """The arguments, with memory of their own and the same strides."""
        return [v[:].copy("K") if is_array(v) else v for v in self.arguments.values()]

    # -- expressions -------------------------------------------------------------------

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def array(self, e: Environment, like: np.ndarray, depth: int) -> str:
        """An expression that is an array of a shape, or a number."""
        names = [n for n, v in e.items() if is_array(v) and v.shape == like.shape]
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice(names)
        kind = self.random.randrange(13)
        one = self.array(e, like, depth - 1)
        if kind < 5:
            other = self.array(e, like, depth - 1)
            if self.random.random() < 0.4:
                other = self.number(e, 1)
            pair = [one, other]
            self.random.shuffle(pair)
            return f"({pair[0]} {self.random.choice(BINARY)} {pair[1]})"
        if kind == 5:
            power = self.pick("2", "3", "0.5", "2.0", "-1", f"abs({one})")
            return f"({one} ** {power})"
        if kind == 6:
            return f"{self.pick('-', '~', '+', '~', 'abs')}({one})"
        if kind == 7:
            test, other = (self.array(e, like, depth - 1) for _ in range(2))
            return f"np.where({test} {self.pick('>', '<=', '!=')} 1, {one}, {other})"
        if kind == 8:
            other = self.pick(self.array(e, like, depth - 1), self.number(e, 1))
            name = self.pick(
                "minimum",
                "maximum",
                "fmin",
                "fmax",
                "fmod",
                "hypot",
                "logical_and",
                "logical_xor",
                "copysign",
                "remainder",
            )
            return f"np.{name}({one}, {other})"
        if kind == 9:
            name = self.pick(
                "sqrt",
                "floor",
                "ceil",
                "trunc",
                "rint",
                "sign",
                "square",
                "isnan",
                "isfinite",
                "isinf",
                "logical_not",
                "abs",
            )
            return f"np.{name}({one})"
        if kind == 10:
            return f"np.where(abs({one}) < 99, {one}, 1).astype(np.{self.dtype()})"
        if kind == 11 and like.ndim == 1:
            return f"np.{self.pick('sum', 'max', 'min')}(w, axis=1)[: len({one})]"
        return f"np.clip({one}, {self.number(e, 0)}, {self.number(e, 0)})"

    def dtype(self) -> str:
        return str(self.random.choice(DTYPES))

    def number(self, e: Environment, depth: int) -> str:
        """An expression that is a number."""
        scalars = [n for n, v in e.items() if not is_array(v)]
        vectors = [n for n, v in e.items() if is_array(v) and v.ndim == 1]
        if depth == 0 or self.random.random() < 0.2:
            place = self.pick("0", "-1", "2", "n % 4", "len(a) - 2")
            return str(
                self.pick(
                    *scalars,
                    "2",
                    "3",
                    "-1",
                    "0.5",
                    "True",
                    "1",
                    "300",
                    f"{self.random.choice(vectors)}[{place}]",
                )
            )
        kind = self.random.randrange(10)
        one, other = self.number(e, depth - 1), self.number(e, depth - 1)
        if kind < 4:
            operator = self.random.choice(BINARY)
            if operator == "<<" and other == "300":
                other = "3"  # integers of Python have 64 bits: docs/python.md
            return f"({one} {operator} {other})"
        if kind == 4:
            name = self.random.choice(vectors)
            return f"np.{self.pick('sum', 'max', 'min', 'any', 'all')}({name})"
        if kind == 5:
            return f"({self.pick('-', '~', 'abs', 'not ', 'bool', 'float')}({one}))"
        if kind == 6:
            return f"(float({one}) if {self.test(e)} else float({other}))"
        if kind == 7:
            return f"(float({one}) {self.pick('and', 'or')} float({other}))"
        if kind == 8:
            return f"np.{self.random.choice(SCALARS)}({one})"
        if self.random.random() < 0.5:
            return f"np.{self.pick('minimum', 'maximum')}({one}, {other})"
        return f"{self.pick('min', 'max')}(float({one}), float({other}))"

    def test(self, e: Environment) -> str:
        """A condition."""
        one, other = self.number(e, 1), self.number(e, 1)
        form = self.pick(
            "{0} > {1}",
            "not {0} <= {1}",
            "{0} < {1} < 3",
            "{0}",
            "~({0} > {1})",
            "{0} != {1} or {1} > 1",
            "{0} and {1} < 2",
        )
        return str(form.format(one, other))

    # -- statements --------------------------------------------------------------------

    def statements(self, e: Environment, depth: int, loops: int) -> list[str]:
        """Some statements of a block."""
        made: list[str] = []
        counts = [f"i{n} = 1" for n in range(loops)]
        for _ in range(self.random.randint(2, 6)):
            lines = self.statement(e, depth, loops)
            after = self.run([*self.lines, *counts, *made, *lines])
            if after is not None and kept(e, after):
                made += lines
        return made or ["pass"]

    def statement(self, e: Environment, depth: int, loops: int) -> list[str]:
        """One statement, as lines."""
        arrays = [n for n, v in e.items() if is_array(v)]
        name = self.random.choice(arrays)
        value: np.ndarray = e[name]
        kind = self.random.randrange(16 if depth else 11)
        if kind < 2:
            return [f"{name} = {self.array(e, value, 2)}"]
        if kind == 2:
            scalars = [n for n, v in e.items() if not is_array(v)]
            return [f"{self.random.choice(scalars)} = {self.number(e, 2)}"]
        if kind == 3:
            by = self.pick(self.array(e, value, 1), self.number(e, 1))
            return [f"{name} {self.random.choice(AUGMENTED)} {by}"]
        if kind == 4:
            to, of = self.pick(("1:", ":-1"), (":-1", "1:"), ("::2", "::2"), (":", ":"))
            operator = self.pick("=", "=", "+=", "*=", "-=")
            return [f"{name}[{to}] {operator} {self.array(e, value, 1)}[{of}]"]
        if kind == 5:
            place = self.pick("0", "-1", "n % 4", *(f"i{n}" for n in range(loops)))
            operator = self.pick("=", "=", "+=", "-=", "*=")
            return [f"{name}[{place}] {operator} {self.number(e, 2)}"]
        if kind == 6:
            other = self.random.choice(arrays)
            form = self.pick(
                "{0}, {1} = {1}, {0}", "{0} = {1}", "{0}, {1} = {1}, {0} + {0}"
            )
            return [form.format(name, other)]
        if kind == 7:
            scalars = [n for n, v in e.items() if not is_array(v)]
            operator = self.random.choice(AUGMENTED[:6])
            return [f"{self.random.choice(scalars)} {operator} {self.number(e, 1)}"]
        if kind == 8:
            self.temporaries += 1
            temporary = f"t{self.temporaries}"
            part, rest = self.pick((":", ":"), ("1:", ":-1"), (":-1", "1:"))
            update = self.pick(
                f"{temporary} += {self.number(e, 1)}",
                f"{temporary}[:] = {name}[{rest}]",
                f"{temporary}[0] = {self.number(e, 1)}",
                f"{name} = {temporary} * {temporary}",
            )
            return [f"{temporary} = {name}[{part}]", update]
        if kind == 9:
            return self.aliased(e, name, value)
        if kind == 10:
            return self.parts(e, name, loops)
        if kind in (11, 12):
            inner = self.statements(e, depth - 1, loops)
            lines = [f"if {self.test(e)}:", *indented(inner)]
            if self.random.random() < 0.5:
                other = self.statements(e, depth - 1, loops)
                lines += ["else:", *indented(other)]
            return lines
        count = f"i{loops}"
        inner = self.statements(e, depth - 1, loops + 1)
        if kind == 15:
            head = f"while {count} < 3 and ({self.test(e)}):"
            return [f"{count} = 0", head, *indented([*inner, f"{count} += 1"])]
        ends = self.pick("4", "1, 4", "4, 0, -1", "0, 6, 2", "n % 4")
        return [f"for {count} in range({ends}):", *indented(inner)]

    def aliased(self, e: Environment, name: str, value: np.ndarray) -> list[str]:
        """A view or a copy of an array, and an update of one of both."""
        self.temporaries += 1
        temporary = f"t{self.temporaries}"
        form = self.pick(
            f"{name}[None]",
            f"{name}[::-1]",
            f"np.expand_dims({name}, {self.pick(0, 1)})",
            f"{name}.T",
            f"{name}.reshape(1, -1)",
            f"{name}.astype(np.{value.dtype.name})",
            f"{name}.copy()",
            f"np.ascontiguousarray({name})",
            *([f"np.swapaxes({name}, 0, 1)", f"{name}.T[1:]"] * (value.ndim - 1)),
        )
        by = self.number(e, 1)
        update = self.pick(
            f"{self.pick(temporary, name)} {self.random.choice(AUGMENTED[:3])} {by}",
            f"{temporary}[0] = {by}",
            f"{name}[-1] = {by}",
            f"{name}[:] = {temporary}[{self.pick('0', '::-1', ':')}]",
        )
        return [f"{temporary} = {form}", update, f"s = s + float({temporary}.max())"]

    def parts(self, e: Environment, name: str, loops: int) -> list[str]:
        """An update of a part whose ends a loop varies."""
        at = self.pick("n % 4", *(f"i{n}" for n in range(loops)))
        to, of = self.pick(
            (f": {at} + 1", f": {at} + 1"),
            (f"{at} :", f": len({name}) - {at}"),
            (f"{at} + 1 :", f": len({name}) - {at} - 1"),
            (f"{at} : {at} + 2", f"{at} + 1 : {at} + 3"),
            (f"{at} : {at} + 2", f"{at} : {at} + 2"),
            (f": {at}", f"{at} : {at} + {at}"),
        )
        operator, by = self.pick("=", "+=", "-=", "*="), self.number(e, 1)
        value = self.pick(f"{name}[{of}]", f"{name}[{of}] * {by}", f"{name}[{at}]", by)
        return [f"{name}[{to}] {operator} {value}"]


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def plain(function: Callable[..., Any], given: list[Any]) -> Any:
    """What plain Python computes; casts whose result is open are errors."""
    with warnings.catch_warnings(), np.errstate(all="ignore", invalid="warn"):
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*in cast")
        return function(*given)


def numbers(random: Random, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Small numbers, so that sums of them are exact."""
    low = 0 if dtype[0] in "ub" else -5
    size = int(np.prod(shape))
    drawn = np.array([random.randint(low, 6) for _ in range(size)])
    made = drawn / 2 if dtype in FLOATS else drawn % 2 if dtype == "bool" else drawn
    return made.astype(dtype).reshape(shape)


def kept(before: Environment, after: Environment) -> bool:
    """Whether all variables have the types that they had."""
    pairs = [(v, after[n]) for n, v in before.items()]
    return all(
        type(x) is type(y)
        and getattr(x, "dtype", None) == getattr(y, "dtype", None)
        and getattr(x, "shape", None) == getattr(y, "shape", None)
        for x, y in pairs
    )


@dataclass(frozen=True)
class Program:
    """A function's source and its arguments."""

    seed: int
    text: str
    function: Callable[..., Any]
    grown: Function


def made(seed: int) -> Program:
    """The function of a seed."""
    random = Random(seed)
    arguments: dict[str, Any] = {
        name: numbers(random, random.choice(DTYPES), (LENGTH,)) for name in "abc"
    }
    arguments["m"] = numbers(random, "bool", (LENGTH,))
    arguments["w"] = numbers(random, random.choice(DTYPES), (LENGTH, 3))
    if random.random() < 0.3:
        arguments["b"] = np.repeat(arguments["b"], 2)[::2]
    arguments |= {"n": random.randint(0, 6), "s": random.choice([0.5, -1.5, 2.0])}
    arguments["q"] = random.choice([True, False])
    scalar = getattr(np, random.choice(SCALARS))
    arguments["k"] = scalar(random.randint(0, 5))
    grown = Function(random, arguments)
    e = grown.run([])
    assert e is not None
    tries = 0
    while len(grown.lines) < 9 and tries < 60:
        tries += 1
        lines = grown.statement(e, 2, 0)
        after = grown.run([*grown.lines, *lines])
        if after is None:
            continue
        if not kept(e, after) and (len(lines) > 1 or random.random() < 0.5):
            continue
        grown.lines += lines
        e = {n: v for n, v in after.items() if n[0] not in "it"}
    text = grown.text(grown.lines, ", ".join(e))
    filename = f"<jitted {seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), names)
    return Program(seed, text, names["f"], grown)


REFUSED = "refused"
TOLERANCES = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}


def difference(program: Program, target: str) -> str:
    """What `jit` computes elsewhere than Python; `REFUSED`; or nothing."""
    theirs, ours = program.grown.given(), program.grown.given()
    wanted = plain(program.function, theirs)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gcg.jit(target=target, exact=True)(program.function)(*ours)
    except errors.Error as refusal:
        return f"{REFUSED}: {refusal.code} {str(refusal).splitlines()[0]}"
    except Exception as failure:  # noqa: BLE001 - any other exception is a fault
        return f"{type(failure).__name__}: {failure}"
    names = [*program.text.splitlines()[-1].removeprefix("    return ").split(", ")]
    names += [f"argument {n}" for n in program.grown.arguments]
    for name, x, y in zip(names, (*found, *ours), (*wanted, *theirs), strict=True):
        if not agree(x, y):
            return f"{name} is {x!r} instead of {y!r}"
    return ""


def agree(found: Any, wanted: Any) -> bool:
    """Whether two values have the same type, where it is an array, and numbers."""
    x, y = np.asarray(found), np.asarray(wanted)
    if x.shape != y.shape or (is_array(wanted) and x.dtype != y.dtype):
        return False
    if "f" not in x.dtype.kind + y.dtype.kind:
        return np.array_equal(x, y)
    bound = max(TOLERANCES.get(d.dtype.name, 0) for d in (x, y))
    with np.errstate(all="ignore"):
        return bool(np.allclose(x.astype("f8"), y.astype("f8"), bound, bound, True))


def failures(seed: int, targets: list[str]) -> list[str]:
    """What `jit` computes wrongly of one function; refusals are none."""
    program = made(seed)
    found = {target: difference(program, target) for target in targets}
    return [
        f"jit {seed} on {target}: {text}"
        for target, text in found.items()
        if text and not text.startswith(REFUSED)
    ]
