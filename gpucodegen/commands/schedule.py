"""``gpucodegen schedule``: prints the steps that make each function's kernels.

What it prints can be edited, and is what ``--schedule`` of other commands takes.
"""

from __future__ import annotations

import argparse

from gpucodegen.commands.inputs import (
    add_input_options,
    add_program_options,
    modules,
    program_of,
    reported_failures,
)
from gpucodegen.compiling.targets import names
from gpucodegen.debugging.display import at_work


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    add_program_options(parser, names())


def run(options: argparse.Namespace) -> int:
    """Print the schedule of each function."""
    with reported_failures() as failures:
        for module in modules(options, failures):
            with failures.reported():
                program = program_of(module, options)
                for name in [options.entry] if options.entry else program.names:
                    with at_work(f"compiling {name}"):
                        found = program.schedule(name)
                    print(f"{name} = {found}")
    return failures.status
