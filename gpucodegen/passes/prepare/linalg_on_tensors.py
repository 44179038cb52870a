"""Elementwise fusion on tensors, and conversion of tensor arithmetic to linalg.

    t = f(a[m(i)])          becomes          r[..] = g(f(a[m(n(j))]), ..)
    r[..] = g(t[n(j)], ..)

A producer with a single consumer is fused into it.  Copies, broadcasts, transposes,
constants and widening conversions are fused into every consumer, and only these into
contractions, which stay recognisable; consumers of a contraction are fused later, on
loops.  A reshape between two that only joins dimensions moves behind the second one.
Reductions of several results, such as the place of a maximum, compute the positions
that they compare.  A reduction that repeats an earlier one takes its result.

Arithmetic on whole tensors becomes ``linalg.generic``.  ``d = contract a, b, c`` of
whole vectors becomes ``C[i, j] op= A[i, k] * B[k, j]`` on buffers A, B and C that hold
a, b and c, and d is loaded from C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from gpucodegen.dialects import linalg, vector
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.gcg import NAME
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim, to_expr
from gpucodegen.ir.attributes import DenseElementsAttr, IntegerAttr, number
from gpucodegen.ir.operation import (
    Operation,
    Value,
    clone,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import (
    I64,
    INDEX,
    MemRefType,
    TensorType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.prepare.tensors.gathered_elements import with_gathered_elements
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class VectorContract(ModulePass, name="vector-contract", looks_for="vector.contract"):
    """Every ``vector.contract`` without a mask becomes a structured operation.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... #row = affine_map<(i, k) -> (k)>
    ... #one = affine_map<(i, k) -> (i)>
    ... func.func @f(%a: vector<8xf32>, %b: vector<4x8xf32>, %c: vector<4xf32>)
    ...     -> vector<4xf32> {
    ...   %0 = vector.contract {indexing_maps = [#row, affine_map<(i, k) -> (i, k)>,
    ...     #one], iterator_types = ["parallel", "reduction"]} %a, %b, %c
    ...     : vector<8xf32>, vector<4x8xf32> into vector<4xf32>
    ...   return %0 : vector<4xf32>
    ... }''')
    >>> made = VectorContract().apply(module).functions["f"].body.operations
    >>> [op.name for op in made if op.dialect != "arith"][-4:]
    ['vector.store', 'linalg.generic', 'vector.load', 'func.return']
    """

    def apply(self, module: Module) -> Module:
        walked = list(module.walk())
        masks = (op for op in walked if op.name == "vector.mask")
        masked = {v for mask in masks for op in mask.walk() for v in op.results}

        def structured(op: Operation) -> Sequence[Operation] | None:
            is_plain = op.name == "vector.contract" and len(op.operands) == 3
            return (
                _contraction_as_generic(op)
                if is_plain and op.result not in masked
                else None
            )

        (root,) = rewrite_bottom_up(module.operation, structured)
        return Module(root)


def _contraction_as_generic(op: Operation) -> Sequence[Operation]:
    b = Builder(op.location)
    *factors, total = (_stored(b, value) for value in op.operands)
    arguments = [Value(element_type(v.type), "e", op.location) for v in op.operands]
    b.operations.append(
        linalg.generic(
            factors,
            [total],
            vector.contraction_maps(op),
            vector.contraction_iterators(op),
            arguments,
            _term(op, arguments),
            location=op.location,
        )
    )
    ty = op.result.type
    if isinstance(ty, VectorType):
        b.vector_load(total, [0] * len(ty.shape), ty)
    else:
        b.load(total, [])
    *others, load = b.operations
    return [*others, load.with_(results=op.results)]


def _stored(b: Builder, value: Value) -> Value:
    """A buffer that holds a vector or a scalar."""
    ty = value.type
    shape = ty.shape if isinstance(ty, VectorType) else ()
    memory = MemRefType(shape, element_type(ty))
    buffer = b.allocate("memref.alloca", memory, value.name)
    if isinstance(ty, VectorType):
        b.vector_store(value, buffer, [0] * len(shape))
    else:
        b.store(value, buffer, [])
    return buffer


def _term(op: Operation, arguments: Sequence[Value]) -> list[Operation]:
    """``total op= a * b``, with operands in the type of the total."""
    *factors, total = arguments
    b = Builder(op.location)
    times = of_kind("mul", total.type)
    combine = of_kind(kind_word(op.attributes.get("kind")), total.type)
    assert times is not None
    assert combine is not None
    a, c = (b.extended(factor, total.type) for factor in factors)
    product = b.value(times.name, (a, c), total.type)
    result = b.value(combine.name, (total, product), total.type)
    return [*b.operations, linalg.yield_([result], location=op.location)]


_DIALECTS = ("arith", "math", "complex", "index")


@dataclass(frozen=True, slots=True)
class ElementwiseToLinalg(
    ModulePass, name="elementwise-to-linalg", looks_for="!tensor"
):
    """Every scalar operation that is applied to tensors becomes a structured one."""

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _elementwise_as_generic)
        return Module(root)


def _elementwise_as_generic(op: Operation) -> Sequence[Operation] | None:
    tensors = [v for v in op.operands if isinstance(v.type, TensorType)]
    if not _is_whole_tensor_arithmetic(op) or not tensors:
        return None
    b = Builder(op.location)
    outputs = [_empty(b, tensors[0], result.type) for result in op.results]
    rank = len(outputs[0].type.shape) if isinstance(outputs[0].type, TensorType) else 0
    maps = [_map(v, rank) for v in (*op.operands, *outputs)]
    arguments = [_element(v) for v in (*op.operands, *outputs)]
    results = tuple(_element(v) for v in op.results)
    scalar = op.with_(operands=tuple(arguments[: len(op.operands)]), results=results)
    generic = linalg.generic(
        op.operands,
        outputs,
        maps,
        ["parallel"] * rank,
        arguments,
        [scalar, linalg.yield_(results, location=op.location)],
        location=op.location,
    )
    return [*b.operations, generic.with_(results=op.results)]


def _is_whole_tensor_arithmetic(op: Operation) -> bool:
    definition = lookup(op.name)
    if definition is None or op.dialect not in _DIALECTS or op.regions:
        return False
    is_constant = definition.has(Trait.CONSTANT)
    results = [v.type for v in op.results]
    return not is_constant and all(isinstance(ty, TensorType) for ty in results)


def _empty(b: Builder, like: Value, ty: Type) -> Value:
    """Memory for a result with the extents of an operand."""
    assert isinstance(ty, TensorType)
    sizes: list[Value] = []
    for dimension, extent in enumerate(ty.shape):
        if extent is None:
            position = b.constant(dimension, INDEX)
            sizes += b.add("tensor.dim", (like, position), [INDEX], hint="n")
    return b.value("tensor.empty", sizes, ty)


def _map(value: Value, rank: int) -> AffineMap:
    """The map of a tensor element; scalars do not depend on the position."""
    is_tensor = isinstance(value.type, TensorType)
    return AffineMap.identity(rank) if is_tensor else AffineMap(rank, 0, ())


def _element(value: Value) -> Value:
    return value.renewed(element_type(value.type))


_WIDER = frozenset(["arith.extf", "arith.extsi", "arith.extui"])
_RESHAPES = frozenset(["tensor.collapse_shape", "tensor.expand_shape"])
_UNREAD = _RESHAPES | {"linalg.generic", "tensor.empty", "arith.constant", "tensor.dim"}
"""Operations that are removed when their results are unused."""


@dataclass(frozen=True, slots=True)
class FuseTensors(ModulePass, name="fuse-tensors", looks_for="!tensor"):
    """Fuse elementwise producers into structured operations on tensors.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.passes.prepare.linalg_on_tensors import ElementwiseToLinalg
    >>> module = gcg.parse('''
    ... func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    ...   %y = math.exp %x : tensor<4xf32>
    ...   %z = arith.negf %y : tensor<4xf32>
    ...   return %z : tensor<4xf32>
    ... }''')
    >>> fused = FuseTensors().apply(ElementwiseToLinalg().apply(module))
    >>> [op.name for op in fused.functions["f"].body.operations]
    ['tensor.empty', 'linalg.generic', 'func.return']
    """

    def apply(self, module: Module) -> Module:
        if not any(op.name == "linalg.generic" and op.results for op in module.walk()):
            return module
        return in_functions(module, lambda function: [_fused(function)])


def _fused(given: Operation) -> Operation:
    function = with_blocks(given, with_gathered_elements)
    readers: dict[Value, set[Operation]] = {}
    for op in function.walk():
        for value in op.operands:
            readers.setdefault(value, set()).add(op)
    return with_blocks(function, lambda ops: _Fuser(readers).block(ops))


@dataclass(slots=True)
class _Fuser:
    """One block; ``made``: the definitions in it; ``readers`` of values.

    ``origins``: the operation of the text of each structured one.
    """

    readers: dict[Value, set[Operation]]
    made: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    origins: dict[Operation, Operation] = field(
        default_factory=dict[Operation, Operation]
    )

    def block(self, operations: Sequence[Operation]) -> list[Operation]:
        result: list[Operation] = []
        for op in operations:
            joined = self._joined(op) if _is_structured(op) else self._inside(op)
            for new in self._reshaped(op, joined):
                self.made.update((value, new) for value in new.results)
                self.origins[new] = op
                result.append(new)
        return _without_unread(_without_repeats(result))

    def _inside(self, op: Operation) -> Operation:
        """Regions are fused separately, so that loops do not repeat more work."""
        if op.dialect == "linalg":
            return op
        return with_blocks(op, lambda ops: _Fuser(self.readers).block(ops))

    def _joined(self, consumer: Operation) -> Operation:
        original, at = consumer, 0
        while at < len(linalg.Structured(consumer).inputs):
            producer = self.made.get(consumer.operands[at])
            merged = producer and self._merge(original, consumer, at, producer)
            consumer, at = (merged, 0) if merged else (consumer, at + 1)
        return consumer

    def _reshaped(self, original: Operation, consumer: Operation) -> list[Operation]:
        """The consumer, or one with its producer before the reshape between them."""
        inputs = linalg.Structured(consumer).inputs if _is_elementwise(consumer) else ()
        for at, given in enumerate(inputs):
            views, user, value = list[Operation](), original, given
            while (view := self.made.get(value)) and view.name in _RESHAPES:
                if self.readers.get(value) != {user}:
                    break
                views, value, user = [view, *views], view.operands[0], view
            producer = self.made.get(value)
            if not views or not producer or not _is_elementwise(producer):
                continue
            if NAME in producer.attributes or self.readers.get(value) != {user}:
                continue
            made = _through(consumer, at, producer, views)
            if made is not None:
                for one, other in pairwise(made[1:]):
                    self.readers[one.result] = {other}
                for operand in made[1].operands:
                    self.readers.setdefault(operand, set()).add(original)
                return made
        return [consumer]

    def _merge(
        self, original: Operation, consumer: Operation, at: int, producer: Operation
    ) -> Operation | None:
        if NAME in producer.attributes:  # a schedule names its loops
            return None
        if producer.name == "arith.constant":
            return _with_number(consumer, at, producer)
        if not _is_elementwise(producer):
            return None
        is_copy = len(producer.body.operations) == 1 or _is_widening(producer)
        alone = self.readers.get(producer.result, set()) <= {original}
        is_free = is_copy or _is_position(consumer, producer)
        is_free = is_free or _is_read(consumer, producer)
        if not is_free and not (alone and _takes_work(consumer, producer)):
            return None
        merged = _merged(consumer, at, producer)
        if merged is not None:
            gone = {self.origins[producer]} if alone else set[Operation]()
            for value in producer.operands:
                readers = self.readers.setdefault(value, set())
                self.readers[value] = {*readers, original} - gone
        return merged


def _is_structured(op: Operation) -> bool:
    return op.name == "linalg.generic" and bool(op.results)


def _is_elementwise(op: Operation) -> bool:
    """Whether each element of its one result depends on one element per input."""
    if not _is_structured(op) or len(op.results) != 1:
        return False
    generic = linalg.Structured(op)
    rank = len(generic.iterator_types)
    used = {v for inner in generic.body.operations for v in inner.operands}
    return (
        set(generic.iterator_types) <= {"parallel"}
        and generic.indexing_maps[-1] == AffineMap.identity(rank)
        and generic.body.arguments[-1] not in used
    )


def _is_position(consumer: Operation, producer: Operation) -> bool:
    """Whether the producer reads nothing, and the consumer is no product."""
    return not linalg.Structured(producer).inputs and len(consumer.results) > 1


def _is_read(consumer: Operation, producer: Operation) -> bool:
    """Whether the producer reads an element at an affine place, for a parallel loop."""
    names = [op.name for op in producer.body.operations]
    kinds = linalg.Structured(consumer).iterator_types
    return (
        set(kinds) <= {"parallel"}
        and names.count("tensor.extract") == 1
        and {*names} <= _READS
    )


_READS = {"linalg.index", "affine.apply", "tensor.extract", "linalg.yield"}


def _takes_work(consumer: Operation, producer: Operation) -> bool:
    """Whether the consumer keeps its kind with more work in its body."""
    generic = linalg.Structured(consumer)
    if set(generic.iterator_types) <= {"parallel"}:
        return True
    used = {v for inner in generic.body.operations for v in inner.operands}
    read = [v for v in generic.body.arguments[: len(generic.inputs)] if v in used]
    return len(read) == 1 or _is_widening(producer)


def _is_widening(producer: Operation) -> bool:
    """Whether a producer only converts an element to a wider type."""
    first, *rest = producer.body.operations
    return len(rest) == 1 and first.name in _WIDER


# -- merging ---------------------------------------------------------------------------


def _merged(consumer: Operation, at: int, producer: Operation) -> Operation | None:
    """The consumer with the producer's body in front, if all loops keep extents."""
    outer, inner = linalg.Structured(consumer), linalg.Structured(producer)
    value, map_ = consumer.operands[at], outer.indexing_maps[at]
    operations, arguments = list(consumer.body.operations), consumer.body.arguments
    fresh = [v.renewed() for v in inner.body.arguments[: len(inner.inputs)]]
    values = dict(zip(inner.body.arguments, fresh, strict=False))
    front: list[Operation] = []
    for op in inner.body.operations:
        if op.name == "linalg.index":
            place = _position(op, map_)
            if place is None:
                return None
            front.append(place)
            values[op.result] = place.result
        else:
            front.append(clone(op, values))
    result = front.pop().operands[0]
    gone = [
        n
        for n, v in enumerate(outer.inputs)
        if v is value and outer.indexing_maps[n] == map_
    ]
    kept = [n for n in range(len(outer.inputs)) if n not in gone]
    maps = [
        *(outer.indexing_maps[n] for n in kept),
        *(m.compose(map_) for m in inner.indexing_maps[: len(fresh)]),
        *outer.indexing_maps[len(outer.inputs) :],
    ]
    if not _have_extents(maps, len(outer.iterator_types)):
        return None
    renamed = {arguments[n]: result for n in gone}
    body = [*front, *(substitute_values(op, renamed) for op in operations)]
    made = linalg.generic(
        [*(consumer.operands[n] for n in kept), *inner.inputs],
        outer.outputs,
        maps,
        outer.iterator_types,
        [
            *(arguments[n] for n in kept),
            *fresh,
            *arguments[len(outer.inputs) :],
        ],
        body,
        location=consumer.location,
    )
    return made.with_(results=consumer.results)


def _through(
    consumer: Operation, at: int, producer: Operation, views: Sequence[Operation]
) -> list[Operation] | None:
    """`_merged` through reshapes that join dimensions: memory, operation, reshapes."""
    shape, ty = _shape(producer.result), consumer.result.type
    position = _joining(shape, _shape(consumer.result))
    outer = linalg.Structured(consumer)
    if position is None or not outer.indexing_maps[at].is_identity:
        return None
    b, element = Builder(consumer.location), element_type(ty)
    memory = b.value("tensor.empty", (), TensorType(shape, element))
    maps = [m.compose(position) for m in outer.indexing_maps]
    maps[at] = maps[-1] = AffineMap.identity(len(shape))
    operands = list(outer.inputs)
    operands[at] = producer.result
    body, arguments = consumer.body.operations, consumer.body.arguments
    if any(op.name == "linalg.index" for op in body):
        return None
    loops = ["parallel"] * len(shape)
    wide = linalg.generic(
        operands, [memory], maps, loops, arguments, body, location=consumer.location
    )
    made = _merged(wide.with_(results=(memory.renewed(),)), at, producer)
    if made is None:
        return None
    operations = [*b.operations, made]
    for view in views:
        given = operations[-1].result
        result = given.renewed(TensorType(_shape(view.result), element))
        operations.append(view.with_(operands=(given,), results=(result,)))
    operations[-1] = operations[-1].with_(results=consumer.results)
    return operations


def _shape(value: Value) -> tuple[int | None, ...]:
    return value.type.shape if isinstance(value.type, TensorType) else ()


def _joining(
    wide: Sequence[int | None], narrow: Sequence[int | None]
) -> AffineMap | None:
    """The place in a shape that joins neighbouring dimensions of another one."""
    results: list[AffineExpr] = []
    at = 0
    for extent in narrow:
        place, size = to_expr(0), 1
        while at < len(wide) and (size != extent or wide[at] == 1):
            place, size = place * (wide[at] or 0) + Dim(at), size * (wide[at] or 0)
            at += 1
        if size != extent:
            return None
        results.append(place)
    return AffineMap(len(wide), 0, tuple(results)) if at == len(wide) else None


def _position(op: Operation, map_: AffineMap) -> Operation | None:
    """A loop position of the producer as a function of the consumer's loops."""
    place = map_.results[op.integer("dim")]
    result = op.result.renewed()
    if isinstance(place, Dim):
        dim = {"dim": IntegerAttr(place.position, I64)}
        return op.with_(results=(result,), attributes=dim)
    if isinstance(place, Const):
        value = {"value": IntegerAttr(place.value, INDEX)}
        return op.with_(name="arith.constant", results=(result,), attributes=value)
    return None


def _have_extents(maps: Sequence[AffineMap], loops: int) -> bool:
    """Whether each loop indexes some operand alone."""
    alone = {r.position for m in maps for r in m.results if isinstance(r, Dim)}
    return len(alone) == loops


def _with_number(consumer: Operation, at: int, constant: Operation) -> Operation | None:
    value, ty = constant.attributes["value"], constant.result.type
    if not isinstance(value, DenseElementsAttr) or not isinstance(ty, TensorType):
        return None
    outer = linalg.Structured(consumer)
    maps = [m for n, m in enumerate(outer.indexing_maps) if n != at]
    (first, *_) = value.values or (None,)
    plain = isinstance(first, int | float)
    if (
        not plain
        or not value.is_splat
        or not _have_extents(maps, len(outer.iterator_types))
    ):
        return None
    result = Value(element_type(ty), "c", constant.location)
    attributes = {"value": number(first, result.type)}
    scalar = constant.with_(results=(result,), attributes=attributes)
    arguments = consumer.body.arguments
    renamed = {arguments[at]: result}
    made = linalg.generic(
        [v for n, v in enumerate(outer.inputs) if n != at],
        outer.outputs,
        maps,
        outer.iterator_types,
        [v for n, v in enumerate(arguments) if n != at],
        [scalar, *(substitute_values(op, renamed) for op in consumer.body.operations)],
        location=consumer.location,
    )
    return made.with_(results=consumer.results)


def _without_repeats(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with one reduction for all that compute the same.

    Equal numbers mean equal values: operations of tensors have no effect, and the
    contents of ``tensor.empty`` are any.  Other repeated operations are fused, not
    stored.
    """
    numbers: dict[object, int] = {}
    numbered: dict[Value, tuple[int, int]] = {}
    first: dict[int, Operation] = {}
    same: dict[Value, Value] = {}
    kept: list[Operation] = []
    for op in operations:
        new = substitute_values(op, same) if same else op
        key = _key(new, numbered) if new.name in _UNREAD else new
        place = numbers.setdefault(key, len(numbers))
        numbered.update((value, (place, n)) for n, value in enumerate(new.results))
        is_sum = _is_structured(new) and not set(
            linalg.Structured(new).iterator_types
        ) <= {"parallel"}
        earlier = first.setdefault(place, new) if is_sum else new
        if earlier is new:
            kept.append(new)
        else:
            same.update(zip(new.results, earlier.results, strict=True))
    return kept


def _key(op: Operation, numbered: Mapping[Value, object]) -> object:
    """The computation of an operation; values inside count in order, others by number.

    A number stands for a whole expression, whose size as a tree is exponential.
    """
    inner = [o for o in op.walk() if o is not op]
    made = [
        *(op.body.arguments if op.regions else ()),
        *(v for o in inner for v in o.results),
    ]
    known = {value: at for at, value in enumerate(made)}
    return tuple(
        (
            o.name,
            frozenset(o.attributes.items()),
            tuple(v.type for v in o.results),
            tuple(known.get(v, numbered.get(v, v)) for v in o.operands),
        )
        for o in (op, *inner)
    )


def _without_unread(operations: Sequence[Operation]) -> list[Operation]:
    """The operations without those whose results are unused."""
    read: set[Value] = set()
    kept: list[Operation] = []
    for op in reversed(operations):
        if op.name in _UNREAD and op.results and not read & set(op.results):
            continue
        read.update(v for inner in op.walk() for v in inner.operands)
        read.update(v for s in op.successors for v in s.operands)
        kept.append(op)
    return kept[::-1]
