"""Arguments of functions that may overlap: ``gcg.alias_group = distinct[0]<..>``.

Memref arguments with one and the same distinct attribute may share memory in any way.
All others are taken not to overlap, and launches make sure of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.func import Function
from gpucodegen.ir.attributes import ArrayAttr, Attribute, DictAttr, dictionary
from gpucodegen.ir.constants.elements import DistinctAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType

NAME = "gcg.alias_group"


def alias_groups(function: Operation) -> tuple[Attribute | None, ...]:
    """The group of each argument, None for one that overlaps no other."""
    return tuple(
        dict(attributes.entries).get(NAME)
        for attributes in Function(function).argument_attributes
    )


def with_groups(function: Operation, groups: Sequence[Attribute | None]) -> Operation:
    """The function with these groups of its arguments."""
    if not any(groups):
        return function
    attributes = tuple(
        _with(old, group)
        for old, group in zip(
            Function(function).argument_attributes, groups, strict=True
        )
    )
    return function.with_attribute("arg_attrs", ArrayAttr(attributes))


def _with(attributes: DictAttr, group: Attribute | None) -> DictAttr:
    kept = tuple(entry for entry in attributes.entries if entry[0] != NAME)
    return dictionary(dict(kept if group is None else (*kept, (NAME, group))))


def check_groups(function: Operation) -> None:
    """Groups are distinct attributes, of memrefs."""
    inputs = Function(function).type.inputs
    for position, group in enumerate(alias_groups(function)):
        if group is None:
            continue
        is_buffer = isinstance(inputs[position], MemRefType | UnrankedMemRefType)
        if not is_buffer or not isinstance(group, DistinctAttr):
            raise errors.WrongAttribute(
                function.location,
                operation=Function(function).name,
                problem=f"attribute '{NAME}' of argument {position} is {group}",
                hint="Write distinct[0]<..>, on memref arguments only",
            )
