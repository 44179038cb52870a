"""Memory operations of gpu on the host as those of memref, in the order of the text.

Comes in: ``gpu.alloc``, ``gpu.memcpy``, ... with or without tokens.  Goes out: the
same without tokens.  Every order that tokens allow includes the order of the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.gpu.syntax import TOKEN
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Value,
    operand_segments,
    rewrite_bottom_up,
    segment_counts,
    segment_sizes,
)
from gpucodegen.passes.framework.base import ModulePass


@dataclass(frozen=True, slots=True)
class HostGpuToMemref(ModulePass):
    """gpu.alloc, gpu.memcpy and their like to operations that run in order."""

    name: ClassVar[str] = "host-gpu-to-memref"

    def apply(self, module: Module) -> Module:
        """Rewrite every operation whose tokens, if any, only such operations use."""
        if not any(op.name in _REWRITES for op in module.walk()):
            return module
        (root,) = rewrite_bottom_up(module.operation, _rewritten)
        return Module(root)


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


def _gone(op: Operation) -> list[Operation]:
    del op
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
