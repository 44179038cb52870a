"""Kernels of the product, and mutants of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from gpucodegen import ptx
from gpucodegen.ptx import faults
from tests.ptx.kernels import changed, fault, launch, sample

RNG = np.random.default_rng(0)
Arrays = tuple[np.ndarray, ...]


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("f4")


def matmul() -> tuple[Arrays, np.ndarray, int]:
    a, b, c = floats(20, 17), floats(17, 13), floats(20, 13)
    return (b, c, a), c + a @ b, 1
