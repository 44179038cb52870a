"""Alias and escape analysis of memrefs.

`Aliases` is the only place that decides whether two memrefs may overlap.  It traces
each memref to the buffers it may show (through views, selects, call results and
globals) and to the alias groups of arguments (`gpucodegen.dialects.gcg`):

    memory(v) = buffers that v may show, and the groups of these
    a may overlap b  iff  memory(a) and memory(b) have an element in common

`Escapes` finds the local buffers that leave the operation that allocates them: those
passed to a terminator, to a loop that carries them, to an operation that results in a
buffer, or to an unknown operation.  Buffers that are only returned form a class of
their own, because all writes to them are seen.

`described` finds the buffer that each tensor map of a kernel describes.  The host makes
a map of a buffer and launches a kernel with both; where all launches agree, the map's
parameter and the buffer's are one array.  This fails where the buffer is a view or the
kernel gets a view of it; two maps of different memory are told apart all the same.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import product

from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.func import Function, named_function
from gpucodegen.dialects.gcg import alias_groups
from gpucodegen.dialects.gpu import LaunchFunc
from gpucodegen.dialects.nvgpu.types import is_tensor_map
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.lifting.index_values import NAMED, VIEWS
from gpucodegen.records import dataclass

Origins = Mapping[Value, frozenset[Value]]

_CHOOSING = frozenset("affine arith bufferization memref scf".split())
"""Dialects with operations whose result is one of several buffers."""
_KNOWN = VIEWS | ALLOCATIONS | NAMED
"""Operations whose results have known buffers."""
_ENTRIES = frozenset({"func.func", "gpu.func"})
"""Operations whose first block takes buffers of the caller."""


@dataclass(frozen=True, slots=True)
class Aliases:
    """May-alias information: the sources of memrefs, and the groups of arguments.

    ``origins``: for each memref that is neither allocated nor an argument, the memrefs
    that it may show. ``groups``: the group of each argument that is in one.
    """

    origins: Origins = field(default_factory=dict[Value, frozenset[Value]])
    groups: Mapping[Value, Attribute] = field(default_factory=dict[Value, Attribute])

    @staticmethod
    def of(functions: Iterable[Operation], defined: Container[str]) -> Aliases:
        """The aliases in some functions, with the groups that these declare.

        A call of a ``defined`` function may result in any buffer that the caller has,
        or that a call was given. Results of handlers, which run other functions and
        operations of other dialects, are copied to a separate buffer.

        >>> from gpucodegen.ir.attributes import SymbolRefAttr
        >>> from gpucodegen.ir.operation import single_block
        >>> from gpucodegen.ir.types import F32, FunctionType, MemRefType
        >>> one, other, own = (Value(MemRefType((8,), F32), name) for name in "abc")
        >>> callee = {"callee": SymbolRefAttr(("make",))}
        >>> body = [Operation("func.call", (), (v,), callee) for v in (one, other)]
        >>> body += [Operation("my.make", (one,), (own,))]
        >>> loop = Operation("scf.execute_region", regions=(single_block(body),))
        >>> found = Aliases.of([loop], {"make"})
        >>> found.may_overlap(one, other), found.may_overlap(one, own)
        (True, False)
        """
        functions = tuple(functions)
        groups = (item for op in functions for item in groups_in(op).items())
        return Aliases(_origins(functions, defined), dict(groups))

    def may_overlap(self, one: Value, other: Value) -> bool:
        """Whether two memrefs may be the same memory, in part or whole.

        >>> from gpucodegen.ir.types import F32, MemRefType
        >>> base, view, apart = (Value(MemRefType((8,), F32), name) for name in "abc")
        >>> found = Aliases({view: frozenset({base})})
        >>> found.may_overlap(base, view), found.may_overlap(view, apart)
        (True, False)
        """
        return not self.memory(one).isdisjoint(self.memory(other))

    def memory(self, value: Value) -> frozenset[object]:
        """The buffers whose cells a memref may show, and the groups of these."""
        reached = self.sources(value)
        roots = {v for v in reached if v in self.origins.get(v, {v})}
        groups = {self.groups[v] for v in roots if v in self.groups}
        return frozenset({*roots, *groups})

    def sources(self, value: Value) -> set[Value]:
        """A memref with all the memrefs that it is derived from.

        >>> from gpucodegen.ir.types import F32, MemRefType
        >>> base, view, part = (Value(MemRefType((8,), F32), name) for name in "abc")
        >>> found = Aliases({view: frozenset({base}), part: frozenset({view})})
        >>> sorted(v.name for v in found.sources(part))
        ['a', 'b', 'c']
        """
        reached, open_ = {value}, [value]
        while open_:
            new = self.origins.get(open_.pop(), frozenset()) - reached
            reached |= new
            open_ += new
        return reached

    def joined(self, values: Iterable[Value]) -> list[set[Value]]:
        """For each derived memref, the set of it and its sources."""
        return [self.sources(v) for v in values if v in self.origins]

    @property
    def renamed(self) -> frozenset[Value]:
        """Memrefs whose cells may be accessed under other names."""
        return frozenset({*self.origins, *self.groups}.union(*self.origins.values()))


def groups_in(function: Operation) -> dict[Value, Attribute]:
    """The arguments of a function that are in a group; none for other operations."""
    if function.name not in _ENTRIES or Function(function).is_external:
        return {}
    view = Function(function)
    given = view.arguments[: len(view.type.inputs)]  # then buffers of a kernel's own
    pairs = zip(given, alias_groups(function), strict=True)
    return {value: group for value, group in pairs if group is not None}


def defined_functions(functions: Iterable[Operation]) -> frozenset[str]:
    """Names of the functions that have a body among some."""
    return frozenset(symbol_name(op) for op in functions if op.regions[0].blocks)


def owners(operations: Iterable[Operation]) -> dict[Value, Value]:
    """The single underlying buffer of each view that has one."""
    owners: dict[Value, Value] = {}
    for op in operations:
        if op.name in VIEWS | _METADATA and op.operands and op.results:
            owners[op.results[0]] = owners.get(op.operands[0], op.operands[0])
    return owners


_METADATA = frozenset({"memref.extract_strided_metadata"})
"""Its first result is the buffer itself."""


def choices(roots: Iterable[Operation]) -> Iterator[set[Value]]:
    """For each operation that selects a memref, its operands and results."""
    for root in roots:
        for op in root.walk():
            values = set(_chosen(op))
            if values:
                yield values.union(filter(is_memref, _given(op)))


def _chosen(op: Operation) -> Iterator[Value]:
    """The memref results and block arguments of an operation."""
    if op.dialect in _CHOOSING and op.name not in _KNOWN:
        yield from filter(is_memref, op.results)
    for region in op.regions:
        for block in region.blocks[op.name in _ENTRIES :]:
            yield from filter(is_memref, block.arguments)


def _given(op: Operation) -> Iterator[Value]:
    """The operands of an operation and of its blocks' terminators."""
    if op.name not in _ENTRIES:
        yield from op.operands
    for block in op.blocks:
        for end in block.operations[-1:]:
            yield from end.operands
            yield from (v for target in end.successors for v in target.operands)


