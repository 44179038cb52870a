"""Front end for generated kernels: from a syntax tree to LLVM text in one pass.

Numba compiles a function from bytecode: it recovers the control flow, infers the types
of all variables together, and then lowers its own IR.  The emitter writes loops and
branches in a fixed form, and the type of each expression follows from its operands, so
this module visits each statement once and builds LLVM IR as it goes.  Types, casts and
the code of calls come from Numba's contexts, so the result computes what Numba's does.

A variable has the type of its definitions that reach a use (`reaching_definitions`).
Definitions of different types with a common use, and whatever the emitter does not
write, raise `NotCovered`; then Numba compiles the kernel, or says what is wrong with
it.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import field
from typing import Any, TypeGuard

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import NumbaError

from gpucodegen import errors
from gpucodegen.intrinsics.framework.lowering import CachingBuilder
from gpucodegen.intrinsics.framework.reaching_definitions import (
    Definition,
    Loop,
    MixedTypes,
    Names,
    Reaching,
    joined,
)
from gpucodegen.intrinsics.framework.unrolling import Unroller, trip_count
from gpucodegen.records import dataclass

BINARY: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
UNARY: dict[type[ast.unaryop], Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
COMPARED: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
PURE = {*BINARY.values(), *COMPARED.values(), *UNARY.values(), min, max}
"""Functions whose value follows from their operands alone."""
UNCERTAIN = NumbaError, NotImplementedError, errors.Error, MixedTypes, RecursionError
"""Errors after which Numba tries, whose bytecode has no depth."""
Typed = tuple[Any, Any]
"""A Numba type, which may be a literal's, and an LLVM value of it."""


class NotCovered(Exception):
    """A kernel that this front end does not translate."""

    def __init__(self, what: str, node: ast.AST | None = None) -> None:
        text = ast.unparse(node).partition("\n")[0] if node else ""
        super().__init__(f"{what}: {text}" if text else what)


def translate(
    definition: ast.FunctionDef,
    names: Mapping[str, Any],
    arguments: Sequence[Typed],
    contexts: tuple[Any, Any],
    builder: CachingBuilder,
    lines: Any = None,
    unroller: Unroller | None = None,
) -> None:
    """Build the body of a function, which returns nothing, from the end of a block.

    ``names``: the globals of its module; ``contexts``: of types, and of code.
    ``lines``: the writer of debug information.  ``unroller`` chooses unroll factors.
    Raises NotCovered or `UNCERTAIN`.
    """
    parameters = [each.arg for each in definition.args.args]
    variables = {*parameters, *_assigned(definition.body)}
    in_memory = _in_memory(definition.body, parameters)
    made = _Translator(names, variables, in_memory, *contexts, builder, lines, unroller)
    body = made.block("body")
    builder.branch(body)
    made.enter(body)
    for parameter, value in zip(parameters, arguments, strict=True):
        made.assign(parameter, value)
    made.statements(definition.body)
    if made.is_reached:
        made.leave()


def _assigned(nodes: Iterable[ast.stmt]) -> set[str]:
    """The variables that assignments in statements define."""
    found = set[str]()
    for node in nodes:
        match node:
            case ast.Assign(targets):
                for target in targets:
                    found.update(_targets(target))
            case ast.AugAssign(ast.Name(name)):
                found.add(name)
            case ast.For(ast.Name(name), _, body):
                found |= {name, *_assigned(body)}
            case ast.While(_, body, orelse) | ast.If(_, body, orelse):
                found |= _assigned(body) | _assigned(orelse)
            case _:
                pass
    return found


