"""Function signatures of func and gpu: arguments and results with attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import Argument, Reader, Writer
from gpucodegen.dialects.func import Function
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    TypeAttr,
    dictionary,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FunctionType, Type
from gpucodegen.records import dataclass


@dataclass(slots=True)
class OperationSignature:
    """A parsed signature; ``arguments`` is empty when only types are given."""

    arguments: list[Argument] = field(default_factory=list[Argument])
    inputs: list[Type] = field(default_factory=list[Type])
    results: list[Type] = field(default_factory=list[Type])
    input_attributes: list[DictAttr] = field(default_factory=list[DictAttr])
    result_attributes: list[DictAttr] = field(default_factory=list[DictAttr])

    @property
    def attributes(self) -> dict[str, Attribute]:
        """``function_type`` and, if not empty, ``arg_attrs`` and ``res_attrs``."""
        ty = FunctionType(tuple(self.inputs), tuple(self.results))
        found: dict[str, Attribute] = {"function_type": TypeAttr(ty)}
        if any(d.entries for d in self.input_attributes):
            found["arg_attrs"] = ArrayAttr(tuple(self.input_attributes))
        if any(d.entries for d in self.result_attributes):
            found["res_attrs"] = ArrayAttr(tuple(self.result_attributes))
        return found


SIGNATURE = AttributeKind(
    "a function type",
    lambda r: TypeAttr(r.function_type()),
    accepts=lambda a: isinstance(a, TypeAttr) and isinstance(a.type, FunctionType),
)
FUNCTION_ATTRIBUTES = {
    "sym_name": kinds.SYMBOL_NAME,
    "function_type": SIGNATURE,
    "sym_visibility": kinds.optional(kinds.STRING),
    "arg_attrs": kinds.optional(kinds.ARRAY),
    "res_attrs": kinds.optional(kinds.ARRAY),
}


def check_attributes(o: Operation) -> None:
    """One dictionary for each argument and result, where there are any."""
    ty = Function(o).type
    for name, types in (("arg_attrs", ty.inputs), ("res_attrs", ty.results)):
        value = o.attributes.get(name)
        if value is not None and not _is_one_each(value, len(types)):
            raise errors.WrongAttribute.at(
                o,
                problem=f"attribute '{name}' is not a list of {len(types)}"
                " dictionaries",
                hint=f"Write {len(types)} dictionaries",
            )


def _is_one_each(value: Attribute, count: int) -> bool:
    if not isinstance(value, ArrayAttr) or len(value.values) != count:
        return False
    return all(isinstance(entry, DictAttr) for entry in value.values)


def parse_signature(r: Reader) -> OperationSignature:
    """``(%a: type {attrs}, ..) -> (type {attrs}, ..)``."""
    signature = OperationSignature()
    start = r.start
    r.listed("(", ")", lambda: _argument(r, signature))
    if signature.arguments and len(signature.arguments) != len(signature.inputs):
        raise errors.OperandMismatch(
            r.location(start),
            operation="func.func",
            problem="some arguments are named and some are not",
            hint="Name all arguments, or none",
        )
    if r.accept("->"):
        _results(r, signature)
    return signature


def _argument(r: Reader, signature: OperationSignature) -> None:
    use = None
    if r.token[:1] == "%":
        use = r.use()
        r.expect(":")
    ty = r.type()
    signature.inputs.append(ty)
    signature.input_attributes.append(dictionary(r.attr_dict()))
    r.skip_location()
    if use is not None:
        signature.arguments.append(r.argument(use, ty))


def _results(r: Reader, signature: OperationSignature) -> None:
    if r.token == "(":
        r.listed("(", ")", lambda: _result(r, signature))
        return
    signature.results.append(r.type())
    signature.result_attributes.append(DictAttr())


def _result(r: Reader, signature: OperationSignature) -> None:
    signature.results.append(r.type())
    signature.result_attributes.append(dictionary(r.attr_dict()))
    r.skip_location()


_HIDDEN = (
    "sym_name",
    "function_type",
    "sym_visibility",
    "arg_attrs",
    "res_attrs",
)


def print_function(
    w: Writer, o: Operation, keywords: str = "", hidden: Sequence[str] = ()
) -> None:
    """Print arguments, results, keywords, attributes and body of a function.

    ``hidden`` attributes are those that the keywords express.
    """
    function = Function(o)
    w.write(f"({', '.join(_argument_texts(w, function))})")
    results = [
        _with_attributes(str(ty), attributes)
        for ty, attributes in zip(
            function.result_types, function.result_attributes, strict=True
        )
    ]
    if results:
        is_plain = len(results) == 1 and not function.result_attributes[0].entries
        is_plain = is_plain and not isinstance(function.result_types[0], FunctionType)
        listed = ", ".join(results)
        w.write(f" -> {listed if is_plain else f'({listed})'}")
    w.write(keywords)
    w.attr_dict(o, (*_HIDDEN, *hidden), keyword=True)
    if not function.is_external:
        w.write(" ")
        w.region(o.regions[0])


def _argument_texts(w: Writer, function: Function) -> list[str]:
    types = function.type.inputs
    names = [""] * len(types)
    if not function.is_external:
        names = [f"{w.name(a)}: " for a in function.arguments]
    return [
        _with_attributes(f"{name}{ty}", attributes)
        for name, ty, attributes in zip(
            names, types, function.argument_attributes, strict=False
        )
    ]


def _with_attributes(text: str, attributes: DictAttr) -> str:
    return f"{text} {attributes}" if attributes.entries else text
