"""Products of floats of 8 bits by a warp, as each architecture computes them.

Instructions that add such products to a sum keep fewer bits of it than an f32 has:
NVIDIA does not say how many.  So each instruction starts from zero here, and its 32
products of a sum are added to it in f32.  sm_90 and sm_100 have no such instruction for
one warp: their factors become f16, which holds all of their numbers, and two products
of 16 terms are added to the sum in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.engines.architectures import since
from gpucodegen.intrinsics.framework.lowering import I32, Lowering

PTX_TYPES = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
"""What PTX calls them."""
FIRST, WITHOUT, AGAIN = 89, 90, 120
"""Architectures from which on there are such products, are none, and are again."""
F32 = ir.FloatType()
Fragments = tuple[list[Any], list[Any], list[Any]]
Instruction = Callable[..., list[Any]]
"""Of a text, types of its results and its values: the results."""


def multiplied(
    low: Lowering, instruction: Instruction, kind: str, given: Fragments
) -> list[Any]:
    """The sums of ``16 x 8`` elements with 32 products added to each."""

    def whole() -> list[Any]:
        *factors, before = given
        zeros = [ir.Constant(F32, 0.0)] * len(before)
        form = f"m16n8k32.row.col.f32.{kind}.{kind}.f32"
        made = product(instruction, form, (*factors, zeros))
        return [low.builder.fadd(*pair) for pair in zip(before, made, strict=True)]

    def in_halves() -> list[Any]:
        left, right, sums = given
        rows, columns = (
            [_halves(instruction, word, kind) for word in words]
            for words in (left, right)
        )
        form = "m16n8k16.row.col.f32.f16.f16.f32"
        for n in range(2):
            parts = [pair[n] for pair in rows], [pair[n] for pair in columns]
            sums = product(instruction, form, (*parts, sums))
        return sums

    def before_last() -> Sequence[Any]:
        return since(low, WITHOUT, in_halves, whole)

    return since(low, AGAIN, whole, before_last)


def _halves(instruction: Instruction, word: Any, kind: str) -> tuple[Any, Any]:
    """Four codes of a word as f16, two of them in each of two words."""
    text = (
        "{ .reg .b16 low, high; mov.b32 {low, high}, $2;"
        f" cvt.rn.f16x2.{kind}x2 $0, low; cvt.rn.f16x2.{kind}x2 $1, high; }}"
    )
    first, second = instruction(text, [I32, I32], [word])
    return first, second


def product(
    instruction: Instruction, form: str, given: Sequence[Sequence[Any]]
) -> list[Any]:
    """One instruction ``mma.sync``, on the registers of A, B and C."""
    number, lists = 0, list[str]()
    for group in (given[2], *given):
        names = [f"${number + i}" for i in range(len(group))]
        lists.append(f"{{{', '.join(names)}}}")
        number += len(group)
    values = [value for group in given for value in group]
    results = [value.type for value in given[2]]
    return instruction(f"mma.sync.aligned.{form} {', '.join(lists)};", results, values)
