"""What all tables of instructions share: how a rule looks, and what it may ignore."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.types import DTYPES

Rule = Callable[[Instruction, OperandText], list[Line]]
"""The lines that do what an instruction does; raises `Untranslatable`."""

IGNORED = frozenset(
    "aligned uni relaxed acquire release acq_rel weak volatile mmio nc gpu cta sys "
    "cluster".split()
)
"""Modifiers that change nothing here: lanes run in order, memory has one copy."""
COMBINATIONS = {"and": "&", "or": "|", "xor": "^"}
"""How a result is combined with a predicate."""
SPACES = tuple(
    "param param:entry param:func global shared shared:cta shared:cluster local "
    "const".split()
)
ROUNDINGS = ("rn", "rz", "rm", "rp")


def mods(x: Instruction, known: Iterable[str] = ()) -> list[str]:
    """The modifiers that matter; a `Untranslatable` if one is neither known nor a type.

    Hints about caches, ``L1:...`` and ``L2:...``, are left out.
    """
    left = [
        m for m in x.modifiers if m not in IGNORED and not m.startswith(("L1:", "L2:"))
    ]
    allowed = {*known, *DTYPES}
    strange = [m for m in left if m not in allowed]
    if strange:
        raise Untranslatable(f"modifier {strange[0]}")
    return left


def chosen(given: Iterable[str], among: Iterable[str], default: str = "") -> str:
    """The first modifier that is one of some."""
    some = set(among)
    return next((m for m in given if m in some), default)
