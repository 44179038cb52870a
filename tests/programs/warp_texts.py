"""Kernels whose threads exchange values, written for blocks of any shape."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

NUMPY = {
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "i1": "?",
    "i8": "i1",
    "i16": "i2",
    "i32": "i4",
    "i64": "i8",
}
SHARED = "#gpu.address_space<workgroup>"
Block = tuple[int, int, int]
LINEAR = """
    %l0 = arith.muli %sy, %tz : index
    %l1 = arith.addi %l0, %ty : index
    %l2 = arith.muli %l1, %sx : index
    %i = arith.addi %l2, %tx : index"""
"""``%i``: the number of the thread in its block."""


def launch(
    body: str, arguments: Sequence[str], block: Block = (64, 1, 1), more: str = ""
) -> str:
    """``f`` of memrefs ``%a``, ``%b``, .. launches one block; ``%cN`` are constants."""
    names = [f"%{chr(ord('a') + k)}: {ty}" for k, ty in enumerate(arguments)]
    x, y, z = (f"%c{extent}" for extent in block)
    used = set(re.findall(r"%c(\d+)\b", body)) | {"1", *map(str, block)}
    constants = "\n".join(
        f"  %c{n} = arith.constant {n} : index" for n in sorted(used, key=int)
    )
    return f"""func.func @f({", ".join(names)}) {{
{constants}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = {x}, %sy = {y}, %sz = {z}) {more} {{
{LINEAR}
{body}
    gpu.terminator
  }}
  return
}}"""


def each(values: Sequence[str], ty: str, block: Block, count: int) -> str:
    """A kernel that loads ``%v`` and stores some values, each in a row of ``%b``."""
    n = int(np.prod(block))
    lines = [f"    %v = memref.load %a[%i] : memref<{n}x{ty}>"]
    for row, text in enumerate(values):
        lines += [
            f"    {text.replace('%r', f'%r{row}')}",
            f"    memref.store %r{row}, %b[%c{row}, %i] : memref<{count}x{n}x{ty}>",
        ]
    types = (f"memref<{n}x{ty}>", f"memref<{count}x{n}x{ty}>")
    return launch("\n".join(lines), types, block)
