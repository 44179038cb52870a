"""``gpucodegen emit``: prints the generated Python source of every function.

Comments after it tell how each transfer is carried out, and why.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gpucodegen.commands.inputs import (
    add_input_options,
    add_json_option,
    add_program_options,
    modules,
    program_of,
    reported_failures,
    write_records,
)
from gpucodegen.compiling.targets import names
from gpucodegen.debugging.display import at_work

if TYPE_CHECKING:
    from gpucodegen.program import Program


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    add_program_options(parser, names())
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print kernels and host program of each function."""
    records: list[dict[str, Any]] = []
    with reported_failures() as failures:
        for module in modules(options, failures):
            with failures.reported():
                program = program_of(module, options)
                names = [options.entry] if options.entry else program.names
                found: list[dict[str, Any]] = []
                for name in names:
                    with at_work(f"compiling {name}"):
                        found.append(_record(program, name))
                    if not options.json:
                        print(_text(program, name))
                records.append({"target": options.target, "functions": found})
    if options.json:
        write_records(records, options)
    return failures.status


def _record(program: Program, name: str) -> dict[str, Any]:
    """The source of a function, and the plans of its transfers."""
    from gpucodegen.report.gpu.report import transfer_row

    source = program.source(name)
    transfers = [asdict(transfer_row(each)) for each in program.transfers(name)]
    arch = program[name].executable().options.arch
    return {"name": name, "arch": arch, "source": source, "transfers": transfers}


def _text(program: Program, name: str) -> str:
    comments = [f"# {planned}" for planned in program.transfers(name)]
    arch = program[name].executable().options.arch
    if arch:
        comments.append(f"# the kernels are for {arch}")
    return "\n".join([program.source(name), *comments])
