"""Blocks while they are rewritten, and what they allocate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer


@dataclass(frozen=True, slots=True)
class Copied:
    """A tensor whose contents were copied for an operation.

    ``reason`` says why, ``notes`` where what forces it stands.
    """

    op: Operation
    tensor: Value
    reason: str
    notes: Sequence[tuple[Location, str]] = ()


@dataclass(slots=True)
class Frame:
    """What a block allocates; where blocks jump, nothing is given back."""

    frees: bool
    buffers: list[Buffer] = field(default_factory=list[Buffer])


@dataclass(frozen=True, slots=True)
class Opened:
    """A block whose end is still to come."""

    block: Block
    frame: Frame
    b: Builder = field(default_factory=Builder)
