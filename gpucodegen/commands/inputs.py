"""Input files, options and output that the commands share.

Input is a path, or ``-``, whole or split at ``// -----``; output may be JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gpucodegen import errors
from gpucodegen.debugging import display
from gpucodegen.debugging.levels import debug
from gpucodegen.dialects.builtin import Module
from gpucodegen.parser import parse_module, split_input
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import MULTIPROCESSORS

if TYPE_CHECKING:
    from gpucodegen.program import Program
    from gpucodegen.schedule.steps import Schedule

STDIN = "-"
SPLIT_MARKER = "\n// -----\n\n"
"""Between printed chunks, as the input had it."""


class HasOptions(Protocol):
    """A parser, or a group of its options."""

    def add_argument(self, *names: str, **given: Any) -> argparse.Action: ...


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """``FILE``, how it is read, and debug output."""
    parser.add_argument(
        "file", metavar="FILE", help="MLIR file, or - for standard input"
    )
    parser.add_argument(
        "--split-input-file",
        action="store_true",
        help="treat each chunk between // ----- lines as a file of its own",
    )
    parser.add_argument(
        "--allow-unregistered-dialect",
        action="store_true",
        help="keep operations this package does not know",
    )
    told = parser.add_argument_group("what is told on standard error")
    told.add_argument(
        "--debug", type=int, metavar="LEVEL", help="more with each level from 1 to 5"
    )
    told.add_argument(
        "--print-ir-after", metavar="PASS|all", help="the module after this pass"
    )
    told.add_argument(
        "--print-ir-before-failure",
        action="store_true",
        default=None,
        help="the module that a pass fails on",
    )
    told.add_argument(
        "--trace", metavar="FILE", help="write times for Perfetto to this file"
    )


def add_passes_option(parser: HasOptions, text: str) -> None:
    parser.add_argument("-p", "--passes", default="", metavar="PIPELINE", help=text)


def add_arch_option(parser: HasOptions) -> None:
    parser.add_argument(
        "--arch",
        default="",
        metavar="ARCH",
        help=f"architecture of a GPU's kernels: {', '.join(MULTIPROCESSORS)}; default:"
        " that of the device, or what all devices have",
    )


def add_schedule_option(parser: HasOptions) -> None:
    """The option for a file of schedules."""
    parser.add_argument(
        "--schedule",
        default="",
        metavar="FILE",
        help="steps of functions, as `gpucodegen schedule` prints them",
    )


def given_schedules(options: argparse.Namespace) -> dict[str, Schedule]:
    """The schedules of the file that the command line names."""
    from gpucodegen.schedule.text import parse_all

    return parse_all(read_text(options.schedule)) if options.schedule else {}


def add_program_options(parser: HasOptions, targets: Sequence[str]) -> None:
    """The target and its architecture, the function, and its schedule."""
    parser.add_argument("--target", choices=targets, default="cpu")
    parser.add_argument("--entry", default="", help="only this function")
    add_arch_option(parser)
    add_schedule_option(parser)


def program_of(module: Module, options: argparse.Namespace, **more: Any) -> Program:
    """The module compiled as these options say."""
    from gpucodegen.api import compile as compile_module

    given: dict[str, Any] = {"target": options.target, "arch": options.arch, **more}
    return compile_module(module, schedule=given_schedules(options), **given)


def add_json_option(parser: HasOptions) -> None:
    parser.add_argument("--json", action="store_true", help="a record for machines")


def debugging(options: argparse.Namespace) -> AbstractContextManager[object]:
    """The debug context for these options; a null context for commands without them."""
    if not hasattr(options, "trace"):
        return nullcontext()
    return debug(
        options.debug,
        print_ir_after=options.print_ir_after,
        print_ir_before_failure=options.print_ir_before_failure,
        trace=options.trace,
    )


def read_text(path: str) -> str:
    """Text of a file; undecodable bytes become an error in the text, not a crash."""
    if path == STDIN:
        return sys.stdin.read()
    return Path(path).read_text(encoding="utf-8", errors="surrogateescape")


@dataclass(slots=True)
class Failures:
    """Counts failed chunks; their errors are printed at once."""

    count: int = 0
    text: str = ""
    """Text of the current chunk, to quote in its errors."""

    @contextmanager
    def reported(self) -> Generator[None]:
        """Print a catalogued error and continue."""
        try:
            yield
        except errors.Error as error:
            self.note([error])

    def note(self, found: Iterable[errors.Error]) -> None:
        """Print catalogued errors with their source lines, and count them."""
        for error in found:
            self.count += 1
            if not error.source_lines:
                error.with_source(self.text)
            display.tell(error)

    @property
    def status(self) -> int:
        """Exit status: 1 if anything failed."""
        return 1 if self.count else 0


@contextmanager
def reported_failures() -> Generator[Failures]:
    """Failures of a command, whose warnings are printed without source, a line each."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _show_warning
        yield Failures()


def _show_warning(message: Warning | str, *_: object) -> None:
    display.tell(message)


def modules(options: argparse.Namespace, failures: Failures) -> Iterator[Module]:
    """The module of each chunk that parses and verifies."""
    filename = "<stdin>" if options.file == STDIN else options.file
    text = read_text(options.file)
    chunks = split_input(text) if options.split_input_file else [(0, text)]
    for lines_before, chunk in chunks:
        failures.text = "\n" * lines_before + chunk
        found: list[Module] = []
        with failures.reported():
            found.append(
                parse_module(
                    failures.text,
                    filename,
                    allow_unregistered=options.allow_unregistered_dialect,
                )
            )
        yield from found


def write(text: str, output: str | None) -> None:
    """Write results to a file, or to standard output if none is named."""
    if output is None:
        sys.stdout.write(text)
    elif text:
        Path(output).write_text(text, encoding="utf-8")


def write_records(
    records: Sequence[Any], options: argparse.Namespace, output: str | None = None
) -> None:
    """Write records as JSON: one for an input, or a list for a split input."""
    if options.split_input_file:
        write(f"{json.dumps(records, indent=2)}\n", output)
    for record in () if options.split_input_file else records:
        write(f"{json.dumps(record, indent=2)}\n", output)