def _targets(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(name):
            yield name
        case ast.Tuple(parts):
            for part in parts:
                yield from _targets(part)
        case _:
            pass


def _in_memory(body: Iterable[ast.stmt], parameters: Iterable[str]) -> set[str]:
    """The names with a use that no single assignment dominates.

    ``held``: the names whose last assignment dominates the current place, and is the
    only one that reaches it.  A loop brings those of its end to its beginning.
    """
    found, held = set[str](), set(parameters)

    def use(node: ast.AST) -> None:
        match node:
            case ast.Name(name, ctx):
                if name not in held and isinstance(ctx, ast.Load):
                    found.add(name)
            case _:
                for each in _operands(node):
                    use(each)

    def visit(nodes: Iterable[ast.stmt]) -> None:
        for node in nodes:
            match node:
                case ast.AugAssign(ast.Name(name), _, value):
                    use(ast.Name(name, ast.Load()))
                    use(value)
                    held.add(name)
                case ast.While(test, inside, _):
                    held.difference_update(_assigned([node]))
                    use(test)
                    branch(inside)
                case ast.For(ast.Name(name), iterated, inside, _):
                    use(iterated)
                    held.difference_update(_assigned([node]))
                    branch(inside, name)
                case ast.If(test, then, other):
                    use(test)
                    branch(then)
                    branch(other)
                    held.difference_update(_assigned([node]))
                case _:
                    use(node)
                    held.update(_assigned([node]))

    def branch(nodes: Iterable[ast.stmt], *assigned: str) -> None:
        before = set(held)
        held.update(assigned)
        visit(nodes)
        held.clear()
        held.update(before)

    visit(body)
    return found


def _operands(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in a node, as ``ast.iter_child_nodes``, which takes twice as long."""
    for name in node._fields:
        match getattr(node, name):
            case ast.expr() as each:
                yield each
            case list() as several:
                yield from (each for each in several if isinstance(each, ast.AST))
            case _:
                pass


def _folded(node: ast.expr) -> ast.expr:
    """A constant for an operation on constants, as Python's compiler folds them."""
    match node:
        case ast.UnaryOp(op, operand):
            given, function = [operand], UNARY.get(type(op))
        case ast.BinOp(left, op, right):
            given, function = [left, right], BINARY.get(type(op))
        case _:
            return node
    values = list[Any]()
    for each in map(_folded, reversed(given)):  # sums are deep on the left
        if not _is_number(each):
            return node
        values.insert(0, each.value)
    try:
        return ast.Constant(function(*values)) if function else node
    except (ArithmeticError, TypeError, ValueError):
        return node


def _is_number(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_constant(value: Any) -> bool:
    return isinstance(value, ir.Constant) and isinstance(value.constant, int)


def _is_pure(function: Any) -> bool:
    """Whether a value follows from the operands alone; numbers convert them."""
    if function in PURE or isinstance(function, types.Number):
        return True
    return getattr(function, "is_pure", False)


@dataclass(slots=True)
class _Translator:
    """The state of the translation of one kernel.

    ``reaching``: the variables at the current place; None where control never gets.
    ``slots``: an alloca for each variable and type.  ``held``: the block in which the
    value of a slot is known, and the value.  ``calls``: the signature and the code of a
    function for argument types.  ``numbers``: integer constants; ``converted``: their
    values in other types.  ``numbered``: the values of pure functions in a block.
    ``in_memory``: the variables that have slots.
    """

    globals: Mapping[str, Any]
    locals: Collection[str]
    in_memory: Collection[str]
    typing: Any
    context: Any
    builder: CachingBuilder
    lines: Any
    unroller: Unroller | None
    reaching: Names | None = field(default_factory=dict[str, Reaching])
    loops: list[Loop] = field(default_factory=list[Loop])
    slots: dict[tuple[str, Any], Any] = field(default_factory=dict[Any, Any])
    held: dict[Any, Typed] = field(default_factory=dict[Any, Any])
    calls: dict[tuple[Any, ...], Any] = field(default_factory=dict[Any, Any])
    numbers: dict[int, Typed] = field(default_factory=dict[int, Typed])
    converted: dict[Any, Any] = field(default_factory=dict[Any, Any])
    numbered: dict[Any, Any] = field(default_factory=dict[Any, Any])
    numbered_in: Any = None

    @property
    def names(self) -> Names:
        """The variables at a place that control gets to."""
        assert self.reaching is not None
        return self.reaching

    @property
    def is_reached(self) -> bool:
        """Whether control gets to the current place."""
        return self.reaching is not None

    def block(self, name: str) -> ir.Block:
        """A basic block, which `enter` places."""
        return ir.Block(self.builder.function, name)

    def enter(self, block: ir.Block) -> None:
        """Place a block behind the others, and continue in it."""
        self.builder.function.blocks.append(block)
        self.builder.position_at_end(block)

    def at(self, node: ast.stmt | ast.expr) -> None:
        """Give the following instructions the line of a node."""
        if self.lines is not None:
            self.lines.mark_location(self.builder, node.lineno)

    # Statements.

    def statements(self, nodes: Iterable[ast.stmt]) -> None:
        """Translate statements, up to the first that control never gets to."""
        for node in nodes:
            if not self.is_reached:
                return
            self.at(node)
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(parts)):
                if len(targets) != len(parts):
                    raise NotCovered("a tuple of another length", node)
                values = [self.value(part) for part in parts]
                for target, value in zip(targets, values, strict=True):
                    self.store(target, value)
            case ast.Assign([ast.Tuple(targets)], value):
                self.unpack(targets, self.value(value), node)
            case ast.Assign([target], value):
                self.store(target, self.value(value))
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value):
                self.value(value)
            case ast.AugAssign(ast.Name(name), op, value):
                changed = ast.BinOp(ast.Name(name, ast.Load()), op, value)
                self.assign(name, self.value(changed))
            case ast.While(test, body, []):
                self.loop(test, body)
            case ast.For(ast.Name(name), iterated, body, []):
                self.counted(name, iterated, body)
            case ast.If(test, body, orelse):
                self.choice(test, body, orelse)
            case ast.Return(None):
                self.leave()
            case ast.Break() if self.loops:
                self.loops[-1].left.append(self.names)
                self.builder.branch(self.loops[-1].end)
                self.reaching = None
            case _:
                raise NotCovered("a statement", node)

    def leave(self) -> None:
        nothing = self.context.get_dummy_value()
        value = self.context.get_return_value(self.builder, types.none, nothing)
        self.context.call_conv.return_value(self.builder, value)
        self.reaching = None

    def store(self, target: ast.expr, value: Typed) -> None:
        """Assign to a variable or to an element."""
        match target:
            case ast.Name(name):
                self.assign(name, value)
            case ast.Subscript(base, index):
                given = self.value(base), self.value(index), value
                self.set_item(*given)
            case _:
                raise NotCovered("a target", target)

    def set_item(self, *given: Typed) -> None:
        """Store an element, as Numba does: typed twice, the second time as cast."""
        kinds = tuple(ty for ty, _ in given)
        key = (operator.setitem, *kinds)
        if key not in self.calls:
            function = self.typing.resolve_value_type(operator.setitem)
            signature = self.typing.resolve_setitem(*kinds)
            if signature is None:
                raise NotCovered(f"no element is set for {kinds}")
            exact = function.get_call_type(self.typing, signature.args, {})
            code = self.context.get_function(function, exact)
            self.calls[key] = signature, code
        signature, code = self.calls[key]
        code(self.builder, self.cast(given, signature.args))

    def unpack(self, targets: Sequence[ast.expr], value: Typed, node: ast.AST) -> None:
        """Assign the parts of a tuple."""
        kind, whole = value
        parts = list[Any](kind) if isinstance(kind, types.BaseTuple) else []
        if len(parts) != len(targets):
            raise NotCovered("not a tuple of this length", node)
        for n, (target, part) in enumerate(zip(targets, parts, strict=True)):
            self.store(target, (part, self.builder.extract_value(whole, n)))

    def assign(self, name: str, value: Typed) -> None:
        if name not in self.in_memory:
            self.names[name] = Reaching(frozenset([Definition(value[0], value[1])]))
            return
        kind = types.unliteral(value[0])
        if (name, kind) not in self.slots:
            form = self.context.get_value_type(kind)
            self.slots[name, kind] = cgutils.alloca_once(self.builder, form)
        slot = self.slots[name, kind]
        self.builder.store(value[1], slot)
        self.held[slot] = self.builder.block, value[1]
        self.names[name] = Reaching(frozenset([Definition(value[0], slot)]))

    def read(self, name: str) -> Typed:
        """The value of a variable, loaded once in each basic block.

        Raises MixedTypes.
        """
        found = self.names[name]
        kind = found.type_of(name)
        for loop in found.loops:
            loop.read.add(name)
        slot = next(iter(found.definitions)).place
        if name not in self.in_memory:
            return kind, slot
        if self.held.get(slot, (None,))[0] is not self.builder.block:
            self.held[slot] = self.builder.block, self.builder.load(slot)
        return kind, self.held[slot][1]

    def loop(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        """A loop with its test in front and again at its end, as in Python's bytecode.

        A test that is always true is left out.
        """
        inside, made = self.block("loop"), Loop(self.block("end"))
        is_endless = isinstance(test, ast.Constant) and bool(test.value)
        if is_endless:
            self.builder.branch(inside)
        else:
            self.branch(test, inside, made.end)
        before = self.begin(made, _assigned(body))
        self.enter(inside)
        self.statements(body)
        if self.is_reached:
            self.at(test)
            if is_endless:
                self.builder.branch(inside)
            else:
                self.branch(test, inside, made.end)
        self.end(made, before, None if is_endless else joined(before, self.reaching))

    def counted(self, name: str, over: ast.expr, body: Sequence[ast.stmt]) -> None:
        """A loop over a range; like Numba's, it counts the iterations that are left."""
        kind, first, step, count = self.range_of(over)
        head, inside, outside = (
            self.block("next"),
            self.block("loop"),
            self.builder.block,
        )
        self.builder.branch(head)
        made = Loop(self.block("end"))
        before = self.begin(made, {name, *_assigned(body)})
        self.enter(head)
        value, left = self.builder.phi(first.type), self.builder.phi(first.type)
        value.add_incoming(first, outside)
        left.add_incoming(count, outside)
        is_more = self.builder.icmp_signed(">", left, first.type(0))
        self.builder.cbranch(is_more, inside, made.end)
        self.enter(inside)
        self.assign(name, (kind, value))
        if self.unroller is not None:
            self.unroller.begin(self.builder)
        self.statements(body)
        is_reached = self.is_reached
        if is_reached:
            after = self.builder.add(value, step)
            fewer = self.builder.sub(left, first.type(1), flags=["nsw"])
            value.add_incoming(after, self.builder.block)
            left.add_incoming(fewer, self.builder.block)
        self.finish(head)
        if self.unroller is not None:
            self.unroller.end(self.builder, trip_count(over), repeats=is_reached)
        self.end(made, before, joined(before, self.reaching))

    def range_of(self, over: ast.expr) -> tuple[Any, Any, Any, Any]:
        """The type of a range's numbers, its first one, its step, its iterations."""
        match over:
            case ast.Call(ast.Name() as function, [_, *_] as arguments, []):
                given = [self.value(each) for each in arguments]
                kinds = tuple(ty for ty, _ in given)
                kind = self.type_of(self.known(function))
                signature = self.typing.resolve_function_type(kind, kinds, {})
            case _:
                signature, given = None, []
        if signature is None or not isinstance(signature.return_type, types.RangeType):
            raise NotCovered("a loop over something else than a range", over)
        kind, values = signature.return_type.dtype, self.cast(given, signature.args)
        form = self.context.get_value_type(kind)
        first, last, step = (
            [form(0), *values, form(1)] if len(values) == 1 else [*values, form(1)][:3]
        )
        is_kernel = self.builder.function.function_type.return_type == ir.VoidType()
        if is_kernel and not (_is_constant(step) and step.constant):
            raise NotCovered("a step that may be 0, which a kernel cannot return", over)
        return kind, first, step, self.iterations(first, last, step)

    def iterations(self, first: Any, last: Any, step: Any) -> Any:
        """How often a loop repeats.  A step of 0 is an error."""
        build, zero = self.builder, first.type(0)
        if all(map(_is_constant, (first, last, step))) and step.constant:
            count = -((last.constant - first.constant) // -step.constant)
            if count < 1 << first.type.width - 1:
                return first.type(max(count, 0))
        span = build.sub(last, first)
        if not _is_constant(step) or not step.constant:
            with cgutils.if_unlikely(build, build.icmp_unsigned("==", step, zero)):
                said = "range() arg 3 must not be zero"
                self.context.call_conv.return_user_exc(build, ValueError, (said,))
        is_forward = build.icmp_signed(">", span, zero)
        if _is_constant(step) and step.constant == 1:
            return build.select(is_forward, span, zero)
        uneven = build.icmp_signed("!=", build.srem(span, step), zero)
        count = build.add(build.sdiv(span, step), build.zext(uneven, first.type))
        is_backward = build.xor(is_forward, build.icmp_signed(">", step, zero))
        return build.select(is_backward, zero, count)

    def begin(self, made: Loop, changed: Collection[str]) -> Names:
        """Enter a loop that assigns variables; returns those in front of it."""
        before = dict(self.names)
        self.reaching = {
            name: found.inside(made) if name in changed else found
            for name, found in before.items()
        }
        self.loops.append(made)
        return before

    def end(self, made: Loop, before: Names, after: Names | None) -> None:
        """Leave a loop; ``after``: the variables where its test fails."""
        for name in made.read:
            ends = self.reaching or before
            before[name].joined(ends[name]).check_loop(name)
        self.loops.pop()
        for way in made.left:
            after = joined(after, way)
        self.enter(made.end)
        if after is None:
            self.builder.unreachable()
        else:
            after = {
                name: found.outside(made) if made in found.loops else found
                for name, found in after.items()
            }
        self.reaching = after

    def choice(
        self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]
    ) -> None:
        """A branch, whose test may be a constant."""
        if isinstance(test, ast.Constant):
            self.statements(body if test.value else orelse)
            return
        then, end = self.block("then"), self.block("end")
        other = self.block("else") if orelse else end
        self.branch(test, then, other)
        before = dict(self.names)
        self.enter(then)
        self.statements(body)
        after = self.reaching
        self.finish(end)
        self.reaching = before
        if orelse:
            self.enter(other)
            self.statements(orelse)
            self.finish(end)
        self.reaching = joined(after, self.reaching)
        if self.is_reached:
            self.enter(end)

    def finish(self, following: ir.Block) -> None:
        """Leave a block if its end can be reached."""
        if self.is_reached:
            self.builder.branch(following)

    def branch(self, test: ast.expr, yes: ir.Block, no: ir.Block) -> None:
        """Branch on a test; ``and`` and ``or`` evaluate only the tests they need."""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                self.branch(operand, no, yes)
            case ast.BoolOp(op, [*first, last]):
                for each in first:
                    following = self.block("test")
                    ways = (
                        (following, no) if isinstance(op, ast.And) else (yes, following)
                    )
                    self.branch(each, *ways)
                    self.enter(following)
                self.branch(last, yes, no)
            case _:
                _, truth = self.call(bool, self.value(test))
                self.builder.cbranch(truth, yes, no)

    # Expressions.

    def value(self, node: ast.expr) -> Typed:
        match _folded(node):
            case ast.Constant(value):
                return self.constant(value)
            case ast.Name(name):
                if name in self.names:
                    return self.read(name)
                return self.constant(self.known(node))
            case ast.Call(function, arguments, []):
                return self.called(function, arguments)
            case ast.Attribute(base, name):
                return self.attribute(self.value(base), name)
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                operands = self.value(left), self.value(right)
                return self.call(BINARY[type(op)], *operands)
            case ast.UnaryOp(op, operand) if type(op) in UNARY:
                return self.call(UNARY[type(op)], self.value(operand))
            case ast.Compare(left, [op], [right]) if type(op) in COMPARED:
                operands = self.value(left), self.value(right)
                return self.call(COMPARED[type(op)], *operands)
            case ast.BoolOp():
                return self.one_of(node)
            case ast.Tuple(parts):
                return self.tuple_of([self.value(part) for part in parts])
            case ast.Subscript(base, index):
                operands = self.value(base), self.value(index)
                return self.call(operator.getitem, *operands)
            case _:
                raise NotCovered("an expression", node)

    def constant(self, value: Any) -> Typed:
        """A number, or an object that has only a type."""
        if type(value) is not int:
            return self.new_constant(value)
        if value not in self.numbers:
            self.numbers[value] = self.new_constant(value)
        return self.numbers[value]

    def new_constant(self, value: Any) -> Typed:
        """As `constant`; Numba's own test for a literal makes an error."""
        is_literal = type(value) in types.Literal.ctor_map
        kind = types.literal(value) if is_literal else self.type_of(value)
        if isinstance(kind, types.BaseTuple | types.Array):
            raise NotCovered("a constant that is no scalar")
        return kind, self.context.get_constant_generic(self.builder, kind, value)

    def tuple_of(self, parts: Sequence[Typed]) -> Typed:
        kind = types.BaseTuple.from_types([types.unliteral(ty) for ty, _ in parts])
        values = [value for _, value in parts]
        return kind, self.context.make_tuple(self.builder, kind, values)

    def type_of(self, value: Any) -> Any:
        """The Numba type of a Python object."""
        try:
            return self.typing.resolve_value_type(value)
        except ValueError as found:
            raise NotCovered(str(found)) from found

    def known(self, node: ast.Name) -> Any:
        """The object of a global or built-in name."""
        if node.id in self.locals:
            raise NotCovered("a variable that may have no value", node)
        if node.id in self.globals:
            return self.globals[node.id]
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        raise NotCovered("a name without a value", node)

    def attribute(self, base: Typed, name: str) -> Typed:
        kind, value = base
        found = self.typing.resolve_getattr(kind, name)
        if found is None or isinstance(found, types.BoundFunction):
            raise NotCovered(f"{kind} has no attribute {name}")
        code = self.context.get_getattr(kind, name)
        if code is None:
            return found, self.context.get_dummy_value()
        return found, code(self.context, self.builder, kind, value, name)

    def called(self, function: ast.expr, arguments: Sequence[ast.expr]) -> Typed:
        """A call of a global function, or of one that is an attribute."""
        given = [self.value(each) for each in arguments]
        if isinstance(function, ast.Name) and function.id not in self.names:
            return self.call(self.known(function), *given)
        return self.typed_call(self.value(function)[0], given)

    def call(self, function: Any, *given: Typed) -> Typed:
        """A call of a Python object."""
        key = (function, *(ty for ty, _ in given))
        if key not in self.calls:
            self.calls[key] = self.resolved(self.type_of(function), key[1:])
        if _is_pure(function):
            return self.numbered_value(key, given)
        return self.build(self.calls[key], given)

    def numbered_value(self, key: tuple[Any, ...], given: Sequence[Typed]) -> Typed:
        """A value of a pure function: one per operands and basic block.

        LLVM's first pass does the same, so its result stays, but shorter text costs
        less until then.
        """
        block = self.builder.block
        if block is not self.numbered_in:
            self.numbered_in = block
            self.numbered.clear()
        place = (*key, *(id(value) for _, value in given))
        if place not in self.numbered:
            made = self.build(self.calls[key], given)
            if self.builder.block is not block:
                return made
            self.numbered[place] = made, given  # operands live, so ids stay their own
        return self.numbered[place][0]

    def typed_call(self, kind: Any, given: Sequence[Typed]) -> Typed:
        """A call of a function that has only a type."""
        key = (kind, *(ty for ty, _ in given))
        if key not in self.calls:
            self.calls[key] = self.resolved(kind, key[1:])
        return self.build(self.calls[key], given)

    def resolved(self, kind: Any, argument_types: tuple[Any, ...]) -> Any:
        """The signature and the code of a call."""
        kind = kind.instance_type if isinstance(kind, types.TypeRef) else kind
        signature = self.typing.resolve_function_type(kind, argument_types, {})
        if signature is None or signature.recvr:
            raise NotCovered(f"{kind} of {argument_types}")
        return signature, self.context.get_function(kind, signature)

    def build(self, resolved: Any, given: Sequence[Typed]) -> Typed:
        signature, code = resolved
        values = self.cast(given, signature.args)
        return signature.return_type, code(self.builder, values)

    def cast(self, given: Sequence[Typed], wanted: Sequence[Any]) -> list[Any]:
        """Values as a signature takes them."""
        if len(given) != len(wanted):
            raise NotCovered("a call with omitted arguments")
        return [
            value if ty == to else self.converted_value(value, ty, to)
            for (ty, value), to in zip(given, wanted, strict=True)
        ]

    def converted_value(self, value: Any, given: Any, wanted: Any) -> Any:
        """A value of another type; a literal is converted once, as its code is."""
        key = given, wanted
        if key in self.converted:
            return self.converted[key]
        made = self.context.cast(self.builder, value, given, wanted)
        is_number = isinstance(given, types.IntegerLiteral)
        if is_number and isinstance(made, ir.Constant):
            self.converted[key] = made
        return made

    def one_of(self, node: ast.BoolOp) -> Typed:
        """The value of ``and`` or ``or``: that of the last operand it evaluates."""
        end, is_and = self.block("end"), isinstance(node.op, ast.And)
        *first, last = node.values
        kind, value = self.value(first[0])
        kind = types.unliteral(kind)
        slot = cgutils.alloca_once(self.builder, value.type)
        self.builder.store(value, slot)
        for each in [*first[1:], last]:
            following = self.block("test")
            _, truth = self.call(bool, (kind, value))
            ways = (following, end) if is_and else (end, following)
            self.builder.cbranch(truth, *ways)
            self.enter(following)
            other, value = self.value(each)
            if types.unliteral(other) != kind:
                raise NotCovered("operands of several types", node)
            self.builder.store(value, slot)
        self.builder.branch(end)
        self.enter(end)
        return kind, self.builder.load(slot)
