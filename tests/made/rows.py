"""Rows in parts: loops over ranges of each row that write and read the same arrays."""

from __future__ import annotations

from random import Random

import numpy as np

from tests.made.program import Made, Maker, is_float, memref

ARRAYS = "ABC"


class Rows(Maker):
    """Three matrices of ``rows`` by ``columns``, and a line of sums of each row."""

    def __init__(self, seed: int) -> None:
        """Half of the programs write only the array that no part reads."""
        super().__init__(Random(seed))
        self.ty = self.random.choice(["f32", "f64", "i32"])
        self.rows, self.columns = self.random.randint(2, 9), self.random.randint(9, 70)
        self.matrix = memref(self.ty, [str(self.rows), str(self.columns)])
        self.sums = memref(self.ty, [str(self.rows)])
        self.suffix = "f" if is_float(self.ty) else "i"
        self.sources, self.targets = self.random.choice(((ARRAYS, ARRAYS), ("AC", "B")))

    def part(self) -> None:
        """A loop over a range, which reads an element nearby or sums up."""
        first, last = sorted(self.random.sample(range(self.columns + 1), 2))
        if self.random.random() < 0.4:
            first, last = 0, self.columns
        j = self.name("j")
        self.line(f"affine.for {j} = {first} to {last} {{")
        shift = self.random.choice((0, 0, 0, -first, self.columns - last))
        source = self.random.choice(self.sources)
        target = self.random.choice(self.targets)
        x = self.value(f"affine.load %{source}[%i, {j} + {shift}] : {self.matrix}")
        if self.random.random() < 0.3:
            total = self.value(f"affine.load %s[%i] : {self.sums}")
            free = " fastmath<reassoc>" if self.suffix == "f" else ""
            new = self.value(f"arith.add{self.suffix} {total}, {x}{free} : {self.ty}")
            self.line(f"affine.store {new}, %s[%i] : {self.sums}")
        else:
            other = self.random.choice(self.sources)
            y = self.value(f"affine.load %{other}[%i, {j}] : {self.matrix}")
            new = self.value(f"arith.add{self.suffix} {x}, {y} : {self.ty}")
            self.line(f"affine.store {new}, %{target}[%i, {j}] : {self.matrix}")
        self.line("}")


def made(seed: int) -> Made:
    """Small integers, so that sums are exact in any order."""
    maker = Rows(seed)
    arguments = ", ".join(f"%{name}: {maker.matrix}" for name in ARRAYS)
    maker.line(f"func.func @f({arguments}, %s: {maker.sums}) {{")
    maker.line(f"affine.for %i = 0 to {maker.rows} {{")
    for _ in range(maker.random.randint(2, 5)):
        maker.part()
    maker.lines += ["}", "return", "}"]
    draws = np.random.default_rng(seed)
    dtype = np.dtype({"f32": "f4", "f64": "f8", "i32": "i4"}[maker.ty])
    shapes = [(maker.rows, maker.columns)] * len(ARRAYS) + [(maker.rows,)]
    given = [draws.integers(-2, 3, shape).astype(dtype) for shape in shapes]
    return Made("rows", seed, "\n".join(maker.lines), given)
