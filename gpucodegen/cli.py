"""The command line: one subcommand per module of `gpucodegen.commands`.

Results go to standard output, diagnostics to standard error; the exit status is 0, 1 if
any input failed, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NoReturn

from gpucodegen import errors
from gpucodegen.commands.inputs import debugging
from gpucodegen.debugging import display
from gpucodegen.debugging.version import __version__

COMMANDS: dict[str, str] = {
    "opt": "parse, run passes, print MLIR",
    "deps": "exact dependences of every function",
    "explain": "loops, kinds, tiles, mapping, pictures of the iteration space",
    "report": "what limits the kernels on a GPU, found without one",
    "check": "the interpreter after every pass, on random arguments",
    "schedule": "the steps that make the kernels, to edit and to run again",
    "emit": "the generated Python source",
    "export": "a package of the kernels that runs without gpucodegen",
    "run": "run a function on arrays",
    "tune": "find and store the fastest legal schedule",
    "bench": "the benchmark tables: programs against their peers (in a clone)",
    "cache": "what is kept on disk, and how to remove it",
    "passes": "what opt -p knows, with the options of each pass",
    "repro": "a script that shows a problem, to send with a report",
    "completion": "a script that completes commands in a shell",
    "doctor": "what was found on this machine, and how to install what is missing",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status.

    >>> main(["opt", "/no/such/file.mlir"])
    1
    """
    parser = _parser()
    _with_commands(parser)
    options = _parsed(parser, arguments)
    try:
        with debugging(options):
            return int(options.handler(options))
    except errors.Error as error:
        display.tell(error)
    except BrokenPipeError:
        return 0
    except OSError as error:
        name = getattr(error, "filename", None) or "input"
        print(f"{name}: error: {error.strerror or error}.", file=sys.stderr)
    return 1


def _parsed(
    parser: argparse.ArgumentParser, words: Sequence[str] | None
) -> argparse.Namespace:
    """The parsed command line; arguments of a function may also follow options."""
    options, others = parser.parse_known_args(words)
    if hasattr(options, "arguments") and not any(w.startswith("--") for w in others):
        options.arguments += others
    elif others:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    return options


def parsers() -> Mapping[str, argparse.ArgumentParser]:
    """The parser of each command.

    >>> parsers()["emit"].prog
    'gpucodegen emit'
    """
    return _with_commands(_parser())


class _Parser(argparse.ArgumentParser):
    """A parser whose errors propose the nearest command or choice."""

    def error(self, message: str) -> NoReturn:
        found = re.search(r"invalid choice: '(.+)' \(choose from (.+)\)", message)
        if found:
            from gpucodegen.compiling.targets.registry import SYNONYMS

            known = re.findall(r"[\w.-]+", found[2])
            near = errors.did_you_mean(found[1], known, synonyms=SYNONYMS)
            message = f"{message}. {near}" if near else message
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gpucodegen", description="MLIR text in, proven tiled kernels out."
    )
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _with_commands(
    parser: argparse.ArgumentParser,
) -> Mapping[str, argparse.ArgumentParser]:
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        module = import_module(f"gpucodegen.commands.{name}")
        module.configure(command)
        command.set_defaults(handler=module.run, parsers=commands.choices)
    return commands.choices


if __name__ == "__main__":
    sys.exit(main())
