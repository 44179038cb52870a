"""Specialization of functions to the shapes and ranks of their calls.

* `Specialize` fixes ``?`` extents and strides of a function's arguments to those of a
  call and propagates them; `canonicalize` folds the extents that became constants.
* `SpecializeRanks` copies a callee with ``memref<*xf32>`` arguments once per rank.  In
  a copy the rank is a constant, which decides the branches on it.
* `ForwardRanks` folds ranked -> unranked -> ranked casts, ``dim`` and ``rank`` of
  unranked values whose ranked source is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import count
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import arith
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Call, Function
from gpucodegen.dialects.linalg import destinations
from gpucodegen.ir.attributes import IntegerAttr, StringAttr, SymbolRefAttr, TypeAttr
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    clone,
    rewrite_bottom_up,
)
from gpucodegen.ir.types import (
    INDEX,
    FunctionType,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import without_dead_code
from gpucodegen.passes.prepare.canonicalize import Canonicalize
from gpucodegen.passes.prepare.tensors.conflicts import INSERTIONS
from gpucodegen.passes.prepare.tensors.static_types import (
    is_inside,
    put_in,
    tensor_type,
    view_type,
    with_kept_sizes,
    with_known_part,
)
from gpucodegen.records import dataclass

ROUNDS = 3
"""Rounds of inference: an extent may become constant only after another one did."""


@dataclass(frozen=True, slots=True)
class Specialize(ModulePass, name="specialize"):
    """Give the arguments of ``function`` the types in ``types``; None keeps one."""

    function: str = ""
    types: tuple[Type | None, ...] = ()

    def apply(self, module: Module) -> Module:
        if all(ty is None for ty in self.types) and not self._is_open(module):
            return module
        types: Sequence[Type | None] = self.types
        for _ in range(ROUNDS):
            module = module.with_operations(
                _specialized(op, types) if symbol_name(op) == self.function else op
                for op in module.operations
            )
            module = Canonicalize().apply(module)
            types = ()
        return module

    def _is_open(self, module: Module) -> bool:
        """Whether the function allocates arrays of dynamic extents."""
        function = module.functions.get(self.function)
        operations = () if function is None else function.walk()
        made = (value for op in operations for value in op.results)
        return any(None in getattr(value.type, "shape", ()) for value in made)

    def refusal(self, broken: errors.VerifyError) -> errors.Error:
        """An error about the caller's shapes, or about inconsistent types."""
        if isinstance(broken, _LOST):
            return ModulePass.refusal(self, broken)
        message = broken.template.format(**broken.details)
        return errors.ShapesDisagree(broken.location, problem=message)


_LOST = (
    errors.BranchMismatch,
    errors.CallMismatch,
    errors.ReturnMismatch,
    errors.YieldMismatch,
)


def _specialized(op: Operation, types: Sequence[Type | None]) -> Operation:
    view = Function(op)
    renamer = _Renamer()
    for value, ty in zip(view.arguments, types, strict=False):
        if ty is not None and ty != value.type:
            renamer.values[value] = value.renewed(ty)
    regions = tuple(renamer.region(region) for region in op.regions)
    rebuilt = op.with_(regions=regions)
    blocks = regions[0].blocks
    inputs = tuple(a.type for a in blocks[0].arguments)
    results = _returned(rebuilt) or view.result_types
    signature = TypeAttr(FunctionType(inputs, results))
    return rebuilt.with_attribute("function_type", signature)


def _returned(op: Operation) -> tuple[Type, ...] | None:
    """Operand types of the only return."""
    found = [
        tuple(v.type for v in block.operations[-1].operands)
        for block in op.regions[0].blocks
        if block.operations and block.operations[-1].name == "func.return"
    ]
    return found[0] if len(found) == 1 else None


