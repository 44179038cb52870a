"""Loops over rows whose inner loops pass values on, made at random, with an oracle.

Each is a kernel on ``%x``, ``%y``, ``%z`` (rows), ``%u`` (one row), ``%w``, ``%t``
(columns), ``%s``, ``%r`` (an element per row), the number of rows and that of columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tests.extremes import maximumf, minimumf

KINDS = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
OPERATIONS = {
    "addf": np.add,
    "subf": np.subtract,
    "maximumf": maximumf,
    "minimumf": minimumf,
    "addi": np.add,
    "subi": np.subtract,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
}
SUITED = {
    kind: [o for o in OPERATIONS if (o[-1] == "f") == (kind == "f")] for kind in "fi"
}
Array = np.ndarray
Step = tuple[str, int, int]


@dataclass(frozen=True)
class Recurrences:
    """``c = steps(c, ..)`` along rows of ``columns``, from column ``first`` on.

    ``ahead`` are steps that do not use ``c``.  ``stores`` tells what is stored: the
    last step ahead to ``x`` (or ``y``), ``c`` to ``z``, ``c`` to ``t``.  ``in_cell``:
    ``c`` is ``r[i]``.  ``selects``: the largest step wins, as an argmax does it.
    """

    dtype: str
    rows: int
    columns: int
    first: int
    ahead: tuple[Step, ...]
    steps: tuple[Step, ...]
    stores: tuple[bool, bool, bool]
    in_place: bool
    in_cell: bool
    selects: bool
    dynamic: bool

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Extents of the arrays."""
        row, column = (self.rows, self.columns + 2), (self.columns + 2, self.rows)
        shapes = {"x": row, "y": row, "z": row, "u": row[1:], "w": column}
        return {**shapes, "t": column, "s": row[:1], "r": row[:1]}

    @property
    def arguments(self) -> str:
        """The parameters of the kernel."""
        arrays = (f"%{name}: {self._type(name)}" for name in self.shapes)
        return ", ".join((*arrays, "%m: index", "%n: index"))

    def _type(self, name: str) -> str:
        return f"memref<{'x'.join(map(str, self.shapes[name]))}x{self.dtype}>"

    @property
    def kernel(self) -> str:
        """The body of the kernel."""
        ends = ("%m", "%n") if self.dynamic else (self.rows, self.columns)
        head = f"affine.for %j = {self.first} to {ends[1]}"
        if self.in_cell:
            before = f"affine.store %init, %r[%i] : {self._type('r')}"
            first = f"%c = affine.load %r[%i] : {self._type('r')}"
            last = f"affine.store %next, %r[%i] : {self._type('r')}"
            loop = f"{before}\n{head} {{\n{first}\n{self._body}\n{last}\n}}"
        else:
            carry = f"iter_args(%c = %init) -> ({self.dtype})"
            end = f"affine.yield %next : {self.dtype}"
            store = f"affine.store %end, %r[%i] : {self._type('r')}"
            loop = f"%end = {head} {carry} {{\n{self._body}\n{end}\n}}\n{store}"
        return f"""affine.for %i = 0 to {ends[0]} {{
          %init = affine.load %s[%i] : {self._type("s")}
          %d = arith.{SUITED[self.dtype[0]][0]} %init, %init : {self.dtype}
          {loop}
        }}"""

    @property
    def _body(self) -> str:
        shift = int(not self.in_place)
        lines = [
            f"%a = affine.load %x[%i, %j + {shift}] : {self._type('x')}",
            f"%b = affine.load %u[%j + 1] : {self._type('u')}",
            f"%e = affine.load %w[%j, %i] : {self._type('w')}",
        ]
        names = ["%a", "%b", "%e", "%d"]
        self._add(lines, names, self.ahead, "v")
        early = names[-1]
        names.append("%c")
        self._add(lines, names, self.steps, "w")
        if self.selects:
            is_float = self.dtype[0] == "f"
            compare = "cmpf ogt" if is_float else "cmpi sgt"
            lines.append(f"%less = arith.{compare}, {early}, %c : {self.dtype}")
            lines.append(
                f"%next = arith.select %less, {early}, {names[-1]} : {self.dtype}"
            )
        else:
            op = SUITED[self.dtype[0]][0]
            lines.append(f"%next = arith.{op} %c, {names[-1]} : {self.dtype}")
        ahead, rows, columns = self.stores
        target = "x" if self.in_place else "y"
        places = [
            (ahead, early, f"%{target}[%i, %j] : {self._type(target)}"),
            (rows, "%next", f"%z[%i, %j + 2] : {self._type('z')}"),
            (columns, "%next", f"%t[%j + 1, %i] : {self._type('t')}"),
        ]
        lines += [f"affine.store {v}, {at}" for wanted, v, at in places if wanted]
        return "\n".join(lines)

    def _add(
        self, lines: list[str], names: list[str], steps: tuple[Step, ...], hint: str
    ) -> None:
        for number, (op, left, right) in enumerate(steps):
            l, r = (names[-1 - p % len(names)] for p in (left, right))
            lines.append(f"%{hint}{number} = arith.{op} {l}, {r} : {self.dtype}")
            names.append(f"%{hint}{number}")

    def values(self, rng: np.random.Generator) -> dict[str, Array]:
        """Contents of the arrays: NaN and both zeros among the floats."""
        kind = KINDS[self.dtype]
        if self.dtype[0] == "i":
            return {
                name: rng.integers(-(2**31), 2**31, shape).astype(kind)
                for name, shape in self.shapes.items()
            }
        special = np.array([0.0, -0.0, np.nan, np.inf, 1.0], kind)
        made = {k: rng.standard_normal(v).astype(kind) for k, v in self.shapes.items()}
        for array in made.values():
            odd = rng.random(array.shape) < 0.02
            array[odd] = rng.choice(special, odd.sum())
        return made

    def run(self, values: dict[str, Array]) -> None:
        """What the kernel does to the arrays, all rows at once, column by column."""
        x, y, z, u, w, t, s, r = values.values()
        d, c = s + s, s.copy()
        with np.errstate(all="ignore"):
            for j in range(self.first, self.columns):
                a = x[:, j + (not self.in_place)].copy()
                known = [a, np.broadcast_to(u[j + 1], a.shape), w[j], d]
                self._take(known, self.ahead)
                early = known[-1].copy()
                known.append(c)
                self._take(known, self.steps)
                if self.selects:
                    c = np.where(early > c, early, known[-1])
                else:
                    c = c + known[-1]
                if self.stores[0]:
                    (x if self.in_place else y)[:, j] = early
                if self.stores[1]:
                    z[:, j + 2] = c
                if self.stores[2]:
                    t[j + 1] = c
        r[:] = c

    def _take(self, known: list[Array], steps: tuple[Step, ...]) -> None:
        for op, left, right in steps:
            pair = (known[-1 - p % len(known)] for p in (left, right))
            known.append(OPERATIONS[op](*pair))


@st.composite
def recurrences(draw: st.DrawFn) -> Recurrences:
    """Any of them: rows and columns from none to several vectors."""
    dtype = draw(st.sampled_from(sorted(KINDS)))
    number = st.integers(0, 9)
    step = st.tuples(st.sampled_from(SUITED[dtype[0]]), number, number)
    steps = st.lists(step, max_size=3).map(tuple)
    flags = [draw(st.booleans()) for _ in range(7)]
    columns = draw(st.integers(0, 37))
    first = draw(st.integers(0, min(3, columns)))
    rows, in_cell = draw(st.integers(1, 37)), flags[4]
    return Recurrences(
        dtype,
        rows,
        columns,
        first,
        draw(steps),
        draw(steps),
        (flags[0], flags[1], flags[2]),
        flags[3],
        in_cell,
        flags[5],
        flags[6],
    )


def same_bits(got: Array, want: Array) -> bool:
    """Whether arrays are alike: NaN is NaN, zeros have their sign."""
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    nan = np.isnan(want)
    signs = np.array_equal(np.signbit(got[~nan]), np.signbit(want[~nan]))
    return np.array_equal(got, want, equal_nan=True) and signs
