"""Threads that walk a program together: a whole block, or each of its warps."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects.shared.combiners import GPU_KINDS, Combiner
from gpucodegen.ir.attributes import Attribute, OpaqueAttr
from gpucodegen.ir.operation import Region, Value
from gpucodegen.ir.types import FloatType, IntegerType, Type
from gpucodegen.passes.framework.builder import Builder

WARP = 32


@dataclass(frozen=True, slots=True)
class Team:
    """``size`` threads, of which this one is the ``member``-th.

    ``is_warp``: it is one of several warps, else the whole block.
    """

    member: Value
    size: int
    is_warp: bool = False

    def meet(self, b: Builder) -> None:
        """A barrier of the team."""
        scope = {"scope": OpaqueAttr("#gpu.barrier_scope<subgroup>")}
        b.add("gpu.barrier", (), (), scope if self.is_warp else None)

    def combined(self, b: Builder, value: Value, kind: Combiner) -> Value:
        """What the values of all members combine to, known to each of them."""
        attributes: dict[str, Attribute] = {
            "op": OpaqueAttr(f"#gpu.all_reduce_op<{kind.kind}>")
        }
        name = "gpu.subgroup_reduce" if self.is_warp else "gpu.all_reduce"
        regions = () if self.is_warp else (Region(),)
        (total,) = b.add(
            name, (value,), [value.type], attributes, regions, hint=value.name
        )
        return total


def combines(kind: Combiner, ty: Type) -> bool:
    """Whether teams can combine values of a type in this way."""
    return kind.kind in GPU_KINDS and isinstance(ty, FloatType | IntegerType)