@dataclass(slots=True)
class _Renamer:
    """Rebuilds operations around values whose types became more static."""

    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    constants: dict[Value, int] = field(default_factory=dict[Value, int])

    def region(self, region: Region, around: Operation | None = None) -> Region:
        """The region of an operation whose results keep or follow their types."""
        return Region(tuple(self._block(b, around) for b in region.blocks))

    def _block(self, block: Block, around: Operation | None) -> Block:
        arguments = tuple(self.values.get(v, v) for v in block.arguments)
        operations: list[Operation] = []
        for op in block.operations:
            rebuilt = self._operation(op)
            types: Sequence[Type] | None = None
            if op is block.operations[-1] and around is not None:
                types = self._passed(op, around)
            elif op.name in INSERTIONS:
                types = put_in(rebuilt)
            elif op.name in _LOOPS and op.results:
                bounds = rebuilt.operands[: len(op.operands) - len(op.results)]
                types = [v.type for v in (*bounds, *rebuilt.results)]
            elif not is_inside(rebuilt) or op.name in _KEPT or self._is_closed(rebuilt):
                types = [v.type for v in op.operands]
            operations += [rebuilt] if types is None else _with_types(rebuilt, types)
        return Block(arguments, tuple(operations), block.label)

    def _passed(self, last: Operation, around: Operation) -> Sequence[Type] | None:
        """The types that a region yields: unchanged, or the carried ones."""
        if around.name == "scf.while":
            return [v.type for v in last.operands]
        if around.name in _LOOPS and around.results:
            return [self.values.get(v, v).type for v in around.results]
        return None

    def _operation(self, op: Operation) -> Operation:
        operands = tuple(self.values.get(v, v) for v in op.operands)
        successors = tuple(
            replace(s, operands=tuple(self.values.get(v, v) for v in s.operands))
            for s in op.successors
        )
        rebuilt = op.with_(operands=operands, successors=successors)
        value = op.attributes.get("value")
        if op.name == "arith.constant" and isinstance(value, IntegerAttr):
            self.constants[op.result] = value.value
        rebuilt = with_known_part(rebuilt, self.constants)
        if not is_inside(rebuilt):
            return rebuilt
        infer, view = _RESULT_TYPES.get(op.name), view_type(rebuilt)
        tensor = tensor_type(rebuilt, self.constants)
        if tensor is not None:
            sized = self.retyped(rebuilt, [tensor])
            rebuilt = with_kept_sizes(rebuilt, sized.result)
        elif infer is not None:
            rebuilt = infer(self, rebuilt)
        elif view is not None:
            sized = self.retyped(rebuilt, [view])
            rebuilt = with_kept_sizes(rebuilt, sized.result)
        elif op.dialect == "linalg" and op.results and op.name != "linalg.index":
            rebuilt = self.follow_outputs(rebuilt)
        self._note_extent(rebuilt)
        if op.name in _LOOPS and op.results:
            return self._loop(op, rebuilt)
        if op.name == "scf.forall":
            rebuilt = self._carry(rebuilt)
        if op.name in _CHOICES and op.results:
            return self._choice(op, rebuilt)
        if not op.regions:
            return rebuilt
        regions = (self.region(region, op) for region in op.regions)
        return rebuilt.with_(regions=tuple(regions))

    def _note_extent(self, op: Operation) -> None:
        """A static extent becomes a constant for dependent sizes."""
        if op.name not in ("memref.dim", "tensor.dim"):
            return
        place = self.constants.get(op.operands[1])
        shape = getattr(op.operands[0].type, "shape", ())
        if place is not None and place < len(shape) and shape[place] is not None:
            self.constants[op.result] = shape[place]

    def _choice(self, op: Operation, rebuilt: Operation) -> Operation:
        """Results have the extents that all regions yield, or their declared types."""
        blocks = [b for region in op.regions for b in self.region(region).blocks]
        given = [
            [v.type for v in b.operations[-1].operands]
            for b in blocks
            if b.operations[-1].name in _YIELDS
        ]
        declared = (v.type for v in op.results)
        types = [
            _joined(ty, *column) for ty, *column in zip(declared, *given, strict=True)
        ]

        def cast(block: Block) -> Block:
            *others, last = block.operations
            if last.name not in _YIELDS:
                return block
            return replace(block, operations=(*others, *_with_types(last, types)))

        made = iter(blocks)
        regions = tuple(
            Region(tuple(cast(next(made)) for _ in region.blocks))
            for region in op.regions
        )
        return self.retyped(rebuilt, types).with_(regions=regions)

    def _loop(self, op: Operation, rebuilt: Operation) -> Operation:
        """A loop whose carried values have the types of their initial values.

        A value keeps its declared type, with a cast before the loop, unless the body
        yields the type that it gets: its extents may change in each iteration.
        """
        declared: frozenset[int] = frozenset()
        while True:
            values, constants = dict(self.values), dict(self.constants)
            carried = self._carry(rebuilt, declared)
            regions = tuple(self.region(region, op) for region in op.regions)
            passed = [self.values.get(v, v) for v in op.body.operations[-1].operands]
            pairs = enumerate(zip(passed, carried.results, strict=True))
            changed = frozenset(n for n, (v, r) in pairs if v.type != r.type)
            if changed <= declared:
                return carried.with_(regions=regions)
            declared |= changed
            self.values, self.constants = values, constants

    def _is_closed(self, op: Operation) -> bool:
        """Whether it results in buffers whose types are not inferred."""
        made = any(isinstance(v.type, MemRefType | TensorType) for v in op.results)
        follows = op.name in _RESULT_TYPES or op.dialect == "linalg" or op.regions
        known = view_type(op) or tensor_type(op, self.constants)
        return made and not follows and known is None

    def retyped(self, op: Operation, types: Sequence[Type]) -> Operation:
        """The operation with results of other types; its old results are renamed."""
        results = tuple(
            value if value.type == ty else value.renewed(ty)
            for value, ty in zip(op.results, types, strict=True)
        )
        self.values.update(
            (old, new)
            for old, new in zip(op.results, results, strict=True)
            if old is not new
        )
        return op.with_(results=results)

    def follow_outputs(self, op: Operation) -> Operation:
        """Tensor results of a linalg operation have the types of its outputs."""
        outputs = destinations(op, len(op.results))
        return self.retyped(op, [v.type for v in outputs])

    def _carry(
        self, op: Operation, declared: frozenset[int] = frozenset()
    ) -> Operation:
        """Carried arguments and results follow their initial values, except some."""
        count = len(op.results)
        if not count:
            return op
        inits = op.operands[len(op.operands) - count :]
        arguments = op.body.arguments[len(op.body.arguments) - count :]
        types = [
            argument.type if n in declared else init.type
            for n, (init, argument) in enumerate(zip(inits, arguments, strict=True))
        ]
        for ty, argument in zip(types, arguments, strict=True):
            if ty != argument.type:
                self.values[argument] = argument.renewed(ty)
        return self.retyped(op, types)


