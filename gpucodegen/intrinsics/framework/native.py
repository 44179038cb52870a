"""A small compiler from Python functions on 64-bit words to machine code, by LLVM.

The thread pool is small and every process needs it, so it is compiled without Numba,
which takes a hundred times as long.  Functions call others of their kind,
`Instruction`s and ``min``; they have ``if``, ``while``, ``for`` over a ``range``,
``and`` and ``or``, and named constants.  Divisions truncate: operands are not negative.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from types import FunctionType
from typing import Any

from llvmlite import ir

from gpucodegen.records import dataclass

I1, I8, I32, WORD = (ir.IntType(bits) for bits in (1, 8, 32, 64))
VOID = ir.VoidType()


@dataclass(frozen=True, slots=True)
class Code:
    """The insertion point of an instruction."""

    builder: Any

    def call(self, name: str, result: ir.Type, arguments: Sequence[Any]) -> Any:
        """Call an LLVM intrinsic or a C function by its full name."""
        module = self.builder.module
        function = module.globals.get(name)
        if function is None:
            kinds = [argument.type for argument in arguments]
            function = ir.Function(module, ir.FunctionType(result, kinds), name)
        return self.builder.call(function, arguments)

    def slot(self, kind: ir.Type) -> Any:
        """A stack slot, allocated once per call of the function."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(kind)


@dataclass(frozen=True, slots=True)
class Instruction:
    """An operation that functions of words call and Python cannot."""

    build: Callable[..., Any]

    def __call__(self, *words: int) -> int:
        """For native code only."""
        raise NotImplementedError(self.build.__name__, words)


def native(functions: Mapping[str, FunctionType]) -> ir.Module:
    """An LLVM module with these functions, by their symbols, and all that they call.

    >>> from gpucodegen.intrinsics.pool.shares import packed
    >>> print(native({"share": packed}).globals["share"].function_type)
    i64 (i64, i64, i64)
    """
    made = _Module(ir.Module())
    for symbol, function in functions.items():
        found = made.function(function, symbol)
        found.linkage = "external"
    return made.module


def word(value: int) -> Any:
    """A constant."""
    return ir.Constant(WORD, value)


@dataclass
class _Module:
    """The requested functions, each translated once."""

    module: ir.Module
    known: dict[FunctionType, Any] = field(default_factory=dict[FunctionType, Any])

    def function(self, function: FunctionType, symbol: str = "") -> Any:
        """The LLVM function of a Python function."""
        if function not in self.known:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
            (definition,) = tree.body
            assert isinstance(definition, ast.FunctionDef)
            names = [argument.arg for argument in definition.args.args]
            kind = ir.FunctionType(WORD, [WORD] * len(names))
            made = ir.Function(self.module, kind, symbol or function.__name__)
            made.linkage = "internal"
            self.known[function] = made
            body = _Body(self, function.__globals__, made)
            for name, argument in zip(names, made.args, strict=True):
                body.set(name, argument)
            body.run(definition.body)
            body.end()
        return self.known[function]


