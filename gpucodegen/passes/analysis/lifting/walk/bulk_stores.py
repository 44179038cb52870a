"""Tensor copies from shared memory, the groups that they belong to, and fences.

A tensor map describes a buffer that the kernel is given, too, or one of the host's; its
type says how large a box is.
"""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.dialects.nvgpu.types import fields, held, is_tensor_map
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.passes.analysis.lifting.buffers.described import Described
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.passes.analysis.lifting.values.accesses import READ, WRITE, all_cells
from gpucodegen.tiling.model.scop import Access, Array, GroupWait, Statement

STORE, FENCE = "nvgpu.tma.async.store", "nvvm.fence.proxy"
COMMIT = "nvvm.cp.async.bulk.commit.group"
WAIT = "nvvm.cp.async.bulk.wait_group"


def is_known(op: Operation, maps: Described) -> bool:
    """Whether a store is one of a whole box of a known buffer, without a condition."""
    _, (tensor_map,), corner, predicate = operand_segments(op, 4)
    is_whole = not predicate and len(_box(tensor_map)) == len(corner)
    return is_whole and tensor_map in maps.arrays


def store(op: Operation, env: Environment, maps: Described, name: str) -> Statement:
    """The statement of a store, which belongs to a group of its thread."""
    (source,), (tensor_map,), corner, _ = operand_segments(op, 4)
    array = _array(env, tensor_map, maps.arrays.get(tensor_map), len(corner))
    there = _stored(op, env, array, tensor_map, corner)
    moved = all_cells(env, op, source, READ), there
    return Statement(name, moved, loc=op.location, grouped=True, bulk=True)


def wait(op: Operation) -> GroupWait:
    """A wait for groups of stores."""
    reads = "read" in op.attributes
    return GroupWait(op.integer("group"), op.location, bulk=True, reads=reads)


def _box(tensor_map: Value) -> tuple[int, ...]:
    assert is_tensor_map(tensor_map.type)
    return held(fields(tensor_map.type).get("tensor", "")).shape


def _array(
    env: Environment, tensor_map: Value, buffer: Value | None, rank: int
) -> Array:
    """The array that a map describes, which has as many dimensions."""
    found = None if buffer is None else env.array(env.root(buffer))
    if found is not None and len(found.shape) == rank:
        return found
    if tensor_map not in env.arrays:
        name = env.names.fresh(tensor_map.name, "map")
        env.arrays[tensor_map] = Array(name, (None,) * rank)
    return env.arrays[tensor_map]


def _stored(
    op: Operation,
    env: Environment,
    array: Array,
    tensor_map: Value,
    corner: tuple[Value, ...],
) -> Access:
    """The cells of a box; coordinates are those of the last dimension first."""
    texts, span = list[str | None](), list[tuple[str, str | None]]()
    for coordinate, extent in zip(corner[::-1], _box(tensor_map), strict=True):
        place, text = env.names.fresh("along"), env.text(coordinate)
        texts.append(None if text is None else f"{text} + {place}")
        span.append((place, str(extent)))
    found = Access(array.name, WRITE, tuple(texts), span=tuple(span), must=False)
    return replace(found, loc=op.location)
