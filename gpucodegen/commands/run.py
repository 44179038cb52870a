"""``gpucodegen run``: calls one function on arrays from files.

Each argument is a ``.npy`` file or a number. Results are printed, and standard error
tells which arrays the call changed. ``--save`` writes all arguments, as they are after
the call, and the results to ``.npy`` files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gpucodegen import errors
from gpucodegen.commands.inputs import (
    add_arch_option,
    add_input_options,
    add_json_option,
    add_schedule_option,
    modules,
    program_of,
    reported_failures,
    write_records,
)
from gpucodegen.compiling.targets.registry import choices
from gpucodegen.debugging.display import at_work

if TYPE_CHECKING:
    from gpucodegen.program import Program


def configure(parser: argparse.ArgumentParser) -> None:
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
    add_arch_option(parser)
    add_schedule_option(parser)
    parser.add_argument(
        "--sanitize",
        action="store_true",
        default=None,
        help="check every access and every NaN, in the interpreter",
    )
    parser.add_argument(
        "--save", metavar="DIR", help="folder for arguments and results"
    )
    add_json_option(parser)


def add_argument_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--arg",
        nargs="*",
        default=[],
        metavar="X.npy|NUMBER",
        help="the function's arguments in order: arrays from files, and numbers",
    )


def run(options: argparse.Namespace) -> int:
    """Call the function and print its results."""
    import numpy as np

    records: list[dict[str, Any]] = []
    printed = redirect_stdout(sys.stderr) if options.json else nullcontext()
    with reported_failures() as failures:
        for module in modules(options, failures):
            with failures.reported():
                program = program_of(module, options, sanitize=options.sanitize)
                texts = [*options.arguments, *options.arg]
                arguments = [argument(text) for text in texts]
                before = [np.copy(value) for value in arguments]
                name = options.entry or only(program.names)
                with at_work(f"compiling and running {name}"), printed:
                    results = _as_tuple(program[name](*arguments))
                parameters = program[name].signature.parameters
                names = [parameter.name for parameter in parameters]
                changes = map(change, before, arguments)
                found = dict(zip(names, changes, strict=True))
                for array, its in found.items():
                    if its is not None:
                        print(f"{array}: {told(its)}", file=sys.stderr)
                records.append(_record(program, name, found, results))
                for result in () if options.json else results:
                    print(result)
                if options.save:
                    _save(Path(options.save), arguments, results)
    if options.json:
        write_records(records, options)
    return failures.status


def _record(
    program: Program, name: str, found: dict[str, Any], results: Sequence[Any]
) -> dict[str, Any]:
    return {
        "function": name,
        "target": program.options.target,
        "arguments": {
            array: its and its | {"by": plain(its["by"])}
            for array, its in found.items()
        },
        "results": [plain(result) for result in results],
    }


def change(before: Any, after: Any) -> dict[str, Any] | None:
    """The difference of an array before and after a call; None for a number.

    ``by``: the largest absolute difference.

    >>> import numpy as np
    >>> change(np.zeros(4), np.array([0, 2.5, -1, 0]))
    {'changed': 2, 'of': 4, 'by': 2.5}
    >>> change(np.zeros(4), np.zeros(4)), change(3, 3)
    ({'changed': 0, 'of': 4, 'by': 0.0}, None)
    """
    import numpy as np

    if not isinstance(after, np.ndarray):
        return None
    array = cast("np.ndarray[Any, Any]", after)
    differs = before != array
    if array.dtype.kind in "fc":
        differs &= ~(np.isnan(before) & np.isnan(array))
    with np.errstate(all="ignore"):
        apart = np.abs(array[differs].astype(complex) - before[differs].astype(complex))
    largest = float(apart.max(initial=0.0))
    count = int(np.count_nonzero(differs))
    return {"changed": count, "of": array.size, "by": largest}


def told(found: dict[str, Any]) -> str:
    """A change in words.

    >>> told({"changed": 2, "of": 4, "by": 2.5}), told({"changed": 0, "of": 4, "by": 0})
    ('2 of 4 numbers changed, by at most 2.5', 'unchanged')
    """
    if not found["changed"]:
        return "unchanged"
    counts = f"{found['changed']} of {found['of']} numbers changed"
    return f"{counts}, by at most {found['by']:g}"


def plain(value: Any) -> Any:
    """Numbers and arrays for JSON; complex ones are pairs.

    Infinities and NaN are strings, as in protocol buffers.

    >>> import numpy as np
    >>> plain(np.array([[1, 2]], np.int8)), plain(np.float32("nan")), plain(1 - 2j)
    ([[1, 2]], 'NaN', [1.0, -2.0])
    """
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
        found = cast("np.ndarray[Any, Any]", value)
        exact = found.dtype.kind in "biuc"
        return plain((found if exact else found.astype(np.float64)).tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in cast("Sequence[Any]", value)]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def only(names: Sequence[str]) -> str:
    """The only name. Raises UnknownFunction for several."""
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
