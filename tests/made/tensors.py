"""Tensors with slices in loops, at any type of integers."""

from __future__ import annotations

import re
from random import Random

import numpy as np

from tests.made.program import INTEGERS, Made
from tests.scalars.values import storage
from tests.tensors.tensor_programs import made_program


def made(seed: int) -> Made:
    """Statements on lines of numbers, with loops and branches around them."""
    random = Random(seed)
    ty = random.choice(INTEGERS)
    program = made_program(seed, random.randint(1, 6))
    dtype = storage(ty)
    first = (np.arange(8) * 3 - 7).astype(dtype)
    second = (np.arange(4) + 20).astype(dtype)
    text = re.sub(r"\bi32\b|(?<=x)i32\b", ty, program.text)
    # IREE 3.13 updates an argument in place that is returned as it was.
    keeps = {"%a", "%b"}.isdisjoint(program.returned)
    return Made("tensors", seed, text, [first, second], peers=keeps)
