"""``gpucodegen tune``: time legal schedules and store the fastest for `compile`.

``gpucodegen tune show``, ``export``, ``import``, ``plot`` and ``clear`` work on what is
stored (`gpucodegen.commands.tuned`).
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from gpucodegen.commands import tuned
from gpucodegen.commands.inputs import (
    Failures,
    add_input_options,
    modules,
    printed_warnings,
)
from gpucodegen.commands.run import add_argument_option, argument, only
from gpucodegen.compiling.targets.registry import choices
from gpucodegen.compiling.winners import SHAPES
from gpucodegen.tuning.progress import progress

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.tuning.result import TuneResult

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
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
    parser.add_argument("--json", action="store_true", help="results as JSON")


def run(options: argparse.Namespace) -> int:
    """Tune and print the table of trials, or look at what is stored."""
    if options.file in tuned.ACTIONS:
        return tuned.run(options)
    failures = Failures()
    with printed_warnings():
        for module in modules(options, failures):
            with failures.reported():
                try:
                    result = _tuned(module, options)
                except KeyboardInterrupt:
                    print("interrupted: finished trials are kept", file=sys.stderr)
                    return INTERRUPTED
                text = json.dumps(result.json()) if options.json else str(result)
                print(text)
    return failures.status


def _tuned(module: Module, options: argparse.Namespace) -> TuneResult:
    from gpucodegen.tuning.effort import effort_of
    from gpucodegen.tuning.tune import tune

    limits = effort_of(options.effort, options.trials, options.budget)
    name = options.entry or only(list(module.functions))
    with progress(limits.trials) as observe:
        return tune(
            module,
            name,
            *_arguments(module, name, options),
            effort=options.effort,
            trials=options.trials,
            budget=options.budget,
            timeout=options.timeout,
            target=options.target,
            arch=options.arch,
            shapes=options.shapes,
            observe=observe,
        )


def _arguments(
    module: Module, name: str, options: argparse.Namespace
) -> tuple[Any, ...]:
    """Those of ``--arg``, or arrays of ones of the sizes that are asked for."""
    from gpucodegen.api import compile as compile_module
    from gpucodegen.report.gpu.arguments.made_up import HostMemory, made_up
    from gpucodegen.report.sizes import parse_sizes

    if options.arg:
        return tuple(argument(text) for text in options.arg)
    function = compile_module(module, target="cpu")[name]
    return made_up(module, function, parse_sizes(options.sizes), HostMemory()).values
