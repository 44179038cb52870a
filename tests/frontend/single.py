"""One type, attribute or location inside the smallest module that holds it."""

from __future__ import annotations

import warnings

import pytest

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import Attribute, TypeAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type
from gpucodegen.parser import parse_module


def read(text: str) -> Module:
    """A module that may have unknown operations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        return parse_module(text, allow_unregistered=True)


def only(text: str) -> Operation:
    """The one operation of a text."""
    (op,) = read(text).operations
    return op


def attribute(text: str, around: str = "") -> Attribute:
    """The attribute, with ``around`` at the end of the file."""
    return only(f'"t.t"() {{a = {text}}} : () -> ()\n{around}').attributes["a"]


def type_(text: str) -> Type:
    """The type."""
    value = attribute(text)
    assert isinstance(value, TypeAttr)
    return value.type


def check_refused(text: str, code: str, around: str = "") -> None:
    """The attribute or type is refused with this code where § stands."""
    column = len('"t.t"() {a = ') + text.index("§") + 1
    with pytest.raises(errors.Error) as caught:
        attribute(text.replace("§", ""), around)
    assert caught.value.code == code, caught.value
    place = caught.value.place
    assert place is not None
    assert (place.line, place.column) == (1, column), caught.value
