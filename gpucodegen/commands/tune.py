"""``gpucodegen tune``: time legal schedules and store the fastest for `compile`."""

from __future__ import annotations

import argparse

from gpucodegen.commands.inputs import (
    Failures,
    add_input_options,
    modules,
    printed_warnings,
)
from gpucodegen.commands.run import add_argument_option, argument


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_input_options(parser)
    parser.add_argument("--entry", required=True, help="function to tune")
    add_argument_option(parser)
    parser.add_argument("--trials", type=int, default=12, help="schedules to time")


def run(options: argparse.Namespace) -> int:
    """Tune and print the table of trials."""
    from gpucodegen.tuning.tune import tune

    failures = Failures()
    with printed_warnings():
        for module in modules(options, failures):
            with failures.reported():
                arguments = [argument(text) for text in options.arg]
                print(tune(module, options.entry, *arguments, trials=options.trials))
    return failures.status
