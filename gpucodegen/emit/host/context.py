"""The state of emitting a host function, and the tuples its calls take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.emit.host.launch import PrintedHost
from gpucodegen.emit.kernel.context import Emitter
from gpucodegen.emit.kernel.kernel import EmittedKernel
from gpucodegen.emit.text.fragments import Text
from gpucodegen.ir.affine.expressions import AffineExpr
from gpucodegen.ir.operation import Value

Offered = Callable[[str], bool]
"""Whether the runtime offers an operation or function of a name."""


def nothing_offered(name: str) -> bool:
    """A runtime that offers nothing."""
    del name
    return False


@dataclass(slots=True)
class HostEmitter(Emitter):
    """An emitter that also knows what a host function can call."""

    kernels: Mapping[tuple[str, ...], EmittedKernel] = field(
        default_factory=dict[tuple[str, ...], EmittedKernel]
    )
    functions: Mapping[str, str] = field(default_factory=dict[str, str])
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    offered: Offered = nothing_offered
    launched: list[EmittedKernel] = field(default_factory=list[EmittedKernel])
    own_tags: set[Value] = field(default_factory=set[Value])
    printed: PrintedHost = field(default_factory=PrintedHost)


def tuple_text(texts: Sequence[Text]) -> Text:
    """A Python tuple."""
    inner = ", ".join(text.code for text in texts)
    return Text(f"({inner},)" if len(texts) == 1 else f"({inner})")


def shape_text(e: Emitter, sizes: Sequence[AffineExpr]) -> Text:
    """A Python tuple of index expressions."""
    return tuple_text([e.affine(size) for size in sizes])
