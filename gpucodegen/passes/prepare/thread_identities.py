"""Thread identities such as ``gpu.lane_id`` as arithmetic on positions and sizes.

The threads of a block are numbered along x, then y, then z; 32 consecutive ones are a
warp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpucodegen.dialects import gpu
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP


@dataclass(frozen=True, slots=True)
class ThreadPlace:
    """A thread of a launch: ``positions`` and ``sizes`` of blocks, then of threads.

    ``numbers`` are the known sizes.
    """

    b: Builder
    positions: Sequence[Value]
    sizes: Sequence[Value]
    numbers: Mapping[Value, int]

    def value(self, op: Operation) -> Value:
        """The result of an operation of `IDENTITIES`."""
        name, _, dimension = op.name.removeprefix(_REGISTER).partition(".")
        if not op.name.startswith(_REGISTER):
            return _OPERATIONS[op.name](self, gpu.dimension_of(op))
        value = _REGISTERS[name](self, dimension)
        if op.result.type == INDEX:
            return value
        return self.b.value("arith.index_cast", (value,), op.result.type)

    def number(self) -> Value:
        """The linear index of the thread in its block; extents of 1 are skipped."""
        total: Value | None = None
        for position, size in reversed(self._threads()):
            if self.numbers.get(size) == 1:
                continue
            if total is not None:
                total = self.binary("addi", self.binary("muli", total, size), position)
            total = position if total is None else total
        return self.b.index(0) if total is None else total

    def count(self) -> Value:
        x, y, z = self.sizes[3:]
        return self.binary("muli", self.binary("muli", x, y), z)

    def binary(self, name: str, left: Value, right: Value | int) -> Value:
        operands = (left, self.b.index(right))
        return self.b.value(f"arith.{name}", operands, INDEX)

    def _threads(self) -> list[tuple[Value, Value]]:
        return list(zip(self.positions[3:], self.sizes[3:], strict=True))

    def warp(self) -> Value:
        return self.binary("divui", self.number(), WARP)

    def lane(self) -> Value:
        return self.binary("remui", self.number(), WARP)

    def warps(self) -> Value:
        return self.binary("divui", self.binary("addi", self.count(), WARP - 1), WARP)

    def global_id(self, dimension: str) -> Value:
        """The index of the thread along a dimension of the whole grid."""
        at = "xyz".index(dimension)
        start = self.binary("muli", self.positions[at], self.sizes[3 + at])
        return self.binary("addi", start, self.positions[3 + at])


def _along(what: str, first: int) -> Callable[[ThreadPlace, str], Value]:
    def value(place: ThreadPlace, dimension: str) -> Value:
        return getattr(place, what)[first + "xyz".index(dimension)]

    return value


_Read = Callable[[ThreadPlace, str], Value]
_REGISTER = "nvvm.read.ptx.sreg."
_REGISTERS: dict[str, _Read] = {
    "ctaid": _along("positions", 0),
    "laneid": lambda place, _: place.lane(),
    "nctaid": _along("sizes", 0),
    "ntid": _along("sizes", 3),
    "nwarpid": lambda place, _: place.warps(),
    "tid": _along("positions", 3),
    "warpid": lambda place, _: place.warp(),
    "warpsize": lambda place, _: place.b.index(WARP),
}
_OPERATIONS: dict[str, _Read] = {
    "gpu.block_dim": _REGISTERS["ntid"],
    "gpu.block_id": _REGISTERS["ctaid"],
    "gpu.global_id": ThreadPlace.global_id,
    "gpu.grid_dim": _REGISTERS["nctaid"],
    "gpu.lane_id": _REGISTERS["laneid"],
    "gpu.num_subgroups": _REGISTERS["nwarpid"],
    "gpu.subgroup_id": _REGISTERS["warpid"],
    "gpu.subgroup_size": _REGISTERS["warpsize"],
    "gpu.thread_id": _REGISTERS["tid"],
}


def is_identity(op: Operation) -> bool:
    """Whether an operation tells where a thread is, or how many there are."""
    return op.name in _OPERATIONS or op.name.startswith(_REGISTER)