class _Body:
    """Translates one function, statement by statement."""

    def __init__(self, module: _Module, outside: dict[str, Any], made: Any) -> None:
        self.module = module
        self.outside = outside
        self.builder: Any = ir.IRBuilder(made.append_basic_block())
        self.places: dict[str, Any] = {}
        first = self.builder.append_basic_block()
        self.builder.branch(first)
        self.builder.position_at_end(first)

    def set(self, name: str, value: Any) -> None:
        """Assigns a variable."""
        if name not in self.places:
            self.places[name] = Code(self.builder).slot(WORD)
        self.builder.store(value, self.places[name])

    def end(self) -> None:
        """Functions without a result return 0."""
        if not self.builder.block.is_terminated:
            self.builder.ret(word(0))

    # Statements.

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Translates statements in order; none after a return."""
        for statement in statements:
            if not self.builder.block.is_terminated:
                self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()):
                pass
            case ast.Expr(value):
                self.value(value)
            case ast.Return(value):
                self.builder.ret(word(0) if value is None else self.value(value))
            case ast.Assign([ast.Name(name)], value):
                self.set(name, self.value(value))
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                found = [self.value(value) for value in values]
                for name, value in zip(names, found, strict=True):
                    assert isinstance(name, ast.Name)
                    self.set(name.id, value)
            case ast.AugAssign(ast.Name(name), operator, value):
                before = ast.Name(name, ast.Load())
                self.set(name, self.value(ast.BinOp(before, operator, value)))
            case ast.If(test, body, otherwise):
                self._branches(test, body, otherwise)
            case ast.While(test, body):
                with self._loop(lambda: self.value(test)):
                    self.run(body)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds), body):
                self._counted(name, [self.value(bound) for bound in bounds], body)
            case _:
                raise NotImplementedError(ast.unparse(node))

    def _branches(
        self, test: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]
    ) -> None:
        with self.builder.if_else(self._truth(self.value(test))) as (yes, no):
            with yes:
                self.run(body)
            with no:
                self.run(otherwise)

    def _counted(self, name: str, bounds: list[Any], body: Sequence[ast.stmt]) -> None:
        start, stop = [word(0), *bounds][-2:]
        self.set(name, start)
        place = self.places[name]

        def is_inside() -> Any:
            return self._compared("<", self.builder.load(place), stop)

        with self._loop(is_inside):
            self.run(body)
            self.set(name, self.builder.add(self.builder.load(place), word(1)))

    @contextmanager
    def _loop(self, test: Callable[[], Any]) -> Generator[None]:
        head, body, after = (self.builder.append_basic_block() for _ in range(3))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(self._truth(test()), body, after)
        self.builder.position_at_end(body)
        yield
        if not self.builder.block.is_terminated:
            self.builder.branch(head)
        self.builder.position_at_end(after)

    # Expressions.

    def value(self, node: ast.expr) -> Any:
        """The word of an expression."""
        match node:
            case ast.Constant(int(number)):
                return word(int(number))
            case ast.Name(name) if name in self.places:
                return self.builder.load(self.places[name])
            case ast.Name(name):
                return word(int(self.outside[name]))
            case ast.UnaryOp(operator, operand):
                return UNARY[type(operator)](self.builder, self.value(operand))
            case ast.BinOp(left, operator, right):
                build = getattr(self.builder, BINARY[type(operator)])
                return build(self.value(left), self.value(right))
            case ast.Compare(left, [operator], [right]):
                symbol = COMPARED[type(operator)]
                return self._compared(symbol, self.value(left), self.value(right))
            case ast.BoolOp(operator, values):
                return self._chain(isinstance(operator, ast.And), values)
            case ast.Call(ast.Name(name), arguments):
                return self._called(name, [self.value(each) for each in arguments])
            case _:
                raise NotImplementedError(ast.unparse(node))

    def _chain(self, stops_at_zero: bool, values: Sequence[ast.expr]) -> Any:
        """``and`` and ``or`` with short-circuit evaluation, giving the last value."""
        place = Code(self.builder).slot(WORD)
        self.builder.store(self.value(values[0]), place)
        for value in values[1:]:
            goes_on = self._truth(self.builder.load(place))
            if not stops_at_zero:
                goes_on = self.builder.not_(goes_on)
            with self.builder.if_then(goes_on):
                self.builder.store(self.value(value), place)
        return self.builder.load(place)

    def _called(self, name: str, arguments: list[Any]) -> Any:
        if name == "min":
            return self._least(arguments)
        called = self.outside[name]
        if isinstance(called, Instruction):
            return called.build(Code(self.builder), *arguments)
        return self.builder.call(self.module.function(called), arguments)

    def _least(self, values: list[Any]) -> Any:
        least, *others = values
        for other in others:
            is_less = self.builder.icmp_signed("<", other, least)
            least = self.builder.select(is_less, other, least)
        return least

    def _compared(self, symbol: str, left: Any, right: Any) -> Any:
        return self.builder.zext(self.builder.icmp_signed(symbol, left, right), WORD)

    def _truth(self, value: Any) -> Any:
        return self.builder.icmp_signed("!=", value, word(0))


BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "sdiv",
    ast.Mod: "srem",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
COMPARED = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
UNARY: dict[type[ast.unaryop], Callable[[Any, Any], Any]] = {
    ast.Invert: lambda builder, value: builder.not_(value),
    ast.USub: lambda builder, value: builder.neg(value),
}
