"""What the example programs compute, in NumPy: arguments, answer and work of each.

Comes in: a random generator and a size (extents by name).  Goes out: the arguments of
one call, what they must hold afterwards, and the operations the call needs.  Answers
are computed in float64 (integers: exactly) from the definition of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Size = Mapping[str, int]
Arguments = tuple[Any, ...]
Answer = Mapping[int, Array]

RESULT = -1


class Problem(Protocol):
    """One computation at any size.

    ``answer`` maps argument positions to their contents after the call, and ``RESULT``
    to the returned array.
    """

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        """Arguments of one call."""
        ...

    @property
    def answer(self) -> Callable[..., Answer]:
        """Maps the arguments of a call to what it must leave or return."""
        ...

    def work(self, size: Size) -> int:
        """Arithmetic operations of one call."""
        ...


def exact(array: Array) -> Array:
    """The same numbers in a type in which sums lose nothing that matters."""
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)


def numbers(rng: np.random.Generator, dtype: str, *shape: int) -> Array:
    """Random floats of unit variance, or integers of two digits."""
    if np.dtype(dtype).kind == "i":
        return rng.integers(-99, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """``C = A B``, or ``C += A B``, or ``A B`` returned; ``sums``: the type of C.

    >>> MatrixProduct("f4").work({"M": 2, "N": 3, "K": 5})
    60
    """

    dtype: str
    accumulate: bool = False
    returned: bool = False
    sums: str = ""

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        m, n, k = size["M"], size["N"], size["K"]
        factors = [numbers(rng, self.dtype, *shape) for shape in ((m, k), (k, n))]
        result = [] if self.returned else [numbers(rng, self.sums or self.dtype, m, n)]
        return (*factors, *result)

    def answer(self, a: Array, b: Array, c: Array | None = None) -> Answer:
        product = exact(a) @ exact(b)
        if c is None:
            return {RESULT: product}
        return {2: exact(c) + product if self.accumulate else product}

    def work(self, size: Size) -> int:
        return 2 * size["M"] * size["N"] * size["K"]


@dataclass(frozen=True, slots=True)
class DenseLayer:
    """``max(X W + bias, 0)``, returned."""

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        m, n, k = size["M"], size["N"], size["K"]
        return tuple(numbers(rng, "f4", *shape) for shape in ((m, k), (k, n), (n,)))

    def answer(self, x: Array, w: Array, bias: Array) -> Answer:
        return {RESULT: np.maximum(exact(x) @ exact(w) + bias, 0)}

    def work(self, size: Size) -> int:
        return 2 * size["M"] * size["N"] * size["K"]


@dataclass(frozen=True, slots=True)
class Convolution:
    """A sliding window over a batch of images that are already padded.

    >>> Convolution("nhwc", strides=(2, 2)).extent(0, image=58, kernel=3)
    28
    """

    layout: str
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)

    def extent(self, axis: int, image: int, kernel: int) -> int:
        """Output extent along the height (0) or the width (1)."""
        reach = (kernel - 1) * self.dilations[axis]
        return (image - reach - 1) // self.strides[axis] + 1

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        high = self.extent(0, size["H"], size["KH"])
        wide = self.extent(1, size["W"], size["KW"])
        image = numbers(rng, "f4", size["B"], size["H"], size["W"], size["C"])
        kernel = numbers(rng, "f4", size["KH"], size["KW"], size["C"], size["F"])
        result = numbers(rng, "f4", size["B"], high, wide, size["F"])
        if self.layout == "nhwc":
            return image, kernel, result
        return tuple(
            np.ascontiguousarray(array.transpose(order))
            for array, order in (
                (image, (0, 3, 1, 2)),
                (kernel, (3, 2, 0, 1)),
                (result, (0, 3, 1, 2)),
            )
        )

    def answer(self, image: Array, kernel: Array, _result: Array) -> Answer:
        return {2: self.convolve(exact(image), exact(kernel))}

    def convolve(self, image: Array, kernel: Array) -> Array:
        """The result in the type of the operands: one product for each filter tap."""
        if self.layout == "nhwc":
            return self._slide(image, kernel)
        result = self._slide(image.transpose(0, 2, 3, 1), kernel.transpose(2, 3, 1, 0))
        return result.transpose(0, 3, 1, 2)

    def _slide(self, image: Array, kernel: Array) -> Array:
        high = self.extent(0, image.shape[1], kernel.shape[0])
        wide = self.extent(1, image.shape[2], kernel.shape[1])
        (sh, sw), (dh, dw) = self.strides, self.dilations
        total = np.zeros((image.shape[0], high, wide, kernel.shape[3]), image.dtype)
        for y, x in np.ndindex(*kernel.shape[:2]):
            rows = slice(y * dh, y * dh + (high - 1) * sh + 1, sh)
            columns = slice(x * dw, x * dw + (wide - 1) * sw + 1, sw)
            total += image[:, rows, columns] @ kernel[y, x]
        return total

    def work(self, size: Size) -> int:
        high = self.extent(0, size["H"], size["KH"])
        wide = self.extent(1, size["W"], size["KW"])
        window = size["KH"] * size["KW"] * size["C"]
        return 2 * size["B"] * high * wide * size["F"] * window


@dataclass(frozen=True, slots=True)
class Jacobi:
    """Five-point means, ``T`` times from a plane to another and back."""

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        plane = numbers(rng, "f4", size["H"], size["W"])
        return size["T"], plane, plane.copy()

    def answer(self, steps: int, a: Array, b: Array) -> Answer:
        a, b = exact(a), exact(b)
        for _ in range(steps):
            self._relax(a, b)
            self._relax(b, a)
        return {1: a, 2: b}

    @staticmethod
    def _relax(old: Array, new: Array) -> None:
        beside = old[1:-1, :-2] + old[1:-1, 2:]
        above_and_below = old[:-2, 1:-1] + old[2:, 1:-1]
        new[1:-1, 1:-1] = 0.2 * (old[1:-1, 1:-1] + beside + above_and_below)

    def work(self, size: Size) -> int:
        return 10 * size["T"] * (size["H"] - 2) * (size["W"] - 2)


@dataclass(frozen=True, slots=True)
class Heat:
    """Heat conduction, ``T`` times from a volume to another and back."""

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        volume = numbers(rng, "f4", size["D"], size["H"], size["W"])
        return size["T"], volume, volume.copy()

    def answer(self, steps: int, a: Array, b: Array) -> Answer:
        a, b = exact(a), exact(b)
        for _ in range(steps):
            self._conduct(a, b)
            self._conduct(b, a)
        return {1: a, 2: b}

    @staticmethod
    def _conduct(old: Array, new: Array) -> None:
        inner = old[1:-1, 1:-1, 1:-1]
        along = (
            old[:-2, 1:-1, 1:-1] + old[2:, 1:-1, 1:-1],
            old[1:-1, :-2, 1:-1] + old[1:-1, 2:, 1:-1],
            old[1:-1, 1:-1, :-2] + old[1:-1, 1:-1, 2:],
        )
        new[1:-1, 1:-1, 1:-1] = inner + 0.125 * (sum(along) - 6 * inner)

    def work(self, size: Size) -> int:
        inner = (size["D"] - 2) * (size["H"] - 2) * (size["W"] - 2)
        return 26 * size["T"] * inner


@dataclass(frozen=True, slots=True)
class Seidel:
    """Nine-point means in place, ``T`` times over a plane, point after point."""

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        return size["T"], numbers(rng, "f8", size["H"], size["W"])

    def answer(self, steps: int, a: Array) -> Answer:
        a = exact(a)
        for _ in range(steps):
            self._relax(a)
        return {1: a}

    @staticmethod
    def _relax(a: Array) -> None:
        """Points with one ``2 * i + j`` do not read each other."""
        rows, columns = a.shape
        cells, step = a.reshape(-1), columns - 2
        shifts = [i * columns + j for i in (-1, 0, 1) for j in (-1, 0, 1)]
        for diagonal in range(3, 2 * rows + columns - 5):
            first = max(1, (diagonal - columns + 3) // 2)
            last = min(rows - 2, (diagonal - 1) // 2)
            start, end = first * step + diagonal, last * step + diagonal + 1
            near: list[Array] = [cells[start + s : end + s : step] for s in shifts]
            cells[start:end:step] = np.mean(near, axis=0)

    def work(self, size: Size) -> int:
        return 9 * size["T"] * (size["H"] - 2) * (size["W"] - 2)


@dataclass(frozen=True, slots=True)
class TriangularSolve:
    """``L x = b``, or ``L X = B`` with ``B`` overwritten by ``X``."""

    in_place: bool = False

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        n = size["N"]
        lower = np.tril(numbers(rng, "f8", n, n)) / n + 2 * np.eye(n)
        if self.in_place:
            return lower, numbers(rng, "f8", n, size["R"])
        return lower, numbers(rng, "f8", n), np.zeros(n)

    def answer(self, lower: Array, b: Array, _x: Array | None = None) -> Answer:
        return {1 if self.in_place else 2: np.linalg.solve(lower, b)}

    def work(self, size: Size) -> int:
        return size["N"] ** 2 * size.get("R", 1)


@dataclass(frozen=True, slots=True)
class RowSum:
    """The sum of every row of a matrix."""

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        return numbers(rng, "f4", size["M"], size["N"]), np.zeros(size["M"], "f4")

    def answer(self, a: Array, _s: Array) -> Answer:
        return {1: exact(a).sum(axis=1)}

    def work(self, size: Size) -> int:
        return size["M"] * size["N"]


@dataclass(frozen=True, slots=True)
class Multiply2019:
    """``@multiply`` of the 2019 language reference: 100 x K times K x 50, returned."""

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        return numbers(rng, "f4", 100, size["K"]), numbers(rng, "f4", size["K"], 50)

    def answer(self, a: Array, b: Array) -> Answer:
        return {RESULT: exact(a) @ exact(b)}

    def work(self, size: Size) -> int:
        return 2 * 100 * 50 * size["K"]
