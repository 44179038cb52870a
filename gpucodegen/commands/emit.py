"""``gpucodegen emit``: the generated Python source of every function.

Comments after it say how each transfer is carried out, and why.
"""

from __future__ import annotations

import argparse

from gpucodegen.commands.inputs import (
    Failures,
    add_input_options,
    modules,
    printed_warnings,
)
from gpucodegen.compiling.targets import names
from gpucodegen.debugging.terminal import at_work


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_input_options(parser)
    parser.add_argument("--target", choices=names(), default="cpu")
    parser.add_argument("--entry", default="", help="only this function")


def run(options: argparse.Namespace) -> int:
    """Print kernels and host program of each function."""
    from gpucodegen.api import compile as compile_module

    failures = Failures()
    with printed_warnings():
        for module in modules(options, failures):
            with failures.reported():
                program = compile_module(module, target=options.target)
                names = [options.entry] if options.entry else program.names
                for name in names:
                    with at_work(f"compiling {name}"):
                        source = program.source(name)
                    print(source)
                    for planned in program.transfers(name):
                        print(f"# {planned}")
    return failures.status