_KEPT = frozenset({"func.call", "func.call_indirect", "scf.while"})
"""Operations whose operands and results keep their types."""
_CHOICES = frozenset({"scf.if", "affine.if", "scf.index_switch", "scf.execute_region"})
_YIELDS = frozenset({"affine.yield", "scf.yield"})
_LOOPS = frozenset({"affine.for", "scf.for"})


def _joined(declared: Type, *given: Type) -> Type:
    """The declared type with the extents that all given ones have."""
    if not isinstance(declared, MemRefType | TensorType):
        return declared
    if given and all(ty == given[0] for ty in given):
        return given[0]
    shapes = [ty.shape for ty in given if isinstance(ty, MemRefType | TensorType)]
    shape = tuple(
        extents[0] if len(set(extents)) == 1 else old
        for old, *extents in zip(declared.shape, *shapes, strict=True)
    )
    return replace(declared, shape=shape)


def _with_types(op: Operation, types: Sequence[Type]) -> list[Operation]:
    casts: list[Operation] = []
    operands: list[Value] = []
    for ty, new in zip(types, op.operands, strict=True):
        if ty == new.type:
            operands.append(new)
            continue
        dialect = "memref" if isinstance(new.type, MemRefType) else "tensor"
        given = new.renewed(ty)
        casts.append(Operation(f"{dialect}.cast", (new,), (given,)))
        operands.append(given)
    return [*casts, op.with_(operands=tuple(operands))]


def _sized(
    shape: Sequence[int | None], sizes: Sequence[int | None]
) -> tuple[int | None, ...]:
    """The shape with known sizes in its dynamic places."""
    dynamic = iter(sizes)
    return tuple(next(dynamic, None) if n is None else n for n in shape)


