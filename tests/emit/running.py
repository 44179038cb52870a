"""Emitted programs executed through the runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gpucodegen.emit import emit_program
from gpucodegen.parser import parse_module
from gpucodegen.runtime.buffers import Buffer
from gpucodegen.runtime.loader import load_program

SAMPLES = Path(__file__).parent / "samples"
DTYPES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "uint16": "bf16",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "i1",
}


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.mlir").read_text("utf-8")


def loaded(text: str, target: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of kernel-level MLIR, taking arrays and numbers."""
    emitted = emit_program(parse_module(text, "test.mlir"), target)
    program = load_program(emitted, target)
    function = program.functions[emitted.entries[name].python_name]

    def call(*arguments: Any) -> Any:
        return function(program.runtime, *(buffer(a) for a in arguments))

    return call


def buffer(value: Any, kind: str = "") -> Any:
    """An array as the runtime's buffer; numbers stay."""
    if not isinstance(value, np.ndarray):
        return value
    return Buffer.of(value, kind or DTYPES[value.dtype.name])
