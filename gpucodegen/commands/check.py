"""``gpucodegen check``: runs the interpreter after every pass on random arguments.

The function runs as written, after each pass of a target's pipeline, and on the target
itself. The first pass after which a number differs is named, with its change to the
module; that is a bug of gpucodegen, and the output is its report.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.commands.inputs import (
    add_input_options,
    add_json_option,
    modules,
    reported_failures,
    write_records,
)
from gpucodegen.commands.run import add_argument_option, argument

if TYPE_CHECKING:
    from gpucodegen.checking import Checked
    from gpucodegen.program import Program

TARGETS = ("cpu", "sim")
LARGEST = 8
"""Integers are drawn from -8 to 8; if the program fails with those, from 0 and 1."""
EXTENTS = {0: 20, 1: 20, 2: 20, 3: 9}
"""Dynamic extents by the largest rank of an argument, small for the interpreter."""
FEW = 4
"""Dynamic extent for higher ranks."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    parser.add_argument("--entry", default="", help="only this function")
    parser.add_argument(
        "--target",
        choices=TARGETS,
        default="cpu",
        help="whose passes; sim is CUDA on the emulated device; default: %(default)s",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the random arguments; default: 0"
    )
    add_argument_option(parser)
    parser.add_argument(
        "--sizes",
        default="",
        metavar="N=8,M=6",
        help="open extents and index arguments; default: 20, or less by the ranks",
    )
    parser.add_argument(
        "--places",
        type=float,
        help="how many units in the last place of the largest number floats may differ",
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Check every public function, or the named one."""
    from gpucodegen.api import compile as compile_module

    records: list[dict[str, Any]] = []
    with reported_failures() as failures:
        for module in modules(options, failures):
            program = compile_module(module, target=options.target)
            rows: list[dict[str, Any]] = []
            for name in [options.entry] if options.entry else program.names:
                with failures.reported():
                    found = _checked(program, name, options)
                    rows.append(_record(found))
                    if not options.json:
                        print(found)
            records.append({"target": options.target, "functions": rows})
    if options.json:
        write_records(records, options)
    return failures.status


def _checked(program: Program, name: str, options: argparse.Namespace) -> Checked:
    def check(arguments: Sequence[Any]) -> Checked:
        return program.check(
            *arguments, function=name, places=options.places, each_pass=True
        )

    if options.arg:
        return check([argument(text) for text in options.arg])
    try:
        return check(_random(program, name, options, -LARGEST, LARGEST))
    except (errors.PassChangesResults, errors.ResultsDiffer):
        raise
    except errors.LaunchError:
        return check(_random(program, name, options, 0, 1))


def _random(
    program: Program, name: str, options: argparse.Namespace, low: int, high: int
) -> list[Any]:
    """Arguments of the given sizes: floats from -1 to 1, integers in a range."""
    import numpy as np

    from gpucodegen.report.gpu.example_arguments import HostMemory, made_up
    from gpucodegen.report.sizes import parse_sizes

    random = np.random.default_rng(options.seed)
    parameters = program[name].signature.parameters
    rank = max((len(p.shape or ()) for p in parameters), default=0)
    sizes = parse_sizes(options.sizes or str(EXTENTS.get(rank, FEW)))
    made = made_up(program.module, program[name], sizes, HostMemory())

    def drawn(name: str, value: Any) -> Any:
        dtype, shape = np.asarray(value).dtype, np.shape(value)
        if name in made.sizes:
            return value
        if dtype.kind == "b":
            numbers = random.integers(0, 2, shape)
        elif dtype.kind in "iu":
            numbers = random.integers(
                max(low, 0 if dtype.kind == "u" else low), high + 1, shape
            )
        elif dtype.kind == "f":
            numbers = random.uniform(-1, 1, shape)
        elif dtype.kind == "c":
            numbers = random.uniform(-1, 1, shape) + 1j * random.uniform(-1, 1, shape)
        else:
            return value
        cast = np.asarray(numbers).astype(dtype)
        return cast if hasattr(value, "shape") else cast.item()

    return [drawn(*pair) for pair in zip(made.names, made.values, strict=True)]


def _record(found: Checked) -> dict[str, Any]:
    return {
        "function": found.function,
        "numbers": found.numbers,
        "places": found.places,
        "passes": [*found.passes],
        "skipped": [{"pass": name, "reason": why} for name, why in found.skipped],
    }
