"""``gpucodegen repro``: writes a script that reproduces a problem.

It holds the text, the arguments, and the versions in use. It calls the function on a
target and compares with the interpreter.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from typing import Any

from gpucodegen import errors
from gpucodegen.commands.doctor import PACKAGES, found_version
from gpucodegen.commands.export import given_or_made_up
from gpucodegen.commands.inputs import add_input_options, read_text, reported_failures
from gpucodegen.commands.inputs import write as write_text
from gpucodegen.commands.run import add_argument_option, only
from gpucodegen.compiling.targets.registry import choices

MOST_WRITTEN = 64
"""Largest array that is written in full; of others extents and type are written."""
SCRIPT = '''\
"""{about}

{versions}
"""

import numpy as np

import gpucodegen as gcg

TEXT = r"""
{text}
"""
random = np.random.default_rng(0)
arguments = [
{arguments}
]
program = gcg.compile(TEXT, {options})
print(gcg.check(program, *arguments, function={name!r}, target={target!r}))
'''


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    parser.add_argument("--entry", default="", help="function; default: the only one")
    add_argument_option(parser)
    parser.add_argument(
        "--sizes", default="16", metavar="N=8,M=6", help="of made-up arguments"
    )
    parser.add_argument("--target", choices=choices(), default="cpu")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file")


def run(options: argparse.Namespace) -> int:
    """Write the script, even for a text that does not compile."""
    text = read_text(options.file)
    allow: bool = options.allow_unregistered_dialect
    with reported_failures():
        name, arguments = _call(text, options)
    said = SCRIPT.format(
        about=f"{name or 'A text'} on the target {options.target!r}.",
        versions="\n".join(_versions()),
        text=text.strip("\n").replace('"""', '""" + \'"""\' + r"""'),
        arguments="\n".join(f"    {one}," for one in arguments),
        options=f"target={options.target!r}, allow_unregistered={allow}",
        name=name,
        target=options.target,
    )
    write_text(said, options.output)
    return 0


def _call(text: str, options: argparse.Namespace) -> tuple[str, list[str]]:
    """The function and its arguments as Python, or why there are none."""
    from gpucodegen.api import compile as compile_module

    allow: bool = options.allow_unregistered_dialect
    try:
        program = compile_module(text, target="cpu", allow_unregistered=allow)
        name = options.entry or only(program.names)
        values = given_or_made_up(program, name, options)
    except errors.UnknownFunction:
        raise
    except errors.Error as error:
        return options.entry, [f"# none: {error.message}"]
    return name, spelled(values)


def spelled(values: Sequence[Any]) -> list[str]:
    """Arguments as Python: small arrays in full, large ones as random arrays.

    >>> import numpy as np
    >>> spelled([3, np.ones(2, np.float32)])
    ['3', "np.array([1.0, 1.0], 'float32')"]
    >>> spelled([np.ones((9, 9))])
    ["random.random((9, 9)).astype('float64')"]
    """
    return [_spelled(value) for value in values]


def _spelled(value: Any) -> str:
    shape, kind = getattr(value, "shape", None), str(getattr(value, "dtype", ""))
    if shape is None:
        return repr(value)
    if value.size <= MOST_WRITTEN and value.dtype.kind in "biuf":
        return f"np.array({value.tolist()}, {kind!r})"
    if value.dtype.kind in "iu" and value.size and value.min() == value.max():
        return f"np.full({shape}, {int(value.flat[0])}, {kind!r})"
    if value.dtype.kind in "iu":
        low, high = (int(value.min()), int(value.max())) if value.size else (0, 0)
        return f"random.integers({low}, {high}, {shape}, {kind!r}, endpoint=True)"
    return f"random.random({shape}).astype({kind!r})"


def _versions() -> list[str]:
    """The versions in use."""
    found = [(name, found_version(name)) for name, _ in PACKAGES]
    here = f"Python {platform.python_version()} on {platform.platform()}"
    return [here, *(f"{name} {number}" for name, number in found if number)]
