"""``gpucodegen tune``: time legal tile sizes and store the best for `compile`."""

from __future__ import annotations

import argparse

from gpucodegen.commands.inputs import (
    Failures,
    add_input_options,
    modules,
    printed_warnings,
)
from gpucodegen.commands.run import argument


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_input_options(parser)
    parser.add_argument("--entry", required=True)
    parser.add_argument("--arg", nargs="*", default=[], metavar="X.npy|NUMBER")
    parser.add_argument("--trials", type=int, default=12, help="candidates to time")


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
