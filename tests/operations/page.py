"""docs/operations.md, and the table of outcomes that it shows."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from pathlib import Path

from tests.operations.examples import Example, examples, names
from tests.operations.execution import RUNS, TARGETS, outcome, refuses

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "operations.md"
OUTCOMES = HERE / "outcomes.txt"
VERIFIED = "verified"

_INTRODUCTION = """\
# Operations

Every operation of every dialect, and where it runs. Nothing here is claimed: each
operation has one small example, and the tests run it on each target.

| column | yes means |
|---|---|
| **parsed** | the example parses, prints as today's MLIR, and parses back |
| **verified** | an operand or result too few, too many or of a wrong type is an error |
| **interp** | the reference interpreter runs the example |
| **cpu** | so does the CPU, and all arrays and results are those of the interpreter |
| **cuda** | so does the PTX of the CUDA target, on the emulated device |

The examples of an operation run with
`pytest tests/operations -m '' --fuzz --case 'math.exp-'`. What stands in the last
column gives its text: a file of examples, or the table of [scalars](scalars.md)
(`tests/scalars`) or of named linalg operations. This page is written by
`python -m tests.operations`.
"""


@cache
def outcomes() -> dict[tuple[str, str], str]:
    """What did not run: (operation, target or `VERIFIED`), and the error."""
    rows = [line.split() for line in OUTCOMES.read_text("utf-8").splitlines()]
    return {(name, target): error for name, target, error in rows}


def measured() -> str:
    """The text of the table, by running every example."""
    lines: list[str] = []
    for name, example in sorted(examples().items()):
        found = {target: outcome(example, target) for target in TARGETS}
        found[VERIFIED] = RUNS if refuses(example) else "accepted"
        lines += [f"{name} {t} {o}" for t, o in found.items() if o != RUNS]
    return "\n".join(lines) + "\n"


def reason(name: str) -> str:
    """Why an operation does not run, in a word."""
    rows = (line.split(" | ") for line in _lines("reasons.txt"))
    return next((why for pattern, why in rows if re.fullmatch(pattern, name)), "")


def _lines(file: str) -> list[str]:
    return (HERE / file).read_text("utf-8").splitlines()


def page() -> str:
    """The whole page."""
    lines = [_INTRODUCTION, *_summary()]
    for dialect, members in groupby(names(), key=lambda n: n.partition(".")[0]):
        lines.append(f"\n## {dialect}\n")
        lines.append(
            "| operation | parsed | verified | interp | cpu | cuda | example |"
        )
        lines.append("|---|---|---|---|---|---|---|")
        lines += [_row(name, examples().get(name)) for name in members]
    return "\n".join(lines) + "\n"


def _row(name: str, example: Example | None) -> str:
    if example is None:
        return f"| {name} | - | - | - | - | - | {reason(name)} |"
    table = outcomes()
    columns = (VERIFIED, *TARGETS)
    cells = ["no" if (name, c) in table else "yes" for c in columns]
    failed = "no" in cells[1:]
    why = f": {reason(name)}" if failed else ""
    shown = f"[{Path(example.source).name}](../tests/{example.source}){why}"
    return f"| {name} | yes | {' | '.join(cells)} | {shown} |"


def _summary() -> list[str]:
    count, table = len(examples()), outcomes()
    heads = "\n| | operations | with an example | verified | interp | cpu | cuda |"
    runs = [count - sum(t == c for _, t in table) for c in (VERIFIED, *TARGETS)]
    numbers = " | ".join(map(str, (len(names()), count, *runs)))
    return [heads, "|---|---|---|---|---|---|---|", f"| all | {numbers} |"]
