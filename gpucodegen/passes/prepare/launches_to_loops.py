"""Host GPU operations: memory operations become memref, CPU launches loops.

``gpu.alloc``, ``gpu.memcpy`` and others become memref operations without tokens;
textual order satisfies every order that tokens require.

For a CPU target, the blocks and threads of a launch become parallel loops, or
sequential ones if threads print.  Kernels with barriers or shared memory are refused:
they would have to be split at each barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import gpu
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.gpu.collectives import COLLECTIVES
from gpucodegen.dialects.gpu.syntax import TOKEN
from gpucodegen.dialects.shared.memory import is_shared
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Value,
    operand_segments,
    rewrite_bottom_up,
    segment_counts,
    segment_sizes,
    substitute_values,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import definitions, in_functions
from gpucodegen.passes.prepare.inline import with_roles
from gpucodegen.records import dataclass

_LAUNCHES = frozenset({"gpu.launch", "gpu.launch_func"})


_PRINTING = frozenset({"gpu.printf", "vector.print"})


def _prints(op: Operation) -> bool:
    return any(inner.name in _PRINTING for inner in op.walk())


def _refused(op: Operation, reason: str) -> errors.Error:
    """The error for a launch that prints and whose threads cannot run in sequence."""
    inner = next(inner for inner in op.walk() if inner.name in _PRINTING)
    return errors.UnsupportedOperation(
        inner.location,
        operation=f"{inner.name} in a kernel of which {reason}",
        target="cuda",
        advice="Store what is to be shown in a memref, and print it after the launch",
    )


def _reason(op: Operation) -> str:
    """Why a launch cannot become loops, or ""."""
    if op.name != "gpu.launch":
        return "its kernel is not in the text"
    if len(op.regions[0].blocks) > 1:
        return "its kernel has branches between blocks of operations"
    for inner in op.walk():
        if inner.name in COLLECTIVES:
            return f"its threads wait for one another at {inner.name}"
        spaces = (getattr(v.type, "memory_space", None) for v in inner.results)
        if any(map(is_shared, spaces)):
            return "its threads share memory"
    return ""


def _constant(op: Operation | None) -> int | None:
    value = None if op is None else op.attributes.get("value")
    return value.value if isinstance(value, IntegerAttr) else None


def _loops(op: Operation, constants: Sequence[int | None]) -> list[Operation]:
    """One loop per size that is not 1."""
    launch, b = gpu.Launch(op), Builder(op.location)
    pairs = list(zip(launch.arguments[:6], launch.sizes, constants, strict=True))
    wide = [(value, size) for value, size, constant in pairs if constant != 1]
    values: dict[Value, Value] = {}
    for value, _, constant in pairs:
        if constant == 1:
            values[value] = b.index(0)

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        values.update(zip((value for value, _ in wide), ivs, strict=True))
        inner.operations += [
            substitute_values(o, values) for o in op.body.operations[:-1]
        ]

    if not _prints(op):
        b.parallel([size for _, size in wide] or [1], body, [v.name for v, _ in wide])
        return b.operations

    def nest(inner: Builder, ivs: Sequence[Value]) -> None:
        """The first of blocks and threads vary fastest, as they do on a device."""
        if len(ivs) == len(wide):
            body(inner, ivs[::-1])
            return
        value, size = wide[-1 - len(ivs)]
        inner.loop(0, size, lambda i, iv: nest(i, [*ivs, iv]), hint=value.name)

    # Blocks are outside of threads.
    order = [pair for pair in wide if pair[0] in launch.arguments[3:6]]
    wide = order + [pair for pair in wide if pair not in order]
    nest(b, [])
    return b.operations


def _rewritten(op: Operation) -> list[Operation] | None:
    rewrite = _REWRITES.get(op.name)
    return None if rewrite is None else rewrite(op)


def _allocated(op: Operation) -> list[Operation]:
    _, sizes, symbols = operand_segments(op, 3)
    return [
        op.with_(
            name="memref.alloc",
            operands=(*sizes, *symbols),
            results=op.results[:1],
            attributes={OPERAND_SEGMENTS: segment_counts(len(sizes), len(symbols))},
        )
    ]


def _freed(op: Operation) -> list[Operation]:
    return [_plain(op, "memref.dealloc", op.operands[-1:])]


def _copied(op: Operation) -> list[Operation]:
    target, source = op.operands[-2:]
    return [_plain(op, "memref.copy", (source, target))]


def _filled(op: Operation) -> list[Operation]:
    """``linalg.fill``, which any shape has."""
    memory, value = op.operands[-2:]
    sizes = {OPERAND_SEGMENTS: segment_sizes([(value,), (memory,)])}
    return [_plain(op, "linalg.fill", (value, memory)).with_(attributes=sizes)]


def _plain(op: Operation, name: str, operands: tuple[Value, ...]) -> Operation:
    return op.with_(name=name, operands=operands, results=(), attributes={})


def _gone(_: Operation) -> list[Operation]:
    return []


def _in_order(op: Operation) -> list[Operation] | None:
    """A launch without its token and those that it waits for."""
    if not any(v.type == TOKEN for v in (*op.operands, *op.results)):
        return None
    _, *groups = operand_segments(op, 0)
    kept = [(), *groups]
    return [
        op.with_(
            operands=tuple(v for group in kept for v in group),
            results=tuple(v for v in op.results if v.type != TOKEN),
            attributes={**op.attributes, OPERAND_SEGMENTS: segment_sizes(kept)},
        )
    ]


_REWRITES: dict[str, Callable[[Operation], list[Operation] | None]] = {
    "gpu.alloc": _allocated,
    "gpu.dealloc": _freed,
    "gpu.memcpy": _copied,
    "gpu.memset": _filled,
    "gpu.wait": _gone,
    "gpu.host_register": _gone,
    "gpu.host_unregister": _gone,
    "gpu.launch": _in_order,
    "gpu.launch_func": _in_order,
}


@dataclass(frozen=True, slots=True)
class HostGpuToMemref(ModulePass, name="host-gpu-to-memref"):
    """gpu.alloc, gpu.memcpy and their like to operations that run in order."""

    looks_for: ClassVar[frozenset[str]] = frozenset(_REWRITES)

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _rewritten)
        return Module(root)


@dataclass(frozen=True, slots=True)
class LaunchesToLoops(ModulePass, name="launches-to-loops"):
    """``gpu.launch`` to ``affine.parallel`` over its blocks and threads.

    ``printing``: only launches that print, which no kernel does: the host runs their
    threads one after the other, and refuses those with barriers or shared memory.
    """

    looks_for: ClassVar[frozenset[str]] = _LAUNCHES
    printing: bool = False

    def apply(self, module: Module) -> Module:
        """Rewrite every launch, or raise LaunchNeedsGpu."""
        return in_functions(module, self._with_loops)

    def _with_loops(self, function: Operation) -> list[Operation]:
        launches = [op for op in function.walk() if self._concerns(op)]
        if not launches:
            return [function]
        known = definitions(function)
        for op in launches:
            reason = _reason(op)
            if reason and self.printing:
                raise _refused(op, reason)
            if reason:
                raise errors.LaunchNeedsGpu(op.location, reason=reason)

        def rewrite(op: Operation) -> list[Operation] | None:
            if not self._concerns(op):
                return None
            return _loops(op, [_constant(known.get(v)) for v in gpu.Launch(op).sizes])

        (rebuilt,) = rewrite_bottom_up(function, rewrite)
        checked = with_roles(rebuilt)
        if checked is None:
            reason = "its sizes change while the function runs"
            raise errors.LaunchNeedsGpu(launches[0].location, reason=reason)
        return [checked]

    def _concerns(self, op: Operation) -> bool:
        return op.name in _LAUNCHES and (not self.printing or _prints(op))
