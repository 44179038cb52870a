"""Words and lists inside attributes of StableHLO, which are kept as their text."""

from __future__ import annotations

import re

from gpucodegen.ir.attributes import Attribute, OpaqueAttr

_WORD = re.compile(r"(\w+)\s*>$")


def word(attribute: Attribute | None) -> str:
    """The word of an enumeration.

    >>> word(enumeration("comparison_direction", "LT"))
    'LT'
    """
    match = _WORD.search(str(attribute))
    return match[1] if match else ""


def enumeration(kind: str, name: str) -> OpaqueAttr:
    """``#stablehlo<kind NAME>``."""
    return OpaqueAttr(f"#stablehlo<{kind} {name}>")


def listed(attribute: Attribute | None, name: str) -> tuple[int, ...]:
    """A list ``name = [1, 2]`` inside an attribute; empty where it is left out.

    >>> listed(OpaqueAttr("#stablehlo.dot<lhs_contracting_dimensions = [1, 2]>"),
    ...     "lhs_contracting_dimensions")
    (1, 2)
    """
    match = re.search(rf"\b{name}\s*=\s*\[([^\]]*)\]", str(attribute))
    return tuple(int(n) for n in match[1].split(",") if n.strip()) if match else ()


def numbered(attribute: Attribute | None, name: str, otherwise: int = 0) -> int:
    """A number ``name = 1`` inside an attribute.

    >>> numbered(OpaqueAttr("#stablehlo.gather<index_vector_dim = 1>"),
    ...     "index_vector_dim")
    1
    """
    match = re.search(rf"\b{name}\s*=\s*(-?\d+)", str(attribute))
    return int(match[1]) if match else otherwise


def layouts(attribute: Attribute | None) -> list[list[str]]:
    """The dimensions of image, kernel and result of a convolution.

    >>> layouts(OpaqueAttr("#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"))
    [['b', '0', 'f'], ['0', 'i', 'o'], ['b', '0', 'f']]
    """
    lists = re.findall(r"\[([^\]]*)\]", str(attribute))
    return [[part.strip() for part in text.split(",")] for text in lists]