def _allocation(renamer: _Renamer, op: Operation) -> Operation:
    """Constant sizes become part of the type and are no longer passed."""
    ty = op.result.type
    if not isinstance(ty, MemRefType | TensorType):
        return op
    count = sum(extent is None for extent in ty.shape)
    sizes, rest = op.operands[:count], op.operands[count:]
    known = [renamer.constants.get(size) for size in sizes]
    static = replace(ty, shape=_sized(ty.shape, known))
    kept = tuple(s for s, n in zip(sizes, known, strict=True) if n is None)
    rebuilt = renamer.retyped(op.with_(operands=(*kept, *rest)), [static])
    if "operandSegmentSizes" not in op.attributes:
        return rebuilt
    from gpucodegen.ir.operation import segment_counts

    return rebuilt.with_attribute(
        "operandSegmentSizes", segment_counts(len(kept), len(rest))
    )


def _cast(renamer: _Renamer, op: Operation) -> Operation:
    """A cast keeps static extents of its source."""
    source, target = op.operands[0].type, op.result.type
    if not isinstance(source, MemRefType | TensorType) or type(source) is not type(
        target
    ):
        return op
    if not isinstance(target, MemRefType | TensorType) or len(source.shape) != len(
        target.shape
    ):
        return op
    shape = tuple(
        a if b is None else b for a, b in zip(source.shape, target.shape, strict=True)
    )
    return renamer.retyped(op, [replace(target, shape=shape)])


def _conversion(renamer: _Renamer, op: Operation) -> Operation:
    """Conversion between tensor and memref of one shape."""
    shape = getattr(op.operands[0].type, "shape", None)
    target = op.result.type
    if shape is None or not isinstance(target, MemRefType | TensorType):
        return op
    return renamer.retyped(op, [replace(target, shape=shape)])


_RESULT_TYPES: dict[str, Callable[[_Renamer, Operation], Operation]] = {
    "memref.alloc": _allocation,
    "memref.alloca": _allocation,
    "tensor.empty": _allocation,
    "bufferization.alloc_tensor": _allocation,
    "memref.cast": _cast,
    "tensor.cast": _cast,
    "bufferization.to_tensor": _conversion,
    "bufferization.to_memref": _conversion,
    "bufferization.to_buffer": _conversion,
}


_CASTS = frozenset({"memref.cast", "tensor.cast"})
_RANKS = frozenset({"memref.rank", "tensor.rank"})


@dataclass(frozen=True, slots=True)
class ForwardRanks(ModulePass, name="forward-ranks"):
    """Fold ranked -> unranked -> ranked casts."""

    looks_for: ClassVar[frozenset[str]] = _CASTS

    def apply(self, module: Module) -> Module:
        forwarder = _Forwarder()
        (root,) = rewrite_bottom_up(module.operation, forwarder.rewrite)
        if not forwarder.ranked:
            return module
        return Module(without_dead_code(root))


@dataclass(slots=True)
class _Forwarder:
    """``ranked``: the ranked source of an unranked value."""

    ranked: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def rewrite(self, op: Operation) -> list[Operation] | None:
        if op.name in _CASTS and _has_no_rank(op.result):
            source = op.operands[0]
            if source in self.ranked or not _has_no_rank(source):
                self.ranked[op.result] = self.ranked.get(source, source)
            return None
        if not op.operands or op.operands[0] not in self.ranked:
            return None
        source, *rest = (self.ranked[op.operands[0]], *op.operands[1:])
        if op.name in _RANKS:
            return [_rank(op, source)]
        if op.name in _CASTS and not _fits(source, op.result):
            return None
        is_use = op.name in _CASTS or op.name in _USES
        return [op.with_(operands=(source, *rest))] if is_use else None


_USES = frozenset({"memref.dim", "tensor.dim", "tensor.extract"})


def _has_no_rank(value: Value) -> bool:
    return isinstance(value.type, UnrankedMemRefType | UnrankedTensorType)


def _fits(source: Value, result: Value) -> bool:
    """Whether a cast can succeed; casts to other ranks are in dead code."""
    ranks = [getattr(value.type, "rank", None) for value in (source, result)]
    return None in ranks or ranks[0] == ranks[1]


def _rank(op: Operation, source: Value) -> Operation:
    assert isinstance(source.type, MemRefType | TensorType)
    return arith.constant_for(op, IntegerAttr(len(source.type.shape), INDEX))


Key = tuple[str, tuple[Type | None, ...]]


