"""``gpucodegen schedule``: prints the steps that make each function's kernels.

What it prints can be edited, and is what ``--schedule`` of other commands takes.
"""

from __future__ import annotations

import argparse

from gpucodegen.commands.inputs import (
    add_arch_option,
    add_input_options,
    add_schedule_option,
    given_schedules,
    modules,
    reported_failures,
)
from gpucodegen.compiling.targets import names
from gpucodegen.debugging.display import at_work


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    parser.add_argument("--target", choices=names(), default="cpu")
    parser.add_argument("--entry", default="", help="only this function")
    add_arch_option(parser)
    add_schedule_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the schedule of each function."""
    from gpucodegen.api import compile as compile_module

    with reported_failures() as failures:
        for module in modules(options, failures):
            with failures.reported():
                program = compile_module(
                    module,
                    target=options.target,
                    arch=options.arch,
                    schedule=given_schedules(options),
                )
                for name in [options.entry] if options.entry else program.names:
                    with at_work(f"compiling {name}"):
                        found = program.schedule(name)
                    print(f"{name} = {found}")
    return failures.status
