"""``gpucodegen deps``: prints the exact dependences of every function."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from gpucodegen.commands.inputs import (
    add_input_options,
    modules,
    reported_failures,
)
from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.ir.operation import Operation

if TYPE_CHECKING:
    from gpucodegen.passes.analysis.lifting import Surroundings

Rows = list[list[object]]


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="one row per pair of accesses, as MLIR's dependence check lists them: "
        "{function: [[src, dst, depth, result], ...]}",
    )


def run(options: argparse.Namespace) -> int:
    """Print the dependences of all functions of all chunks."""
    from gpucodegen.passes.analysis.lifting import Surroundings
    from gpucodegen.passes.analysis.queries import functions_with_body
    from gpucodegen.passes.checks.buffers import check_module

    found: dict[str, Rows] = {}
    seen: Counter[str] = Counter()
    with reported_failures() as failures:
        for module in modules(options, failures):
            with failures.reported():
                check_module(module)
                surroundings = Surroundings.of(module)
                for function in functions_with_body(module):
                    name = symbol_name(function)
                    count = seen[name]
                    seen[name] += 1
                    label = f"{name}#{count}" if count else name
                    old = is_old(failures.text)
                    found[label] = _rows(function, surroundings, old=old)
                    if not options.json:
                        print(_account(label, function, surroundings))
    if options.json:
        print(json.dumps(found))
    return failures.status


_OLD_ACCESS = re.compile(r"(=|^)\s*(load|store)\s+[%\d]", re.MULTILINE)


def is_old(text: str) -> bool:
    """Whether a text predates affine.load: it has plain ``load`` and ``store``.

    >>> is_old("%v = load %A[%i] : memref<8xf32>"), is_old("affine.store %v, %A[%i]")
    (True, False)
    """
    return "affine.load" not in text and _OLD_ACCESS.search(text) is not None


def _rows(function: Operation, surroundings: Surroundings, *, old: bool) -> Rows:
    from gpucodegen.passes.analysis.queries import lift_accesses
    from gpucodegen.tiling.proof.dependences import rows

    lifted = lift_accesses(function, surroundings, plain=old)
    return [list(row) for row in rows(lifted.scop)]


def _account(label: str, function: Operation, surroundings: Surroundings) -> str:
    """Loop kinds and dependences of one function as text."""
    from gpucodegen.passes.analysis.lifting import lift_function
    from gpucodegen.tiling.model.relations import model
    from gpucodegen.tiling.proof.dependences import dependences
    from gpucodegen.tiling.proof.liveness import (
        loop_verdicts,
        values,
        with_privatisation,
    )

    built = model(lift_function(function, surroundings).scop)
    found = dependences(built)
    lines = [f"@{label}"]
    verdicts = loop_verdicts(built, found)
    for verdict in with_privatisation(verdicts, values(built)):
        why = f": {verdict.decisive}" if verdict.decisive else ""
        indent = "  " * (len(verdict.outer) + 1)
        lines.append(f"{indent}{verdict.loop.name}: {verdict.description}{why}")
    for dependence in found:
        distance = "".join(map(str, dependence.distance))
        lines.append(f"  {dependence} distance {distance or '-'}")
    return "\n".join(lines)
