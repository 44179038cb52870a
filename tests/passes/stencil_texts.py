"""Time loops around stencils as MLIR, written out from one line per sweep."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

BELOW = "affine_map<()[s] -> (s - %d)>()"
Arrays = list[np.ndarray]


@dataclass(frozen=True, slots=True)
class Sweep:
    """``target[i, j] = weight * (sum of sources)`` over ``low <= i, j < n - high``."""

    target: str
    sources: Sequence[str]
    weight: float
    low: Sequence[int]
    high: Sequence[int]


@dataclass(frozen=True, slots=True)
class Stencil:
    """A function of a number of steps and of arrays of one shape."""

    name: str
    arrays: str
    rank: int
    sweeps: Sequence[Sweep]

    def mlir(self, element: str = "f64") -> str:
        shape = "x".join("?" * self.rank)
        memref = f"memref<{shape}x{element}>"
        arguments = ", ".join(f"%{a}: {memref}" for a in self.arrays)
        sizes = [
            f"%c{d} = arith.constant {d} : index\\n"
            f"%n{d} = memref.dim %{self.arrays[0]}, %c{d} : {memref}"
            for d in range(self.rank)
        ]
        weights = [
            f"%w{k} = arith.constant {sweep.weight!r} : {element}"
            for k, sweep in enumerate(self.sweeps)
        ]
        body = [self._loops(k, memref, element) for k in range(len(self.sweeps))]
        lines = [
            f"func.func @{self.name}(%T: index, {arguments}) {{",
            *sizes,
            *weights,
            "affine.for %t = 0 to %T {",
            *body,
            "}",
            "return",
            "}",
        ]
        return "\n".join(lines).replace("\\n", "\n")

    def _loops(self, number: int, memref: str, element: str) -> str:
        sweep = self.sweeps[number]
        bounds = zip("ijk", sweep.low, sweep.high, strict=False)
        loops = [
            f"affine.for %{name} = {low} to {BELOW % high}[%n{d}] {{"
            for d, (name, low, high) in enumerate(bounds)
        ]
        loads = [
            f"%x{at} = affine.load {_cell(cell)} : {memref}"
            for at, cell in enumerate(sweep.sources)
        ]
        last = len(sweep.sources) - 1
        sums = [
            f"%s{at} = arith.addf %{f's{at - 1}' if at > 1 else 'x0'}, %x{at} "
            f": {element}"
            for at in range(1, last + 1)
        ]
        end = [
            f"%r = arith.mulf %s{last}, %w{number} : {element}",
            f"affine.store %r, {_cell(sweep.target)} : {memref}",
        ]
        return "\n".join([*loops, *loads, *sums, *end, "}" * len(loops)])

    def run(self, steps: int, arrays: Arrays) -> None:
        """The same in Python, element by element."""
        kinds = dict(zip(self.arrays, arrays, strict=True))
        sweeps = [_compiled(sweep) for sweep in self.sweeps]
        for _ in range(steps):
            for sweep in sweeps:
                sweep(kinds)


def _compiled(sweep: Sweep) -> Callable[[dict[str, np.ndarray]], None]:
    """Loops over all points of a sweep; sums in the order of its sources."""
    bounds = [*zip("ijk", sweep.low, sweep.high, strict=False)]
    loops = [
        f"{' ' * d}for {name} in range({low}, shape[{d}] - {high}):"
        for d, (name, low, high) in enumerate(bounds)
    ]
    body = f"{sweep.target} = ({' + '.join(sweep.sources)}) * weight"
    code = compile("\n".join([*loops, " " * len(loops) + body]), sweep.target, "exec")

    def run(arrays: dict[str, np.ndarray]) -> None:
        first = next(iter(arrays.values()))
        weight = first.dtype.type(sweep.weight)
        exec(code, {**arrays, "shape": first.shape, "weight": weight})

    return run


def _cell(text: str) -> str:
    """``A[i-1,j]`` as an MLIR operand."""
    name, indices = text.rstrip("]").split("[")
    shown = [
        re.sub(r"([ijk])([+-]?)(\d*)", r"%\1 \2 \3", i).strip()
        for i in indices.split(",")
    ]
    return f"%{name}[{', '.join(shown)}]"


def _cross(array: str, rank: int) -> list[str]:
    """The cell and its neighbours along each dimension."""
    names = "ijk"[:rank]
    cells = [names]
    for at in range(rank):
        for side in ("-1", "+1"):
            cells.append("".join(names))
            cells[-1] = ",".join(
                n + side if k == at else n for k, n in enumerate(names)
            )
    cells[0] = ",".join(names)
    return [f"{array}[{cell}]" for cell in cells]


def _jacobi(rank: int) -> Stencil:
    centre = ",".join("ijk"[:rank])
    ones = (1,) * rank
    weight = 1 / (2 * rank + 1)
    sweeps = [
        Sweep(f"{target}[{centre}]", _cross(source, rank), weight, ones, ones)
        for source, target in ("AB", "BA")
    ]
    return Stencil(f"jacobi_{rank}d", "AB", rank, sweeps)


SEIDEL = Stencil(
    "seidel_2d",
    "A",
    2,
    [
        Sweep(
            "A[i,j]",
            [f"A[{i},{j}]" for i in ("i-1", "i", "i+1") for j in ("j-1", "j", "j+1")],
            1 / 9,
            (1, 1),
            (1, 1),
        )
    ],
)
FDTD = Stencil(
    "fdtd_2d",
    "EFH",
    2,
    [
        Sweep("E[i,j]", ["E[i,j]", "H[i,j]", "H[i-1,j]"], 0.5, (1, 0), (0, 0)),
        Sweep("F[i,j]", ["F[i,j]", "H[i,j]", "H[i,j-1]"], 0.5, (0, 1), (0, 0)),
        Sweep(
            "H[i,j]",
            ["H[i,j]", "F[i,j+1]", "F[i,j]", "E[i+1,j]", "E[i,j]"],
            0.3,
            (0, 0),
            (1, 1),
        ),
    ],
)
STENCILS = {s.name: s for s in (SEIDEL, *map(_jacobi, (1, 2, 3)), FDTD)}
"""`jacobi_3d` is the heat equation on a cube."""
