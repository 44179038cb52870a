"""The func dialect: typed views and builders of functions, calls and returns."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Block, Operation, Region, Value, single_block
from gpucodegen.ir.types import FunctionType, Type
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """Reading access to a ``func.func`` or ``gpu.func``."""

    operation: Operation

    @property
    def name(self) -> str:
        return symbol_name(self.operation)

    @property
    def type(self) -> FunctionType:
        attribute = self.operation.attributes.get("function_type")
        if isinstance(attribute, TypeAttr) and isinstance(attribute.type, FunctionType):
            return attribute.type
        return FunctionType((), ())

    @property
    def result_types(self) -> tuple[Type, ...]:
        return self.type.results

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.operation.regions[0].blocks if self.operation.regions else ()

    @property
    def is_external(self) -> bool:
        return not self.blocks

    @property
    def body(self) -> Block:
        return self.blocks[0]

    @property
    def arguments(self) -> tuple[Value, ...]:
        """The entry block's arguments; empty for an external function."""
        return () if self.is_external else self.body.arguments

    @property
    def visibility(self) -> str:
        """``public``, ``private`` or ``nested``."""
        return self.operation.string("sym_visibility", "public")

    @property
    def is_private(self) -> bool:
        return self.visibility == "private"

    @property
    def argument_attributes(self) -> tuple[DictAttr, ...]:
        """One dictionary per argument."""
        return self._dictionaries("arg_attrs", len(self.type.inputs))

    @property
    def result_attributes(self) -> tuple[DictAttr, ...]:
        """One dictionary per result."""
        return self._dictionaries("res_attrs", len(self.type.results))

    def _dictionaries(self, name: str, count: int) -> tuple[DictAttr, ...]:
        value = self.operation.attributes.get(name)
        if not isinstance(value, ArrayAttr):
            return (DictAttr(),) * count
        return tuple(v if isinstance(v, DictAttr) else DictAttr() for v in value.values)


@dataclass(frozen=True, slots=True)
class Call:
    """Reading access to a ``func.call``."""

    operation: Operation

    @property
    def callee(self) -> str:
        value = self.operation.attributes.get("callee")
        return value.path[-1] if isinstance(value, SymbolRefAttr) else ""

    @property
    def arguments(self) -> tuple[Value, ...]:
        return self.operation.operands


_NAMING = {
    "func.call": "callee",
    "func.constant": "value",
    "stablehlo.composite": "decomposition",
}


def named_function(op: Operation) -> str:
    """The function that a call or a function constant names, or the empty string."""
    value = op.attributes.get(_NAMING.get(op.name, ""))
    return value.path[-1] if isinstance(value, SymbolRefAttr) else ""


def func(
    name: str,
    args: Sequence[Value],
    result_types: Sequence[Type] = (),
    body: Sequence[Operation] | Region | None = None,
    visibility: str = "public",
    location: Location = UNKNOWN,
) -> Operation:
    """``func.func``; ``body`` includes the return, None makes it external."""
    region = _body_region(args, body)
    signature = FunctionType(tuple(a.type for a in args), tuple(result_types))
    attributes: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": TypeAttr(signature),
    }
    if visibility != "public":
        attributes["sym_visibility"] = StringAttr(visibility)
    return Operation(
        "func.func", attributes=attributes, regions=(region,), location=location
    )


def _body_region(
    args: Sequence[Value], body: Sequence[Operation] | Region | None
) -> Region:
    if isinstance(body, Region):
        return body
    return Region() if body is None else single_block(body, args)


def return_(values: Sequence[Value] = ()) -> Operation:
    return Operation("func.return", tuple(values))
