"""Hand-written kernels, and launches with NumPy arrays as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpucodegen import ptx

SAMPLES = Path(__file__).parent / "samples"
REGISTERS = """
    .reg .pred %p<10>; .reg .b16 %h<20>; .reg .b32 %r<99>; .reg .b64 %d<60>;
    .reg .f32 %f<40>; .reg .f64 %g<20>;
"""
GLOBAL_ID = """
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1;
"""
"""%r1 is the thread, %r2 the block, %r4 the number of the thread in the grid."""


def entry(parameters: str, body: str, name: str = "k") -> str:
    """A module with one kernel; parameters are types, named k_0, k_1, ..."""
    declared = ", ".join(
        f".param .{kind} {name}_{i}" for i, kind in enumerate(parameters.split())
    )
    head = ".version 8.4\n.target sm_90a\n.address_size 64\n"
    return f"{head}.visible .entry {name}({declared})\n{{{REGISTERS}{body}\n}}\n"


def sample(name: str) -> str:
    """PTX of one of the product's kernels."""
    return (SAMPLES / f"{name}.ptx").read_text(encoding="utf-8")


def launch(
    text: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    *arguments: Any,
    weak_alignment: bool = False,
    **options: Any,
) -> ptx.Run:
    """Launch the only kernel of a text; arrays travel there and back."""
    module = ptx.Module(text, weak_alignment=weak_alignment)
    ((name, kernel),) = module.entries.items()
    memory = ptx.Memory(limit=1 << 24)
    places: dict[int, int] = {}
    packed = bytearray(kernel.parameter_bytes)
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        raw = argument
        if isinstance(argument, np.ndarray):
            if id(argument) not in places:
                places[id(argument)] = memory.allocate(argument.nbytes)
                there = memory.bytes(places[id(argument)], argument.nbytes)
                there[:] = argument.reshape(-1).view(np.uint8)
            raw = np.uint64(places[id(argument)])
        assert raw.nbytes == parameter.size
        packed[parameter.offset : parameter.offset + parameter.size] = raw.tobytes()
    try:
        return module.launch(name, grid, block, bytes(packed), memory, **options)
    finally:
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                there = memory.bytes(places[id(argument)], argument.nbytes)
                argument.reshape(-1).view(np.uint8)[:] = there


def fault(
    text: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    *arguments: Any,
    **options: Any,
) -> ptx.Fault:
    """What ends a launch that must fail."""
    with pytest.raises(ptx.Fault) as caught:
        launch(text, grid, block, *arguments, **options)
    return caught.value


def changed(text: str, *edits: tuple[str, str]) -> str:
    """A text with some words replaced, each of which must be there."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text
