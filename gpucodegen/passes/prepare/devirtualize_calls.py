"""Devirtualization of indirect calls, and calls for ``library_call`` attributes.

Where the module holds every caller, a function value is one of the ``func.constant`` of
its type.  The k-th constant of a type becomes the number k, and an indirect call
becomes a branch on it to direct calls.  These are inlined next, so kernels contain no
function values.  A structured operation with a ``library_call`` becomes a call of that
function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function, named_function
from gpucodegen.ir.attributes import IntegerAttr, StringAttr, SymbolRefAttr, TypeAttr
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Successor,
    Value,
    rewrite_bottom_up,
    single_block,
)
from gpucodegen.ir.types import I1, I64, INDEX, FunctionType, Type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.records import dataclass

_CARRIERS = frozenset(
    "func.call func.call_indirect func.return arith.select affine.for affine.if"
    " affine.yield cf.br cf.cond_br cf.switch scf.for scf.while scf.if scf.yield"
    " scf.condition scf.index_switch scf.execute_region".split()
)
"""Operations that pass values on, whatever their type."""


@dataclass(frozen=True, slots=True)
class DevirtualizeCalls(
    ModulePass, name="devirtualize-calls", looks_for="func.constant"
):
    """Every ``func.call_indirect`` whose callees are known becomes direct calls.

    A module stays as it is if function values come from outside or go there: by the
    arguments or results of ``function``, or of one that is only declared.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func private @up(%x: f32) -> f32 { return %x : f32 }
    ... func.func private @down(%x: f32) -> f32 {
    ...   %y = arith.negf %x : f32
    ...   return %y : f32
    ... }
    ... func.func @f(%x: f32, %p: i1) -> f32 {
    ...   %u = func.constant @up : (f32) -> f32
    ...   %d = func.constant @down : (f32) -> f32
    ...   %g = arith.select %p, %u, %d : (f32) -> f32
    ...   %y = func.call_indirect %g(%x) : (f32) -> f32
    ...   return %y : f32
    ... }''')
    >>> made = DevirtualizeCalls("f").apply(module).functions["f"]
    >>> [op.name for op in made.walk() if op.dialect in ("func", "scf")]
    ['func.func', 'scf.if', 'func.call', 'scf.yield', 'func.call', 'scf.yield', \
'func.return']
    """

    function: str = ""

    def apply(self, module: Module) -> Module:
        callees = _constants(module)
        if not all(map(self._is_closed, module.walk())):
            return module
        return Module(_Rewriter(callees).operation(module.operation))

    def _is_closed(self, op: Operation) -> bool:
        """Whether function values stay within operations of this module."""
        if op.name != "func.func":
            used = any(isinstance(v.type, FunctionType) for v in op.operands)
            return not used or op.name in _CARRIERS
        view = Function(op)
        is_outside = view.name == self.function or not any(r.blocks for r in op.regions)
        types = (*view.type.inputs, *view.type.results)
        return not (is_outside and any(isinstance(t, FunctionType) for t in types))


def _constants(module: Module) -> dict[Type, list[str]]:
    """By type: the functions that some constant names."""
    found: dict[Type, list[str]] = {}
    for op in module.walk():
        if op.name == "func.constant":
            names = found.setdefault(op.result.type, [])
            name = named_function(op)
            names += [] if name in names else [name]
    return found


def _numbered(ty: Type) -> Type:
    """A type of values without functions."""
    return INDEX if isinstance(ty, FunctionType) else ty


@dataclass(slots=True)
class _Rewriter:
    callees: Mapping[Type, Sequence[str]]
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def operation(self, op: Operation) -> Operation:
        """An operation on numbers; those inside are replaced."""
        ty = op.attributes.get("function_type")
        if isinstance(ty, TypeAttr) and isinstance(ty.type, FunctionType):
            sides = ty.type.inputs, ty.type.results
            made = FunctionType(*(tuple(map(_numbered, side)) for side in sides))
            op = op.with_attribute("function_type", TypeAttr(made))
        successors = tuple(
            Successor(s.label, tuple(map(self._number, s.operands)))
            for s in op.successors
        )
        return op.with_(
            operands=tuple(map(self._number, op.operands)),
            results=tuple(map(self._number, op.results)),
            successors=successors,
            regions=tuple(
                Region(tuple(map(self._block, region.blocks))) for region in op.regions
            ),
        )

    def _number(self, value: Value) -> Value:
        """The replacement of a value, wherever it is defined or used."""
        if not isinstance(value.type, FunctionType):
            return value
        return self.values.setdefault(value, value.renewed(INDEX))

    def _block(self, block: Block) -> Block:
        arguments = tuple(map(self._number, block.arguments))
        b = Builder()
        for op in block.operations:
            if op.name in ("func.constant", "func.call_indirect"):
                self._replaced(b, op)
            else:
                b.operations.append(self.operation(op))
        return Block(arguments, tuple(b.operations), block.label)

    def _replaced(self, b: Builder, op: Operation) -> None:
        b.location = op.location
        results = tuple(map(self._number, op.results))
        if op.name == "func.constant":
            number = self.callees[op.result.type].index(named_function(op))
            b.constant(number, INDEX)
        else:
            called, *given = map(self._number, op.operands)
            names = self.callees.get(op.operands[0].type, ())
            _chosen(b, called, names, given, [v.type for v in results])
        b.operations[-1] = b.operations[-1].with_(results=results)


def _chosen(
    b: Builder,
    number: Value,
    names: Sequence[str],
    given: Sequence[Value],
    types: Sequence[Type],
    first: int = 0,
) -> Sequence[Value]:
    """A call of one of several functions by its number; the last one needs no test."""
    name, *others = names
    if not others:
        return b.add("func.call", given, types, {"callee": SymbolRefAttr((name,))})
    equals = {"predicate": IntegerAttr(0, I64)}
    wanted = b.constant(first, INDEX)
    is_it = b.value("arith.cmpi", (number, wanted), I1, equals)
    regions: list[Region] = []
    for chosen in ([name], others):
        inner = Builder(b.location)
        made = _chosen(inner, number, chosen, given, types, first + 1)
        inner.add("scf.yield", made)
        regions.append(single_block(inner.operations))
    return b.add("scf.if", (is_it,), types, {}, regions)


@dataclass(frozen=True, slots=True)
class LibraryCalls(ModulePass, name="library-calls", looks_for="library_call"):
    """Structured operations on buffers become operations named by ``library_call``.

    Those of other names than ``functions`` stay, and become loops.
    """

    functions: tuple[str, ...] = ()

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, self._called)
        return Module(root)

    def _called(self, op: Operation) -> Sequence[Operation] | None:
        callee = op.attributes.get("library_call")
        if op.results or not isinstance(callee, StringAttr):
            return None
        if op.dialect != "linalg" or callee.value not in self.functions:
            return None
        return [Operation(callee.value, op.operands, location=op.location)]
