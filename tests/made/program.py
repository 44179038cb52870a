"""A made program: text, arguments, and how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from gpucodegen.ir.number_formats import to_bits
from tests.scalars.values import storage


@dataclass(frozen=True)
class Made:
    """``@f`` of a text; ``peers``: others that know only MLIR's tensors can run it.

    ``answers``: its results by NumPy, where these are known.
    """

    area: str
    seed: int
    text: str
    arguments: Sequence[Any]
    peers: bool = False
    answers: Sequence[Any] | None = None

    @property
    def name(self) -> str:
        return f"{self.area} {self.seed}"

    def given(self) -> list[Any]:
        """The arguments, with memory of their own."""
        return [a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments]


@dataclass
class Maker:
    """Writes lines; every value has a name of its own."""

    random: Random
    lines: list[str] = field(default_factory=list[str])
    names: int = 0

    def name(self, prefix: str = "v") -> str:
        self.names += 1
        return f"%{prefix}{self.names}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def value(self, text: str) -> str:
        made = self.name()
        self.line(f"{made} = {text}")
        return made

    def index(self, number: int) -> str:
        return self.value(f"arith.constant {number} : index")

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability


INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f32", "f64")
NARROW = ("f16", "bf16")
ODD = ("i1", "i4", "i7", "i24", "index")
TYPES = (*INTEGERS, *FLOATS, *FLOATS, *NARROW)


def is_float(ty: str) -> bool:
    return ty[0] in "bf"


def numbers(random: Random, shape: Sequence[int], ty: str) -> np.ndarray:
    """Small integers and halves, so that sums of them are exact."""
    count = int(np.prod(shape))
    if is_float(ty):
        drawn = [random.randint(-6, 6) / 2 for _ in range(count)]
        narrow = storage(ty).kind == "u"
        held = [to_bits(x, ty) for x in drawn] if narrow else drawn
        return np.array(held, storage(ty)).reshape(shape)
    low, high = (0, 1) if ty == "i1" else (-7, 7)
    drawn = [random.randint(low, high) for _ in range(count)]
    return np.array(drawn, storage(ty)).reshape(shape)


def literal(random: Random, ty: str) -> str:
    """The text of a constant."""
    if ty == "i1":
        return random.choice(["true", "false"])
    if is_float(ty):
        return f"{random.choice([-2.0, -0.5, 0.5, 1.0, 2.0, 3.0])} : {ty}"
    return f"{random.randint(-5, 6)} : {ty}"


def joined(ty: str, shape: Sequence[int | str]) -> str:
    """Extents and an element type, as in ``4x8xf32``."""
    return "x".join([*map(str, shape), ty])


def tensor(ty: str, shape: Sequence[int | str]) -> str:
    return f"tensor<{joined(ty, shape)}>"


def memref(ty: str, shape: Sequence[int | str], layout: str = "") -> str:
    return f"memref<{joined(ty, shape)}{layout}>"


def vector(ty: str, shape: Sequence[int | str]) -> str:
    return f"vector<{joined(ty, shape)}>"
