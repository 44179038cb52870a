"""``gpucodegen tune``: times legal schedules and stores the fastest for `compile`.

``gpucodegen tune show``, ``export``, ``import``, ``plot`` and ``clear`` work on the
store (`gpucodegen.commands.tuned`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from gpucodegen.commands import tuned
from gpucodegen.commands.inputs import (
    add_input_options,
    add_json_option,
    add_passes_option,
    modules,
    reported_failures,
    write_records,
)
from gpucodegen.commands.run import add_argument_option, argument, only
from gpucodegen.compiling.targets.registry import choices
from gpucodegen.compiling.tuned_schedules import SHAPES
from gpucodegen.report.plots import KINDS
from gpucodegen.tuning.progress import progress

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.tiling.tuning.search import Trial
    from gpucodegen.tuning.result import TuneResult

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    parser.epilog = f"instead of FILE: {', '.join(tuned.ACTIONS)}, for what is stored"
    parser.add_argument("place", nargs="?", help="file of export, import and plot")
    parser.add_argument("--entry", default="", help="function to tune")
    add_argument_option(parser)
    parser.add_argument(
        "--sizes", default="", metavar="N=8,...", help="without --arg: made-up arrays"
    )
    parser.add_argument("--target", choices=choices(), default="cpu")
    parser.add_argument("--arch", default="", help="of a GPU: predict without one")
    parser.add_argument(
        "--shapes", choices=SHAPES, default=SHAPES[0], help="for which the result holds"
    )
    parser.add_argument("--effort", choices=("quick", "full"), default="quick")
    parser.add_argument("--trials", type=int, help="schedules to time")
    parser.add_argument("--budget", help="time to spend: 90s, 5m")
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="seconds of a trial"
    )
    add_passes_option(parser, "tune the holes of these passes: 'tile{sizes=[$a,$b]}'")
    parser.add_argument(
        "--values",
        type=_values,
        action="append",
        metavar="a=8,16",
        help="integers for a hole of --passes",
    )
    add_json_option(parser)
    parser.add_argument(
        "--kind", choices=KINDS, default=KINDS[0], help="what plot draws"
    )


def run(options: argparse.Namespace) -> int:
    """Tune and print the table of trials, or run a store action."""
    if options.file in tuned.ACTIONS:
        return tuned.run(options)
    records: list[dict[str, Any]] = []
    with reported_failures() as failures:
        for module in modules(options, failures):
            with failures.reported():
                made: list[Trial] = []
                try:
                    result = _tuned(module, options, made.append)
                except KeyboardInterrupt:
                    stream = sys.stderr if options.json else sys.stdout
                    return _interrupted(_entry(module, options), made, stream)
                if options.json:
                    records.append(result.json())
                else:
                    print(result)
    if options.json:
        write_records(records, options)
    return failures.status


def _interrupted(name: str, made: Sequence[Trial], stream: TextIO) -> int:
    """The table of trials made before Ctrl-C."""
    from gpucodegen.compiling.tuned_schedules import tuning_path
    from gpucodegen.tuning.result import table

    default = dict.fromkeys(made[0].point, 0) if made else {}
    print(table(name, made, default), file=stream)
    print(f"interrupted: these trials are kept in {tuning_path()}", file=sys.stderr)
    return INTERRUPTED


def _tuned(
    module: Module, options: argparse.Namespace, note: Callable[[Trial], object]
) -> TuneResult:
    from gpucodegen.tuning.tune import effort_of, tune

    limits = effort_of(options.effort, options.trials, options.budget)
    name = _entry(module, options)
    with progress(limits.trials) as tell:

        def observe(trial: Trial) -> None:
            note(trial)
            tell(trial)

        return tune(
            module,
            name,
            *_arguments(module, name, options),
            effort=options.effort,
            trials=options.trials,
            budget=options.budget,
            timeout=options.timeout,
            pipeline=options.passes,
            values=dict(options.values) if options.values else None,
            target=options.target,
            arch=options.arch,
            shapes=options.shapes,
            observe=observe,
        )


def _entry(module: Module, options: argparse.Namespace) -> str:
    return options.entry or only(list(module.functions))


def _values(text: str) -> tuple[str, list[int]]:
    """A parameter and its candidate values.

    >>> _values("a=8,16")
    ('a', [8, 16])
    """
    name, _, numbers = text.partition("=")
    try:
        return name.removeprefix("$"), [int(number) for number in numbers.split(",")]
    except ValueError:
        problem = f"{text!r} is no hole with integers. Write it as a=8,16,32"
        raise argparse.ArgumentTypeError(problem) from None


def _arguments(
    module: Module, name: str, options: argparse.Namespace
) -> tuple[Any, ...]:
    """Arguments of ``--arg``, or arrays of ones of the given sizes."""
    from gpucodegen.api import compile as compile_module
    from gpucodegen.report.gpu.example_arguments import HostMemory, made_up
    from gpucodegen.report.sizes import parse_sizes

    if options.arg:
        return tuple(argument(text) for text in options.arg)
    function = compile_module(module, target="cpu")[name]
    return made_up(module, function, parse_sizes(options.sizes), HostMemory()).values
