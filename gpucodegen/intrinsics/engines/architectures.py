"""Code that depends on the device that it is compiled for.

One text of LLVM's serves all devices.  Its backend knows what ``__nvvm_reflect`` gives
before anything else, so that of two ways one is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import I8, I32, Lowering

NAME = b"__CUDA_ARCH\0"
"""What the backend is asked for: 10 times the number of an architecture."""


def since(
    low: Lowering,
    architecture: int,
    then: Callable[[], Sequence[Any]],
    before: Callable[[], Sequence[Any]],
) -> list[Any]:
    """Values made in one way from an architecture on, as 90, in another before it."""
    builder = low.builder
    found = low.call("__nvvm_reflect", I32, [_name(low)])
    limit = ir.Constant(I32, 10 * architecture)
    ways: list[tuple[Sequence[Any], Any]] = []
    with builder.if_else(builder.icmp_unsigned(">=", found, limit)) as blocks:
        for block, make in zip(blocks, (then, before), strict=True):
            with block:
                ways.append((make(), builder.block))
    made: list[Any] = []
    for values in zip(*(values for values, _ in ways), strict=True):
        phi = builder.phi(values[0].type)
        for value, (_, block) in zip(values, ways, strict=True):
            phi.add_incoming(value, block)
        made.append(phi)
    return made


def _name(low: Lowering) -> Any:
    """The address of the name."""
    module, label = low.builder.module, "cuda_arch"
    text = module.globals.get(label)
    if text is None:
        ty = ir.ArrayType(I8, len(NAME))
        text = ir.GlobalVariable(module, ty, label)
        text.initializer = ir.Constant(ty, bytearray(NAME))
        text.linkage, text.global_constant = "private", True
    return low.builder.bitcast(text, ir.PointerType(I8))
