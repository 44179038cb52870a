"""Elementwise nests made at random, with what NumPy says about them.

Each is a kernel that reads ``x``, ``y``, and ``u`` once a row, and writes ``z``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tests.extremes import maximumf

ROWS, COLUMNS = 5, 53
FLOATS = {"f32": np.float32, "f64": np.float64}
INTEGERS = {"i32": np.int32, "i64": np.int64}
OPERATIONS = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": maximumf,
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "xori": np.bitwise_xor,
    "minsi": np.minimum,
}
SUITED = {"f": ("addf", "subf", "mulf", "divf", "maximumf")} | {
    "i": ("addi", "subi", "muli", "xori", "minsi")
}
Array = np.ndarray


@dataclass(frozen=True)
class Nest:
    """``z[i][j + at] = formula`` for ``first <= j < last`` in every row."""

    dtype: str
    first: int
    last: int
    offsets: tuple[int, int, int]
    steps: tuple[tuple[str, int, int], ...]
    dynamic: bool
    compares: bool

    def kernel(self) -> str:
        """The body of a kernel ``(%x, %y, %u, %z, %s, %n)``."""
        ty = f"memref<{ROWS}x{COLUMNS}x{self.dtype}>"
        a, b, c = self.offsets
        end = "%n" if self.dynamic else self.last
        names = ["%a", "%b", "%c", "%s"]
        lines: list[str] = []
        for number, (op, left, right) in enumerate(self.steps):
            l, r = (names[p % len(names)] for p in (left, right))
            lines.append(f"%v{number} = arith.{op} {l}, {r} : {self.dtype}")
            names.append(f"%v{number}")
        result = names[-1]
        if self.compares:
            less = "cmpf olt" if self.dtype[0] == "f" else "cmpi slt"
            lines.append(f"%t = arith.{less}, %a, %b : {self.dtype}")
            lines.append(f"%w = arith.select %t, {result}, %s : {self.dtype}")
            result = "%w"
        body = "\n".join(lines)
        return f"""affine.for %i = 0 to {ROWS} {{
          affine.for %j = {self.first} to {end} {{
            %a = affine.load %x[%i, %j + {a}] : {ty}
            %b = affine.load %y[%i, %j + {b}] : {ty}
            %c = affine.load %u[%i] : memref<{ROWS}x{self.dtype}>
            {body}
            affine.store {result}, %z[%i, %j + {c}] : {ty}
          }}
        }}"""

    @property
    def arguments(self) -> str:
        """The parameters of the kernel."""
        ty = f"memref<{ROWS}x{COLUMNS}x{self.dtype}>"
        return (
            f"%x: {ty}, %y: {ty}, %u: memref<{ROWS}x{self.dtype}>, %z: {ty},"
            f" %s: {self.dtype}, %n: index"
        )

    def values(self, rng: np.random.Generator) -> list[Array]:
        """Contents of the four buffers and the scalar."""
        kind = (FLOATS | INTEGERS)[self.dtype]
        shapes = [(ROWS, COLUMNS), (ROWS, COLUMNS), (ROWS,), (ROWS, COLUMNS), (1,)]
        if self.dtype[0] == "f":
            return [rng.standard_normal(shape).astype(kind) for shape in shapes]
        return [rng.integers(-(2**31), 2**31, shape).astype(kind) for shape in shapes]

    def expected(self, values: list[Array]) -> Array:
        """What the nest leaves in ``z``."""
        x, y, u, z, (s,) = values
        a, b, c = self.offsets
        result = z.copy()
        here = slice(self.first, max(self.first, self.last))
        x, y = (v[:, here.start + o : here.stop + o] for v, o in ((x, a), (y, b)))
        known = [x, y, np.broadcast_to(u[:, None], x.shape), np.full(x.shape, s)]
        with np.errstate(all="ignore"):
            for op, left, right in self.steps:
                pair = (known[p % len(known)] for p in (left, right))
                known.append(OPERATIONS[op](*pair))
        final = np.where(x < y, known[-1], s) if self.compares else known[-1]
        result[:, here.start + c : here.stop + c] = final
        return result


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    """A nest of any element type, extents from nothing to several vectors."""
    dtype = draw(st.sampled_from([*FLOATS, *INTEGERS]))
    first = draw(st.integers(0, 3))
    last = draw(st.integers(first, COLUMNS - 4))
    number = st.integers(0, 30)
    step = st.tuples(st.sampled_from(SUITED[dtype[0]]), number, number)
    return Nest(
        dtype,
        first,
        last,
        draw(st.tuples(*[st.integers(0, 4)] * 3)),
        tuple(draw(st.lists(step, min_size=1, max_size=4))),
        draw(st.booleans()),
        draw(st.booleans()),
    )
