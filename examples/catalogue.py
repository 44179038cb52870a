"""The example programs: MLIR text, entry and the problem each of them solves.

Comes in: the ``.mlir`` files beside this module.  Goes out: ``PROGRAMS``, which the
tests run on every engine and the benchmarks time against their peers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from examples.problems import (
    RESULT,
    Answer,
    Arguments,
    Convolution,
    DenseLayer,
    Heat,
    Jacobi,
    MatrixProduct,
    Multiply2019,
    Problem,
    RowSum,
    Seidel,
    Size,
    TriangularSolve,
)

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Program:
    """One function of an example file, and the problem it must solve.

    ``small`` is a size for the emulated device, with odd extents where the program
    allows them; ``large`` is the size that is measured.

    >>> PROGRAMS["jacobi_2d"].arguments()[0]
    3
    """

    name: str
    file: str
    entry: str
    problem: Problem
    small: Size
    large: Size
    tolerance: float = 1e-4

    @property
    def path(self) -> Path:
        """The file that holds the function."""
        return FOLDER / self.file

    @property
    def text(self) -> str:
        """The MLIR text of that file."""
        return self.path.read_text(encoding="utf-8")

    def arguments(self, size: Size | None = None, seed: int = 0) -> Arguments:
        """Fresh NumPy arguments, the same for the same seed."""
        rng = np.random.default_rng(seed)
        return self.problem.arguments(rng, self.small if size is None else size)

    def check(
        self, answer: Answer, arguments: Arguments, result: object = None
    ) -> None:
        """Raise an AssertionError unless a call left the answer."""
        for position, right in answer.items():
            found = np.asarray(result if position == RESULT else arguments[position])
            scale = float(np.abs(right).max(initial=1))
            np.testing.assert_allclose(
                found.astype(right.dtype),
                right,
                rtol=self.tolerance,
                atol=self.tolerance * scale,
                err_msg=f"{self.name}: value {position}",
            )

    def run(
        self, call: Callable[..., object], size: Size | None = None, seed: int = 0
    ) -> None:
        """Call with fresh arguments and check what comes of it."""
        arguments = self.arguments(size, seed)
        answer = self.problem.answer(*arguments)
        self.check(answer, arguments, call(*arguments))


_MATRICES = {"M": 20, "N": 13, "K": 17}
_LARGE_MATRICES = {"M": 1024, "N": 1024, "K": 1024}
_IMAGE = {"B": 1, "H": 11, "W": 13, "C": 3, "F": 4, "KH": 3, "KW": 3}
_RESNET_IMAGE = {"B": 1, "H": 58, "W": 58, "C": 128, "F": 128, "KH": 3, "KW": 3}


def _linalg_matmul(kind: str, problem: Problem, tolerance: float) -> Program:
    return Program(
        name=f"linalg_matmul_{kind}",
        file="linalg_matmul.mlir",
        entry=f"matmul_{kind}",
        problem=problem,
        small=_MATRICES,
        large=_LARGE_MATRICES,
        tolerance=tolerance,
    )


def _conv_2d(layout: str, kind: str) -> Program:
    strides, dilations = {
        "strided": ((2, 2), (1, 1)),
        "dilated": ((1, 2), (2, 1)),
    }[kind]
    return Program(
        name=f"conv_2d_{layout}_{kind}",
        file="conv_2d.mlir",
        entry=f"{layout}_{kind}",
        problem=Convolution(layout, strides, dilations),
        small=_IMAGE,
        large=_RESNET_IMAGE,
    )


_ALL = (
    Program(
        name="matmul",
        file="matmul.mlir",
        entry="matmul",
        problem=MatrixProduct("f4", accumulate=True),
        small=_MATRICES,
        large={"M": 1000, "N": 513, "K": 777},
    ),
    _linalg_matmul("f32", MatrixProduct("f4"), 1e-4),
    _linalg_matmul("f64", MatrixProduct("f8"), 1e-12),
    _linalg_matmul("i32", MatrixProduct("i4"), 0.0),
    _linalg_matmul("tensor", MatrixProduct("f4", returned=True), 1e-4),
    Program(
        name="dense_layer",
        file="dense_layer.mlir",
        entry="dense_layer",
        problem=DenseLayer(),
        small=_MATRICES,
        large={"M": 1024, "N": 1024, "K": 64},
    ),
    _conv_2d("nhwc", "strided"),
    _conv_2d("nhwc", "dilated"),
    _conv_2d("nchw", "strided"),
    _conv_2d("nchw", "dilated"),
    Program(
        name="jacobi_2d",
        file="jacobi_2d.mlir",
        entry="jacobi_2d",
        problem=Jacobi(),
        small={"T": 3, "H": 11, "W": 14},
        large={"T": 50, "H": 1000, "W": 1000},
    ),
    Program(
        name="heat_3d",
        file="heat_3d.mlir",
        entry="heat_3d",
        problem=Heat(),
        small={"T": 2, "D": 6, "H": 7, "W": 9},
        large={"T": 50, "D": 256, "H": 256, "W": 256},
    ),
    Program(
        name="seidel_2d",
        file="seidel_2d.mlir",
        entry="seidel_2d",
        problem=Seidel(),
        small={"T": 3, "H": 11, "W": 14},
        large={"T": 50, "H": 1000, "W": 1000},
        tolerance=1e-12,
    ),
    Program(
        name="trsv",
        file="triangular_solve.mlir",
        entry="trsv",
        problem=TriangularSolve(),
        small={"N": 19},
        large={"N": 1000},
        tolerance=1e-10,
    ),
    Program(
        name="trsm",
        file="triangular_solve.mlir",
        entry="trsm",
        problem=TriangularSolve(in_place=True),
        small={"N": 11, "R": 9},
        large={"N": 256, "R": 512},
        tolerance=1e-10,
    ),
    Program(
        name="row_sum",
        file="row_reduction.mlir",
        entry="row_sum",
        problem=RowSum(),
        small={"M": 21, "N": 37},
        large={"M": 2000, "N": 3000},
    ),
    Program(
        name="multiply_2019",
        file="multiply_2019.mlir",
        entry="multiply",
        problem=Multiply2019(),
        small={"K": 7},
        large={"K": 1000},
    ),
    Program(
        name="dma_matmul",
        file="dma_matmul.mlir",
        entry="dma_matmul",
        problem=MatrixProduct("f4", accumulate=True),
        small={"M": 32, "N": 16, "K": 48},
        large={"M": 512, "N": 512, "K": 512},
    ),
    Program(
        name="dma_matmul_f16",
        file="dma_matmul_f16.mlir",
        entry="dma_matmul_f16",
        problem=MatrixProduct("f2", accumulate=True, sums="f4"),
        small={"M": 64, "N": 32, "K": 64},
        large={"M": 512, "N": 512, "K": 512},
    ),
)

PROGRAMS: Mapping[str, Program] = {program.name: program for program in _ALL}
