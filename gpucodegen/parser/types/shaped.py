"""Vectors and tensors, and the extents and elements that memrefs have as well."""

from __future__ import annotations

import re

from gpucodegen import errors
from gpucodegen.ir.types import Shape, TensorType, Type, UnrankedTensorType, VectorType
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.types import shaped_rules as rules

_BLANK = r"(?:\s|//[^\n]*\n)*"
_EXTENT = re.compile(rf"{_BLANK}(\?|\d+|\[\s*\d+\s*\]){_BLANK}x", re.ASCII)
UNRANKED = re.compile(rf"{_BLANK}\*{_BLANK}x", re.ASCII)


def parse_extents(p: Parser, offset: int) -> tuple[Shape, tuple[bool, ...]]:
    """``4x?x[8]x`` from a character offset; leaves the element as current token."""
    extents: list[int | None] = []
    scalable: list[bool] = []
    while match := _EXTENT.match(p.text, offset):
        written = match[1]
        place = match.start(1)
        scalable.append(written[0] == "[")
        digits = written.strip("[] \t\n")
        extents.append(None if digits == "?" else p.to_int(digits))
        rules.check_extent(p, extents[-1] or 0, place)
        offset = match.end()
    p.move_to(offset)
    return tuple(extents), tuple(scalable)


def parse_element(p: Parser, kind: str) -> Type:
    """What a vector, tensor or memref holds."""
    if p.token == "*" or p.token[:1].isdigit() or p.token in (">", "?", ""):
        example = "*xf32" if p.token == "*" else "4xf32"
        advice = f"Write {kind}<{example}>, with 'x' before the element type"
        raise p.unexpected("an element type", advice)
    start = p.start
    element = p.type()
    rules.check_element(p, kind, element, start)
    return element


def parse_vector(p: Parser, offset: int) -> Type:
    """``4x[8]xf32>`` from a character offset."""
    start = p.start
    extents, scalable = parse_extents(p, offset)
    shape = tuple(e for e in extents if e is not None)
    if len(shape) != len(extents) or 0 in shape:
        raise errors.InvalidType(
            p.location(start),
            problem="a vector's extents must be positive numbers",
            hint="Use a tensor or memref for dynamic or empty shapes",
        )
    element = parse_element(p, "vector")
    p.close("<", ">")
    return VectorType(shape, element, scalable if any(scalable) else ())


def parse_tensor(p: Parser, offset: int) -> Type:
    """``4x?xf32, encoding>`` or ``*xf32>`` from a character offset."""
    if match := UNRANKED.match(p.text, offset):
        p.move_to(match.end())
        element = parse_element(p, "tensor")
        p.close("<", ">")
        return UnrankedTensorType(element)
    start = p.start
    shape, scalable = parse_extents(p, offset)
    no_scalable(p, scalable, start)
    element = parse_element(p, "tensor")
    encoding = p.attribute() if p.accept(",") else None
    p.close("<", ">")
    return TensorType(shape, element, encoding)


def no_scalable(p: Parser, scalable: tuple[bool, ...], start: int) -> None:
    """Tensors and memrefs have no ``[4]``."""
    if any(scalable):
        raise errors.InvalidType(
            p.location(start),
            problem="only vectors scale",
            hint="Use '?' for a dynamic extent",
        )
