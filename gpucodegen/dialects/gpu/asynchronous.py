"""``async [%tokens]``: operations that wait for others and give a token."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.syntax import Reader, Use, Writer
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import DialectType, Type

TOKEN = DialectType("gpu.async.token")
_IS_TOKEN = TypeConstraint(str(TOKEN), lambda ty: ty == TOKEN)
TOKENS = {"asyncDependencies": _IS_TOKEN, "asyncToken": _IS_TOKEN}


def parse_async(r: Reader) -> tuple[list[Type], list[Use]]:
    """``async? [%tokens]?``: the types of the result and the tokens waited for."""
    results: list[Type] = []
    if r.token == "async":
        r.advance()
        results.append(TOKEN)
    uses = r.listed("[", "]", r.use) if r.token == "[" else []
    return results, uses


def print_async(w: Writer, o: Operation, tokens: tuple[Value, ...]) -> None:
    """``async? [%tokens]?``; the token is the last result."""
    if o.results and o.results[-1].type == TOKEN:
        w.write(" async")
    if tokens:
        w.write(f" [{w.names(tokens)}]")


@dataclass(frozen=True, slots=True)
class AsyncClause(FormatElement):
    """The clause as an element of a declarative format."""

    dependencies: str = "asyncDependencies"
    token: str = "asyncToken"

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        results, uses = parse_async(parsed.reader)
        parsed.types[self.token] = results
        parsed.uses[self.dependencies] = uses
        parsed.types[self.dependencies] = [TOKEN] * len(uses)

    def print(self, printed: Printed) -> None:
        """Write the element."""
        tokens = tuple(printed.values[self.dependencies])
        print_async(printed.writer, printed.op, tokens)
        printed.after_word = True
