"""``gpucodegen run``: call one function on arrays from files.

Each argument is a ``.npy`` file or a number.  Results are printed, and standard error
tells which arrays the call changed.  ``--save`` writes all arguments, as they are after
the call, and the results to ``.npy`` files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from gpucodegen import errors
from gpucodegen.commands.inputs import (
    Failures,
    add_input_options,
    modules,
    printed_warnings,
)
from gpucodegen.compiling.targets.registry import choices
from gpucodegen.debugging.terminal import at_work


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_input_options(parser)
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="X.npy|NUMBER",
        help="the function's arguments in order, or with --arg",
    )
    parser.add_argument("--entry", default="", help="function; default: the only one")
    add_argument_option(parser)
    parser.add_argument("--target", choices=choices(), default="auto")
    parser.add_argument(
        "--sanitize",
        action="store_true",
        default=None,
        help="check every access and every NaN, in the interpreter",
    )
    parser.add_argument(
        "--save", metavar="DIR", help="folder for arguments and results"
    )


def add_argument_option(parser: argparse.ArgumentParser) -> None:
    """The option that gives a function its arguments."""
    parser.add_argument(
        "--arg",
        nargs="*",
        default=[],
        metavar="X.npy|NUMBER",
        help="the function's arguments in order: arrays from files, and numbers",
    )


def run(options: argparse.Namespace) -> int:
    """Call the function and show what it returns."""
    import numpy as np

    from gpucodegen.api import compile as compile_module

    failures = Failures()
    with printed_warnings():
        for module in modules(options, failures):
            with failures.reported():
                program = compile_module(
                    module, target=options.target, sanitize=options.sanitize
                )
                texts = [*options.arguments, *options.arg]
                arguments = [argument(text) for text in texts]
                before = [np.copy(value) for value in arguments]
                name = options.entry or only(program.names)
                with at_work(f"compiling and running {name}"):
                    results = _as_tuple(program[name](*arguments))
                for parameter, *values in zip(
                    program[name].signature.parameters, before, arguments, strict=True
                ):
                    if told := changed(*values):
                        print(f"{parameter.name}: {told}", file=sys.stderr)
                for result in results:
                    print(result)
                if options.save:
                    _save(Path(options.save), arguments, results)
    return failures.status


def changed(before: Any, after: Any) -> str:
    """How an array differs from what it was; empty for a number.

    >>> import numpy as np
    >>> changed(np.zeros(4), np.array([0, 2.5, -1, 0]))
    '2 of 4 numbers changed, by at most 2.5'
    >>> changed(np.zeros(4), np.zeros(4)), changed(3, 3)
    ('unchanged', '')
    """
    import numpy as np

    if not isinstance(after, np.ndarray):
        return ""
    array = cast("np.ndarray[Any, Any]", after)
    differs = before != array
    if array.dtype.kind in "fc":
        differs &= ~(np.isnan(before) & np.isnan(array))
    count = int(np.count_nonzero(differs))
    if not count:
        return "unchanged"
    with np.errstate(all="ignore"):
        apart = np.abs(array[differs].astype(complex) - before[differs].astype(complex))
    return f"{count} of {array.size} numbers changed, by at most {apart.max():g}"


def only(names: Sequence[str]) -> str:
    """The one name there is.  Raises UnknownFunction."""
    if len(names) != 1:
        known = errors.one_of(list(names)) or "none"
        raise errors.UnknownFunction(
            name="", known=known, advice=f"Choose one with --entry: {known}"
        )
    return names[0]


def argument(text: str) -> Any:
    """An integer, a float, or the array in a file."""
    import numpy as np

    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    try:
        return np.load(text, allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise errors.UnreadableFile(path=text, reason=reason) from problem


def _as_tuple(result: Any) -> tuple[Any, ...]:
    if result is None:
        return ()
    return cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,)


def _save(folder: Path, arguments: Sequence[Any], results: Sequence[Any]) -> None:
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    named = {f"arg{i}": a for i, a in enumerate(arguments)}
    named |= {f"result{i}": r for i, r in enumerate(results)}
    for name, value in named.items():
        np.save(folder / f"{name}.npy", np.asarray(value))
