"""Kernels of every kind without one of the things that order their threads.

The proof and the emulated device must both tell of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.compiling.targets import cuda_passes
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.nvgpu.copies import pending_groups
from gpucodegen.dialects.shared.dma import PENDING, left_open
from gpucodegen.ir.attributes import IntegerAttr, OpaqueAttr
from gpucodegen.ir.operation import (
    Block,
    Operation,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import I1, I32
from gpucodegen.passes.checks.races import VerifyKernels
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.lower_collectives import LowerCollectives
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.passes.outlining.gpu_launch import thread_index
from tests.mapping.kernel_kinds import (
    BARRIER,
    COMMIT,
    GRID,
    KINDS,
    SHUFFLE,
    STAGE,
    TRANSFER,
    WAIT,
    Kind,
)

# Nothing relates the extents of an array while they are symbols.
pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")

Edit = Callable[[Operation], list[Operation]]
"""What stands in place of an operation."""


def without(op: Operation) -> list[Operation]:
    del op
    return []


def one_more_pending(op: Operation) -> list[Operation]:
    """A wait that leaves one more group open."""
    more = {"numGroups": IntegerAttr(pending_groups(op) + 1, I32)}
    return [op.with_(attributes=more)]


def one_more_transfer(op: Operation) -> list[Operation]:
    """A wait that leaves one more transfer under way."""
    return [op.with_attribute(PENDING, IntegerAttr(left_open(op) + 1))]


def of_each_warp(op: Operation) -> list[Operation]:
    """A barrier of the block becomes one of each warp."""
    scope = {"scope": OpaqueAttr("#gpu.barrier_scope<subgroup>")}
    return [op.with_(attributes=scope)]


def of_some_lanes(op: Operation) -> list[Operation]:
    """A shuffle of the first 13 lanes; the others keep what they have."""
    b, value = Builder(op.location), op.operands[0]
    thread = thread_index(b, "thread_id", "x", "t")

    def shuffled(inner: Builder) -> Any:
        return inner.add(op.name, op.operands, [value.type, _bit(op)], op.attributes)[0]

    few = Index.of(12) - Index.of(thread) % 32
    chosen = b.choose([few], shuffled, lambda _: value)
    return _instead(b, op, chosen)


def without_the_last_lane(op: Operation) -> list[Operation]:
    """A shuffle whose mask does not name lane 31."""
    b, (value, offset, _) = Builder(op.location), op.operands
    kind = {"kind": OpaqueAttr("#nvvm<shfl_kind bfly>")}
    mask, last = b.constant(0x7FFFFFFF, I32), b.constant(31, I32)
    operands = (mask, value, offset, last)
    (chosen,) = b.add("nvvm.shfl.sync", operands, [value.type], kind)
    return _instead(b, op, chosen)


def _bit(op: Operation) -> Any:
    return op.results[1].type


def _instead(b: Builder, op: Operation, value: Any) -> list[Operation]:
    """A number that is not changed, in place of the first result; the other is true."""
    *before, last = b.operations
    renamed = substitute_values(last, {value: op.results[0]})
    exists = Builder(op.location)
    exists.constant(1, I1)
    (valid,) = (o.with_(results=(op.results[1],)) for o in exists.operations)
    return [*before, renamed.with_(results=(op.results[0],)), valid]


EDITS: dict[str, tuple[str, Edit]] = {
    "barrier left out": (BARRIER, without),
    "barrier of each warp": (BARRIER, of_each_warp),
    "barrier of the grid left out": (GRID, without),
    "wait left out": (WAIT, without),
    "wait for one group less": (WAIT, one_more_pending),
    "transfer's wait left out": (TRANSFER, without),
    "transfer's wait for one start less": (TRANSFER, one_more_transfer),
    "shuffle of some lanes": (SHUFFLE, of_some_lanes),
    "shuffle's mask without a lane": (SHUFFLE, without_the_last_lane),
}


def edited(module: Module, name: str, number: int, edit: Edit) -> Module:
    """The module with the nth operation of a name changed."""
    seen: list[Operation] = []

    def rewrite(op: Operation) -> list[Operation] | None:
        if op.name != name:
            return None
        seen.append(op)
        return edit(op) if len(seen) == number + 1 else None

    (root,) = rewrite_bottom_up(module.operation, rewrite)
    assert len(seen) > number
    return Module(root)


def in_one_stage(module: Module, stages: int) -> Module:
    """All stages are the first."""
    first = f"mod {stages}", "* 0"
    text, count = stage_pattern(stages).subn(
        lambda m: m[0].replace(*first), str(module)
    )
    assert count
    return gcg.parse(text)


def closed_early(module: Module, number: int) -> Module:
    """A group is closed before its copies start, which leaves them out."""
    commits = [op for op in module.walk() if op.name == COMMIT]

    def rewrite(block: Block) -> Block:
        early = [op for op in block.operations if op is commits[number]]
        others = [op for op in block.operations if op is not commits[number]]
        return block.with_operations([*early, *others])

    def moved(op: Operation) -> list[Operation]:
        return [op.with_blocks(rewrite)]

    (root,) = rewrite_bottom_up(module.operation, moved)
    return Module(root)


def stage_pattern(stages: int) -> re.Pattern[str]:
    """The number of a stage by the number of a block of terms."""
    there = rf"(?:%block|\(%block [+-] \d\)) mod {stages}\b"
    in_map = rf"(?:d0|\(d0 [+-] \d\)) mod {stages}"
    return re.compile(rf"{there}|(?<=-> \(){in_map}(?=\)>\(%block\))")


def edits_of(kind: Kind) -> Iterator[tuple[str, int]]:
    """Each edit with the number of the operation that it changes."""
    for what, (name, _) in EDITS.items():
        for number in range(kind.counts.get(name, 0)):
            yield what, number
    yield from (("group closed early", n) for n in range(kind.counts.get(COMMIT, 0)))
    if STAGE in kind.counts:
        yield "one stage", 0


def cases() -> Iterator[Any]:
    for name, kind in KINDS.items():
        for what, number in edits_of(kind):
            yield pytest.param(name, what, number, id=f"{name}: {what} {number}")


def compiled_as(
    kind: Kind, monkeypatch: pytest.MonkeyPatch, change: Callable[[Module], Module]
) -> Callable[..., Any]:
    """The function, whose kernels are changed after their proof."""
    whole = LowerCollectives.apply
    monkeypatch.setattr(LowerCollectives, "looks_for", frozenset())  # it always runs
    monkeypatch.setattr(
        LowerCollectives, "apply", lambda self, module: change(whole(self, module))
    )
    if kind.mapping:
        mapper = partial(MapGpu, **kind.mapping)
        monkeypatch.setattr(cuda_passes, "MapGpu", mapper)
    return kind.compiled()


@pytest.fixture(autouse=True)
def nothing_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))


@pytest.mark.sampled(300)
@pytest.mark.parametrize(("name", "what", "number"), [*cases()])
@pytest.mark.drawn(60)
def test_nothing_can_be_left_out(
    name: str, what: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, proofs = KINDS[name], list[errors.CompileError | None]()

    def change(module: Module) -> Module:
        if what == "one stage":
            module = in_one_stage(module, kind.counts[STAGE])
        elif what == "group closed early":
            module = closed_early(module, number)
        else:
            module = edited(module, EDITS[what][0], number, EDITS[what][1])
        proofs.append(told(module))
        return module

    arguments = kind.arguments()
    call = compiled_as(kind, monkeypatch, change)
    with pytest.raises(errors.LaunchError):
        call(*arguments)
    assert proofs[0] is not None


def told(module: Module) -> errors.CompileError | None:
    """What the proof of the kernels says."""
    try:
        VerifyKernels().apply(module)
    except errors.CompileError as problem:
        return problem
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.drawn(12)
def test_the_table_counts_all_that_orders_threads(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, modules = KINDS[name], list[Module]()

    def seen(module: Module) -> Module:
        modules.append(module)
        return module

    compiled_as(kind, monkeypatch, seen)(*kind.arguments())
    (module,) = modules
    names = {BARRIER, GRID, SHUFFLE, COMMIT, WAIT, TRANSFER}
    found = Counter(op.name for op in module.walk() if op.name in names)
    assert found == {key: n for key, n in kind.counts.items() if key in names}
    stages = kind.counts.get(STAGE, 2)
    found_one = stage_pattern(stages).search(str(module)) is not None
    assert (STAGE in kind.counts) == found_one
    assert told(module) is None
