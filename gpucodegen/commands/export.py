"""``gpucodegen export``: writes a package of kernels that runs without gpucodegen.

Tests of the package repeat a call of each function: with the arguments of ``--arg``, or
with generated ones. ``--ptx`` and ``--cubin`` write files for CUDA's driver instead,
and ``--object`` object files with a header for C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpucodegen import errors
from gpucodegen.commands.inputs import (
    add_arch_option,
    add_input_options,
    add_json_option,
    modules,
    reported_failures,
    write_records,
)
from gpucodegen.commands.run import add_argument_option, argument
from gpucodegen.program import Program

Record = dict[str, Any]
PACKAGE = "package"
TARGETS = {"cpu": "cpu", "cuda": "sim"}
"""The kind of package, and the target that compiles it without a GPU."""
FILES = {"ptx": ("sim", "ptx"), "cubin": ("sim", "cubin"), "object": ("cpu", "o")}
"""Flag to the target of its kernels and the ending of its files."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="DIR",
        help="new folder; its name is the package's",
    )
    parser.add_argument("--target", choices=tuple(TARGETS), default="cpu")
    parser.add_argument("--entry", default="", help="only this function")
    add_arch_option(parser)
    add_argument_option(parser)
    parser.add_argument(
        "--sizes",
        default="16",
        metavar="N=8,M=6",
        help="open extents of made-up arguments; default: %(default)s",
    )
    add_json_option(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--ptx", action="store_true", help="PTX and its launches as JSON, no package"
    )
    form.add_argument(
        "--cubin", action="store_true", help="the same with machine code, by ptxas"
    )
    form.add_argument(
        "--object", action="store_true", help="object files of this processor, for C"
    )


def run(options: argparse.Namespace) -> int:
    """Write the package; print what was written on standard output."""
    from gpucodegen.api import compile as compile_module

    form = next((form for form in FILES if getattr(options, form)), "")
    target = FILES[form][0] if form else TARGETS[options.target]
    write: Callable[..., Record] = _files if form else _package
    records: list[Record] = []
    with reported_failures() as failures:
        for module in modules(options, failures):
            with failures.reported():
                program = compile_module(module, target=target, arch=options.arch)
                names = [options.entry] if options.entry else list(program.names)
                found = write(program, names, options, FILES[form][1] if form else form)
                records.append(found)
                if not options.json:
                    print(_told(found))
    if options.json:
        write_records(records, options)
    return failures.status


def _told(found: Record) -> str:
    """A summary of the written files."""
    place, names = found["folder"], found["functions"]
    if found["form"] == PACKAGE:
        return f"{place}: {', '.join(names)} for {found['target']}"
    form = found["form"]
    return "\n".join(f"{Path(place, name)}.json: {name} as {form}" for name in names)


def _package(
    program: Program, names: list[str], options: argparse.Namespace, _: str
) -> Record:
    untested: dict[str, str] = {}
    examples: dict[str, tuple[Any, ...]] = {}
    for name in names:
        try:
            examples[name] = given_or_made_up(program, name, options)
        except errors.Error as error:
            print(f"{name}: exported without a test: {error}", file=sys.stderr)
            untested[name] = error.message
            continue
        if options.arg:
            function = program[name]
            key = function.key_for(examples[name])
            function.executable(*key, function.options.arch)
    place = program.export(options.output, *names, examples=examples)
    about = _record(place, PACKAGE, options.target, names)
    return about | {"untested": untested}


def _files(
    program: Program, names: list[str], options: argparse.Namespace, form: str
) -> Record:
    from gpucodegen.export import files

    for name in names:
        arguments = given_or_made_up(program, name, options)
        files.write(Path(options.output), name, program[name], arguments, form)
    target = "cpu" if form == files.OBJECT else "cuda"
    return _record(Path(options.output), form, target, names)


def _record(place: Path, form: str, target: str, names: list[str]) -> Record:
    """A record of the written files: ``form`` is the package, or a file ending."""
    written = sorted(path for path in place.rglob("*") if path.is_file())
    return {
        "folder": str(place),
        "form": form,
        "target": target,
        "functions": names,
        "files": [path.relative_to(place).as_posix() for path in written],
    }


def given_or_made_up(
    program: Program, name: str, options: argparse.Namespace
) -> tuple[Any, ...]:
    """Arguments of ``--arg``, or generated ones with different floats."""
    import numpy as np

    from gpucodegen.report.gpu.example_arguments import HostMemory, made_up
    from gpucodegen.report.sizes import parse_sizes

    if options.arg:
        return tuple(argument(text) for text in options.arg)
    sizes = parse_sizes(options.sizes)
    values = made_up(program.module, program[name], sizes, HostMemory()).values
    random = np.random.default_rng(0)
    for value in values:
        if getattr(value, "shape", ()) and value.dtype.kind == "f":
            value[...] = random.random(value.shape) + 0.5
    return values
