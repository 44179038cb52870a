"""Refusals of programs that the target cannot run or the compiler cannot handle.

* `VerifyShuffles`: warp exchanges that, by constant operands, read inactive lanes; the
  emulated device finds the cases that depend on run-time values.
* `CheckSize`: too many operations (compilation takes about 1 ms each), or vectors of
  too many elements (LLVM's time is quadratic in the registers that one vector fills).
* `CheckMemorySpaces`: buffers in memory spaces that the target does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.gpu.collectives import Constants
from gpucodegen.dialects.shared.memory import KNOWN, meaning
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, Type, VectorType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP


@dataclass(frozen=True, slots=True)
class CheckMemorySpaces(ModulePass, name="check-memory-spaces"):
    """Every buffer lies where the target has memory."""

    target: str = "cpu"

    def apply(self, module: Module) -> Module:
        """Raise UnsupportedMemorySpace."""
        for op in module.operation.walk():
            for value in op.defined:
                self._check(value, op)
        return module

    def _check(self, value: Value, op: Operation) -> None:
        space = getattr(value.type, "memory_space", None)
        if isinstance(value.type, MemRefType) and meaning(space) is None:
            raise errors.UnsupportedMemorySpace(
                op.location, space=space, target=self.target, known=", ".join(KNOWN)
            )


VECTOR_BYTES = 1 << 16
"""Largest vector of a kernel: 1024 registers of 64 bytes."""


@dataclass(frozen=True, slots=True)
class CheckSize(ModulePass, name="check-size"):
    """Limits of ``operations``, and of ``vector_bytes`` in a value; 0: no limit.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse("func.func @f() { return }")
    >>> CheckSize(operations=2).apply(module)
    Traceback (most recent call last):
    gpucodegen.errors.compile.TooManyOperations: <string>:1:1: error: 3 operations \
exceed the limit of 2. Put repeated statements into loops, split the function, or \
raise max_operations
    """

    operations: int = 0
    vector_bytes: int = 0

    def apply(self, module: Module) -> Module:
        """Raise TooManyOperations or VectorTooLong."""
        count = 0
        for op in module.operation.walk():
            count += 1
            if self.vector_bytes:
                self._check_vectors(op)
        if 0 < self.operations < count:
            place = next(iter(module.functions.values())).location
            raise errors.TooManyOperations(place, count=count, limit=self.operations)
        return module

    def _check_vectors(self, op: Operation) -> None:
        for value in op.results:
            if _bytes(value.type) > self.vector_bytes:
                raise errors.VectorTooLong(
                    op.location, type=value.type, limit=self.vector_bytes
                )


def _bytes(ty: Type) -> int:
    """Bytes of a vector; 0 for any other value."""
    if not isinstance(ty, VectorType):
        return 0
    return prod(ty.shape) * element_bits(ty.element) // 8


def _fine(_: Operation, __: Constants) -> Iterator[str]:
    yield from ()


def _shuffle(op: Operation, numbers: Constants) -> Iterator[str]:
    """``gpu.shuffle``: the lanes below a width take part."""
    width = numbers(op.operands[2])
    if width is not None and not 1 <= width <= WARP:
        yield f"a width of {width} lanes, where a warp has {WARP}"


def _shfl_sync(op: Operation, numbers: Constants) -> Iterator[str]:
    """``shfl.sync``: the source lane, as PTX defines it, is in the mask."""
    mask, offset, clamp = (numbers(op.operands[at]) for at in (0, 2, 3))
    if mask is None or offset is None or clamp is None:
        return
    kind = str(op.attributes["kind"]).rstrip(">").rpartition(" ")[2]
    for lane in range(WARP):
        other = _source(kind, lane, offset & 31, clamp)
        if mask >> lane & 1 and not mask >> other & 1:
            yield f"lane {lane} reads lane {other}, which the mask leaves out"


def _source(kind: str, lane: int, offset: int, clamp: int) -> int:
    """The lane that a lane reads; itself where that lies outside its segment.

    >>> [_source("bfly", lane, 1, 31) for lane in (0, 1, 6)]
    [1, 0, 7]
    >>> _source("up", 2, 3, 0)
    2
    """
    segment = clamp >> 8 & 31
    low = lane & segment
    high = low | (clamp & 31 & ~segment)
    other = {
        "up": lane - offset,
        "down": lane + offset,
        "bfly": lane ^ offset,
        "idx": low | (offset & ~segment),
    }[kind]
    inside = other >= high if kind == "up" else other <= high
    return other if inside else lane


_Rule = Callable[[Operation, Constants], Iterator[str]]
_RULES: dict[str, _Rule] = {"gpu.shuffle": _shuffle, "nvvm.shfl.sync": _shfl_sync}


@dataclass(frozen=True, slots=True)
class VerifyShuffles(ModulePass, name="verify-shuffles"):
    """Every lane that is read is there and takes part."""

    looks_for: ClassVar[frozenset[str]] = frozenset(_RULES)

    def apply(self, module: Module) -> Module:
        numbers: dict[Value, int] = {}
        for op in module.walk():
            value = op.attributes.get("value")
            if op.name == "arith.constant" and isinstance(value, IntegerAttr):
                numbers[op.result] = value.value
            for problem in _RULES.get(op.name, _fine)(op, numbers.get):
                raise errors.WrongLanes.at(op, problem=problem)
        return module