@dataclass(frozen=True, slots=True)
class SpecializeRanks(ModulePass, name="specialize-ranks", looks_for="func.call"):
    """Copy functions for the ranks of the memrefs that they are called with."""

    def apply(self, module: Module) -> Module:
        specialiser = _Specialiser(dict(module.functions))
        operations = [
            specialiser.function(op) if op.name == "func.func" else op
            for op in module.operations
        ]
        copies = list(specialiser.copies())
        if not copies:
            return module
        return module.with_operations([*operations, *copies])


@dataclass(slots=True)
class _Specialiser:
    functions: dict[str, Operation]
    names: dict[Key, str] = field(default_factory=dict[Key, str])
    work: list[Key] = field(default_factory=list[Key])

    def copies(self) -> Iterator[Operation]:
        """The requested copies, including those that calls in copies request."""
        while self.work:
            key = self.work.pop()
            yield self.function(
                _copied(self.functions[key[0]], self.names[key], key[1])
            )

    def function(self, op: Operation) -> Operation:
        """A function whose calls name copies."""
        ranked = {
            cast.result: cast.operands[0]
            for cast in op.walk()
            if cast.name == "memref.cast" and _is_unranked(cast.result.type)
        }
        known = {v: source for v in ranked if (source := _source(v, ranked))}
        if not known:
            return op

        def rewrite(inner: Operation) -> list[Operation] | None:
            return self._call(inner, known) if inner.name == "func.call" else None

        (rebuilt,) = rewrite_bottom_up(op, rewrite)
        return rebuilt if rebuilt is op else without_dead_code(rebuilt)

    def _call(self, op: Operation, known: dict[Value, Value]) -> list[Operation] | None:
        callee = self.functions.get(Call(op).callee)
        if callee is None or Function(callee).is_external:
            return None
        operands = tuple(known.get(v, v) for v in op.operands)
        if operands == op.operands:
            return None
        pairs = zip(op.operands, operands, strict=True)
        types = tuple(None if new is old else new.type for old, new in pairs)
        name = SymbolRefAttr((self._name((symbol_name(callee), types)),))
        return [op.with_(operands=operands).with_attribute("callee", name)]

    def _name(self, key: Key) -> str:
        """The name of a copy, which is created on first use."""
        if key not in self.names:
            taken = {*self.functions, *self.names.values()}
            names = (f"{key[0]}_ranked{number}" for number in count())
            self.names[key] = next(name for name in names if name not in taken)
            self.work.append(key)
        return self.names[key]


def _is_unranked(ty: Type) -> bool:
    return isinstance(ty, UnrankedMemRefType)


def _source(value: Value, ranked: dict[Value, Value]) -> Value | None:
    """The ranked value at the start of a chain of casts, or None."""
    while value in ranked:
        value = ranked[value]
    return None if _is_unranked(value.type) else value


def _copied(callee: Operation, name: str, types: Sequence[Type | None]) -> Operation:
    """The callee for arguments of these types, cast to its original ones."""
    copy = clone(callee)
    view = Function(copy)
    arguments: list[Value] = []
    casts: list[Operation] = []
    for value, ty in zip(view.arguments, types, strict=True):
        arguments.append(value if ty is None else value.renewed(ty))
        if ty is not None:
            location = value.location
            cast = Operation(
                "memref.cast", (arguments[-1],), (value,), location=location
            )
            casts.append(cast)
    entry, *others = view.blocks
    first = replace(
        entry, arguments=tuple(arguments), operations=(*casts, *entry.operations)
    )
    return _settled(_signed(copy, name, (first, *others)))


def _signed(function: Operation, name: str, blocks: Sequence[Block]) -> Operation:
    """A private function of this name around the blocks."""
    inputs = tuple(value.type for value in blocks[0].arguments)
    signature = FunctionType(inputs, Function(function).result_types)
    attributes = {
        **function.attributes,
        "sym_name": StringAttr(name),
        "sym_visibility": StringAttr("private"),
        "function_type": TypeAttr(signature),
    }
    return function.with_(attributes=attributes, regions=(Region(tuple(blocks)),))


def _settled(function: Operation) -> Operation:
    """The function with branches on ranks decided."""
    alone = ForwardRanks().apply(Module.of([function]))
    (settled,) = Canonicalize().apply(alone).operations
    return settled
