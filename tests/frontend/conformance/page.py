"""``docs/conformance.md`` from the table."""

from __future__ import annotations

from itertools import groupby

from conformance.table import HERE, Row, executes, owed, rows, shown

PAGE = HERE.parents[2] / "docs" / "conformance.md"

_INTRODUCTION = """\
# Conformance

This page lists what five documents of the MLIR project describe, and how much of it is
tested. Their own code is in
[tests/frontend/documents](../tests/frontend/documents); all of it is run.

| document | describes |
|---|---|
| **000** | the builtin dialect, today |
| **001** | the language reference of 2019 |
| **002** | the language reference of 2020 |
| **003** | the reference, rationale and passes of 2018 against 2019 |
| **004** | the linalg dialect of 2020 |

A cell counts the tests of one kind:

| column | a test shows that |
|---|---|
| **P** | the construct parses, prints as today's MLIR and parses back |
| **V** | breaking its rule is an error with line and column |
| **X** | it runs, on the CPU, on the emulated device and in the interpreter |
| **A** | the dependence analysis models it |

The column **executes** names the targets on which a row's claims were run and held:
the interpreter, the CPU, the emulated device. A row without one says what it is about
instead: *text* has no meaning but itself, *a rule of text* is checked before anything
runs, and *what the analysis knows* is proven.

A dash says that no test is needed. **open** says that one is missing, for a reason
stated at the end.

The tests of row R119 run with
`pytest tests/frontend/test_conformance.py --case R119-`. This page is written by
`python -m conformance` in `tests/frontend`.
"""


def page() -> str:
    """The whole page."""
    counts, missing = shown(), owed()

    def cell(row: Row, duty: str) -> str:
        if duty not in row.duties:
            return "-"
        words = [str(counts[row.id, duty])] if counts[row.id, duty] else []
        return ", ".join([*words, *["open"] * ((row.id, duty) in missing)])

    lines = [_INTRODUCTION]
    lines.append(_summary(missing))
    for section, members in groupby(rows(), key=lambda row: row.section):
        lines.append(f"\n## {section}\n")
        lines.append("| | where | construct | rule | P | V | X | A | executes |")
        lines.append("|---|---|---|---|---|---|---|---|---|")
        for row in members:
            cells = " | ".join(cell(row, duty) for duty in "PVXA")
            text = f"{row.where} | {row.construct} | {row.rule}"
            lines.append(f"| {row.id} | {text} | {cells} | {executes(row)} |")
    lines.append("\n## Open\n")
    reasons: dict[tuple[str, str], str] = {}
    for (id_, duty), reason in missing.items():
        reasons[id_, reason] = reasons.get((id_, reason), "") + duty
    listed = [f"- {id_} {duties}: {text}" for (id_, text), duties in reasons.items()]
    lines += listed or ["No row is open."]
    return "\n".join(lines) + "\n"


def _summary(missing: dict[tuple[str, str], str]) -> str:
    heads = "| | owed | in full | open |\n|---|---|---|---|"
    lines = [heads]
    for duty in "PVXA":
        total = sum(duty in row.duties for row in rows())
        left = sum(d == duty for _, d in missing)
        lines.append(f"| {duty} | {total} | {total - left} | {left} |")
    return "\n".join(lines)
