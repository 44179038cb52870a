"""docs/dtypes.md, and the table of outcomes that it shows."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gpucodegen.runtime.host.buffers import NUMPY_NAMES
from tests.dtypes.programs import (
    NARROW,
    RUNS,
    TARGETS,
    TYPES,
    accumulator,
    outcome,
    programs,
    storage,
)

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "dtypes.md"
OUTCOMES = HERE / "outcomes.txt"
KINDS = ("arguments", "arithmetic", "vectors")
NAMES = {"interp": "interp", "cpu": "cpu", "sim": "cuda"}

_INTRODUCTION = """\
# Element types

What each element type can do, found by running small programs on every target. A cell
names the targets that run them: the reference interpreter, the CPU, and the PTX of the
CUDA target on the emulated device.

| column | the program |
|---|---|
| **arguments** | copies an array to another |
| **arithmetic** | adds each number to itself |
| **vectors** | does so with `vector<4xT>` |

| column | tells |
|---|---|
| **bytes** | what an element takes in memory |
| **NumPy** | dtypes of the arrays that a call takes |
| **sums** | where `linalg.matmul` of the type into itself keeps its sums |

Names that NumPy lacks are those of the package ml_dtypes; the bits serve as well. Sums
in the type *itself* are rounded at every step, those in a *wider* one once.

Integers of odd widths take the next larger bytes, and wrap at their own width. `i1` is
a byte of 0 or 1. Sums of `f32`, `f64` and complex numbers stay in their type; compilers
may change their order and fuse products with them. Sums of integers wrap, in whatever
order. A product written into a wider type, such as `f16` into `f32` or `i8` into `i32`,
is summed in that. This page is written by `python -m tests.dtypes`.
"""


@cache
def outcomes() -> dict[tuple[str, str, str], str]:
    """(type, what, target) and what happened, where it did not just run."""
    rows = [line.split() for line in OUTCOMES.read_text("utf-8").splitlines()]
    return {(ty, what, target): found for ty, what, target, found in rows}


def measured() -> str:
    """The text of the table, by running everything."""
    lines: list[str] = []
    for ty in TYPES:
        for what, text in programs(ty).items():
            found = {target: outcome(text, target) for target in TARGETS}
            lines += [f"{ty} {what} {t} {o}" for t, o in found.items() if o != RUNS]
    for ty in NARROW:
        for target in TARGETS[1:]:
            lines.append(f"{ty} sums {target} {accumulator(ty, target)}")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    lines = [_INTRODUCTION]
    lines.append("| type | arguments | arithmetic | vectors | bytes | NumPy | sums |")
    lines.append("|---|---|---|---|---|---|---|")
    lines += [_row(ty) for ty in TYPES]
    return "\n".join(lines) + "\n"


def _row(ty: str) -> str:
    cells = [_where(ty, what) for what in KINDS]
    names = ", ".join(f"`{n}`" for n in NUMPY_NAMES.get(ty, ())) or "-"
    return f"| {ty} | {' | '.join(cells)} | {storage(ty)} | {names} | {_sums(ty)} |"


def _where(ty: str, what: str) -> str:
    table = outcomes()
    runs = [NAMES[t] for t in TARGETS if (ty, what, t) not in table]
    return "all" if len(runs) == len(TARGETS) else ", ".join(runs) or "none"


def _sums(ty: str) -> str:
    found = [
        (NAMES[t], outcomes().get((ty, "sums", t), ""))
        for t in TARGETS
        if t != "interp"
    ]
    if not found[0][1]:
        return ""
    if len({word for _, word in found}) == 1:
        return found[0][1]
    return ", ".join(f"{name}: {word}" for name, word in found)
