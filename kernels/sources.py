"""The ``.mlir`` files of this folder, with other aliases put in.

Comes in: a file name and values for its aliases.  Goes out: MLIR text.  Every file is
complete as it stands; its first lines define the aliases that may differ.  Only checked
integers and names from the table of element types are ever written into the text.
"""

from __future__ import annotations

import operator
from importlib.resources import files
from typing import TYPE_CHECKING

from gpucodegen import errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# dtype name -> (element type, its zero)
ELEMENTS = {
    "float16": ("f16", "0.0"),
    "float32": ("f32", "0.0"),
    "float64": ("f64", "0.0"),
    "int32": ("i32", "0"),
    "int64": ("i64", "0"),
}


def element_aliases(dtype: str, *, function: str, argument: str) -> dict[str, str]:
    """Aliases of an element type and its zero.

    >>> element_aliases("int32", function="f", argument="a")
    {'!element': 'i32', '#zero': '0 : i32'}
    """
    if dtype not in ELEMENTS:
        raise errors.WrongDtype(
            function=function,
            argument=argument,
            expected=f"one of {', '.join(ELEMENTS)}",
            actual=dtype,
        )
    element, zero = ELEMENTS[dtype]
    return {"!element": element, "#zero": f"{zero} : {element}"}


def vector(values: Iterable[int]) -> str:
    """A dense vector of integers.

    >>> vector((2, 1))
    'dense<[2, 1]> : tensor<2xi64>'
    """
    numbers = [operator.index(value) for value in values]
    return f"dense<{numbers}> : tensor<{len(numbers)}xi64>"


def shift(width: int) -> str:
    """The map that moves an index by a width.

    >>> shift(2)
    'affine_map<(d0) -> (d0 + 2)>'
    """
    return f"affine_map<(d0) -> (d0 + {operator.index(width)})>"


def source(name: str, aliases: Mapping[str, str]) -> str:
    """The text of a file with some of its aliases defined anew.

    >>> print(source("matmul.mlir", {"!element": "f64"})[:32])
    !element = f64
    #zero = 0.0 : f32
    """
    text = files(__name__.rpartition(".")[0]).joinpath(name).read_text("utf-8")
    lines = text.splitlines()
    for alias, value in aliases.items():
        lines[_definition(lines, alias)] = f"{alias} = {value}"
    return "\n".join(lines) + "\n"


def _definition(lines: list[str], alias: str) -> int:
    return next(i for i, line in enumerate(lines) if line.startswith(f"{alias} = "))