def _origins(functions: Iterable[Operation], defined: Container[str]) -> Origins:
    found: dict[Value, frozenset[Value]] = {}
    named: dict[str, Value] = {}
    unknown: list[Value] = []
    shared: set[Value] = set()
    for op in (op for function in functions for op in function.walk()):
        made = list(filter(is_memref, op.results))
        if op.name in NAMED:
            first = named.setdefault(str(op.attributes.get("name")), op.result)
            found[op.result] = frozenset({first})
        elif op.name == "func.func":
            shared.update(_entered(op))
        elif op.name == "func.call" and named_function(op) in defined:
            shared.update(filter(is_memref, op.operands))
            unknown += made
        elif op.name in VIEWS:
            found |= _made_of(made, op.operands)
        found |= _made_of(_chosen(op), _given(op))
    anything = frozenset({*unknown, *named.values(), *shared})
    return {**found, **dict.fromkeys(unknown, anything)}


def _made_of(made: Iterable[Value], parts: Iterable[Value]) -> Origins:
    """The sources of memrefs; a memref without sources is a separate buffer."""
    buffers = frozenset(filter(is_memref, parts))
    return dict.fromkeys(made, buffers) if buffers else {}


def _entered(function: Operation) -> Iterator[Value]:
    for block in function.regions[0].blocks[:1] if function.regions else ():
        yield from filter(is_memref, block.arguments)


CREATE = "nvgpu.tma.create.descriptor"


@dataclass(frozen=True, slots=True)
class Described:
    """The buffers that the tensor-map parameters of kernels describe.

    ``arrays``: the buffer of each map, a parameter or the host's, where it is known to
    be one array.  ``sources``: the host memrefs that each map is made of over all
    launches, views or not; empty for a map that the host was given.
    """

    arrays: Mapping[Value, Value] = field(default_factory=dict[Value, Value])
    sources: Mapping[Value, frozenset[Value]] = field(
        default_factory=dict[Value, frozenset[Value]]
    )

    def are_apart(self, one: Value, other: Value, aliases: Aliases) -> bool:
        """Whether two maps are known to describe memory that does not overlap.

        >>> from gpucodegen.ir.types import F32, MemRefType
        >>> read, written, view, unknown = (
        ...     Value(MemRefType((8,), F32), name) for name in "abvu"
        ... )
        >>> sources = {value: frozenset({value}) for value in (read, written, view)}
        >>> maps, aliases = Described({}, sources), Aliases({view: frozenset({read})})
        >>> [maps.are_apart(view, v, aliases) for v in (written, read, unknown)]
        [True, False, False]
        """
        sides = self.sources.get(one), self.sources.get(other)
        if not all(sides):
            return False
        pairs = product(*(side or () for side in sides))
        return not any(aliases.may_overlap(*pair) for pair in pairs)


