"""Which array of a kernel each of its tensor maps describes.

A host makes a map of a buffer and launches a kernel with both.  Where all launches of a
kernel agree, the map's parameter describes the buffer's: one array, seen in two ways.
Maps of a buffer that the kernel is not given describe one array, too; not so where the
buffer is a view, or the kernel is given a view of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gpu import LaunchFunc
from gpucodegen.dialects.shared.allocations import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value

CREATE = "nvgpu.tma.create.descriptor"
Described = Mapping[Value, Value]
"""Buffers by the parameters that are tensor maps of them: parameters, or the host's."""


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
    found: dict[Value, set[Value | None]] = {}
    for launch in launches:
        named = kernels.get(launch.kernel[-1] if launch.kernel else "", [])
        if len(named) == 1:
            for parameter, buffer in _pairs(launch, named[0], made):
                found.setdefault(parameter, set()).add(buffer)
    agreed = {parameter: next(iter(each)) for parameter, each in found.items()}
    return {p: b for p, b in agreed.items() if b is not None and len(found[p]) == 1}


def _pairs(
    launch: LaunchFunc, kernel: Operation, made: Mapping[Value, Operation]
) -> Iterable[tuple[Value, Value | None]]:
    """The maps among a kernel's parameters, and the buffers that they are made of."""
    given = list(zip(Function(kernel).arguments, launch.arguments, strict=False))
    buffers = {value: parameter for parameter, value in given}
    for parameter, value in given:
        maker = made.get(value)
        if maker is not None and maker.name == CREATE:
            yield parameter, _buffer(maker.operands[0], buffers, made)


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
