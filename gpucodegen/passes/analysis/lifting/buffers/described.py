"""Which array of a kernel each of its tensor maps describes.

A host makes a map of a buffer and launches a kernel with both.  Where all launches of a
kernel agree, the map's parameter describes the buffer's: one array, seen in two ways.
Maps of a buffer that the kernel is not given describe one array, too; not so where the
buffer is a view, or the kernel is given a view of it.  What a view shows cells of is
known all the same: enough to tell that two maps have no memory in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gpu import LaunchFunc
from gpucodegen.dialects.nvgpu.types import is_tensor_map
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.buffers.aliases import Aliases

CREATE = "nvgpu.tma.create.descriptor"


@dataclass(frozen=True, slots=True)
class Described:
    """What the parameters of kernels that are tensor maps describe.

    ``arrays``: the buffer of each, a parameter or the host's, where it is known to be
    one array.  ``sources``: memrefs of the host that each is made of, views or not, of
    all launches; none of a map that the host was given.
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
    """All pairs of parameters, of kernels whose names are their own."""
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
    """All that was found; nothing if some of it is not known."""
    known = frozenset(value for value in found if value is not None)
    return frozenset() if None in found else known


def _maps(
    launch: LaunchFunc, kernel: Operation, made: Mapping[Value, Operation]
) -> Iterable[tuple[Value, Value | None, Value | None]]:
    """The maps among a kernel's parameters, what they are made of, and the buffers."""
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
    """What a map is made of: a parameter, a buffer of the host, or not known."""
    while source in made and made[source].name == "memref.cast":
        source = made[source].operands[0]
    if source in given:
        return given[source]
    is_whole = source not in made or made[source].name in ALLOCATIONS
    is_seen = any(_base(value, made) is source for value in given)
    return source if is_whole and not is_seen else None


def _base(value: Value, made: Mapping[Value, Operation]) -> Value:
    """The buffer that views begin with."""
    while value in made and made[value].dialect == "memref" and made[value].operands:
        value = made[value].operands[0]
    return value