def described(operations: Iterable[Operation]) -> Described:
    """The buffer of each tensor map of all kernels; kernel names are unique."""
    kernels: dict[str, list[Operation]] = {}
    launches: list[LaunchFunc] = []
    made: dict[Value, Operation] = {}
    for op in operations:
        made.update(dict.fromkeys(op.results, op))
        if op.name == "gpu.func":
            kernels.setdefault(symbol_name(op), []).append(op)
        elif op.name == "gpu.launch_func":
            launches.append(LaunchFunc(op))
    arrays: dict[Value, set[Value | None]] = {}
    sources: dict[Value, set[Value | None]] = {}
    for launch in launches:
        named = kernels.get(launch.kernel[-1] if launch.kernel else "", [])
        if len(named) == 1:
            for parameter, source, buffer in _maps(launch, named[0], made):
                sources.setdefault(parameter, set()).add(source)
                arrays.setdefault(parameter, set()).add(buffer)
    known = {parameter: _known(each) for parameter, each in sources.items()}
    agreed = {parameter: _known(each) for parameter, each in arrays.items()}
    alike = {p: next(iter(each)) for p, each in agreed.items() if len(each) == 1}
    return Described(alike, known)


def _known(found: Iterable[Value | None]) -> frozenset[Value]:
    """The union of what was found; empty if part of it is unknown."""
    known = frozenset(value for value in found if value is not None)
    return frozenset() if None in found else known


def _maps(
    launch: LaunchFunc, kernel: Operation, made: Mapping[Value, Operation]
) -> Iterable[tuple[Value, Value | None, Value | None]]:
    """The tensor maps among a kernel's parameters, their sources and buffers."""
    given = list(zip(Function(kernel).arguments, launch.arguments, strict=False))
    buffers = {value: parameter for parameter, value in given}
    for parameter, value in given:
        maker = made.get(value)
        if maker is not None and maker.name == CREATE:
            source = maker.operands[0]
            yield parameter, source, _buffer(source, buffers, made)
        elif is_tensor_map(parameter.type):
            yield parameter, None, None


def _buffer(
    source: Value, given: Mapping[Value, Value], made: Mapping[Value, Operation]
) -> Value | None:
    """The parameter or host buffer that a map is made of; None if unknown."""
    while source in made and made[source].name == "memref.cast":
        source = made[source].operands[0]
    if source in given:
        return given[source]
    is_whole = source not in made or made[source].name in ALLOCATIONS
    is_seen = any(_base(value, made) is source for value in given)
    return source if is_whole and not is_seen else None


def _base(value: Value, made: Mapping[Value, Operation]) -> Value:
    """The buffer at the root of a chain of views."""
    while value in made and made[value].dialect == "memref" and made[value].operands:
        value = made[value].operands[0]
    return value


@dataclass(frozen=True, slots=True)
class Escapes:
    """Buffers that leave the analysed code, and those that are only returned."""

    anywhere: frozenset[Value]
    returned: frozenset[Value]

    @staticmethod
    def of(roots: Iterable[Operation]) -> Escapes:
        """Look at every use of a buffer in some operations."""
        operations = [op for root in roots for op in root.walk()]
        owner_of = owners(operations)
        found: dict[bool, set[Value]] = {True: set(), False: set()}
        for op in operations:
            for value in _leaving(op):
                found[op.name == "func.return"].add(owner_of.get(value, value))
        return Escapes(frozenset(found[False]), frozenset(found[True]))

    def is_fresh(self, buffer: Value) -> bool:
        """Whether every write to a buffer allocated here is seen."""
        return buffer not in self.anywhere

    def is_forgotten(self, buffer: Value) -> bool:
        """Whether every read of a buffer allocated here is seen."""
        return buffer not in self.anywhere | self.returned


def _leaving(op: Operation) -> Iterator[Value]:
    """The buffers that an operation may retain or rename."""
    yield from (v for target in op.successors for v in target.operands)
    if op.name not in VIEWS and _may_keep(op):
        yield from op.operands


def _may_keep(op: Operation) -> bool:
    definition = lookup(op.name)
    if definition is None or definition.has(Trait.TERMINATOR) or op.name in _POINTERS:
        return True
    gives_buffer = any(isinstance(v.type, _MEMREFS) for v in op.results)
    return gives_buffer or (bool(op.regions) and op.dialect != "linalg")


_POINTERS = frozenset({"memref.extract_aligned_pointer_as_index"})
_MEMREFS = (MemRefType, UnrankedMemRefType)
