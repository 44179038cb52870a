"""``gpucodegen deps``: exact dependences of every function."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter

from gpucodegen.commands.inputs import (
    Failures,
    add_input_options,
    modules,
    printed_warnings,
)
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation

Rows = list[list[object]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_input_options(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="{function: [[src, dst, depth, result], ...]} as MLIR's dependence check",
    )


def run(options: argparse.Namespace) -> int:
    """Print the dependences of all functions of all chunks."""
    failures = Failures()
    found: dict[str, Rows] = {}
    seen: Counter[str] = Counter()
    with printed_warnings():
        for module in modules(options, failures):
            with failures.reported():
                for name, function in _functions(module):
                    count = seen[name]
                    seen[name] += 1
                    label = f"{name}#{count}" if count else name
                    found[label] = _rows(function, old=is_old(failures.text))
                    if not options.json:
                        print(_account(label, function))
    if options.json:
        print(json.dumps(found))
    return failures.status


def _functions(module: Module) -> list[tuple[str, Operation]]:
    """Functions with a body, in order, nested modules included."""
    from gpucodegen.dialects.builtin import symbol_name

    return [
        (symbol_name(op), op)
        for op in module.operation.walk()
        if op.name == "func.func" and op.regions and op.regions[0].blocks
    ]


_OLD_ACCESS = re.compile(r"(=|^)\s*(load|store)\s+[%\d]", re.MULTILINE)


def is_old(text: str) -> bool:
    """Whether a text is older than affine.load: it has plain ``load`` and ``store``.

    >>> is_old("%v = load %A[%i] : memref<8xf32>"), is_old("affine.store %v, %A[%i]")
    (True, False)
    """
    return "affine.load" not in text and _OLD_ACCESS.search(text) is not None


def _rows(function: Operation, *, old: bool) -> Rows:
    from gpucodegen.passes.lifting import (
        AFFINE_ACCESSES,
        PLAIN_ACCESSES,
        lift_function,
    )
    from gpucodegen.tiling.depcheck import rows

    listed = AFFINE_ACCESSES | PLAIN_ACCESSES if old else AFFINE_ACCESSES
    lifted = lift_function(function, one_access_per_statement=True, listed=listed)
    return [list(row) for row in rows(lifted.scop)]


def _account(label: str, function: Operation) -> str:
    """Loop kinds and dependences of one function for people."""
    from gpucodegen.passes.lifting import lift_function
    from gpucodegen.tiling.dependences import dependences
    from gpucodegen.tiling.loops import loop_verdicts
    from gpucodegen.tiling.model import model

    built = model(lift_function(function).scop)
    found = dependences(built)
    lines = [f"@{label}"]
    for verdict in loop_verdicts(built, found):
        why = f": {verdict.decisive}" if verdict.decisive else ""
        indent = "  " * (len(verdict.outer) + 1)
        lines.append(f"{indent}{verdict.loop.name}: {verdict.kind.value}{why}")
    for dependence in found:
        distance = "".join(map(str, dependence.distance))
        lines.append(f"  {dependence} distance {distance or '-'}")
    return "\n".join(lines)
