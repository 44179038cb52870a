"""Emitted programs executed through the runtime."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gpucodegen.compiling.targets import find
from gpucodegen.dialects.builtin import Module
from gpucodegen.emit import CUDA, emit_program
from gpucodegen.parser import parse_module
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.loader import load_program

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


def loaded(source: str | Module, target: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of kernel-level MLIR, taking arrays and numbers."""
    module = parse_module(source, "test.mlir") if isinstance(source, str) else source
    emitted = emit_program(module, find(target).emission())
    program = load_program(emitted, find(target).engine())
    entry = emitted.entries[name]
    function = program.functions[entry.python_name]

    def call(*arguments: Any) -> Any:
        values = [buffer(a) for a in arguments]
        runtime = program.runtime.for_call(values)
        to_device, from_device = runtime.transfers(values, entry.written)
        result = function(runtime, *to_device())
        from_device()
        return result

    return call


def buffer(value: Any, kind: str = "") -> Any:
    """An array as the runtime's buffer; numbers stay."""
    if not hasattr(value, "dtype") or isinstance(value, np.generic):
        return value
    return Buffer.of(value, kind or DTYPES[value.dtype.name])


def one_kernel(arguments: str, body: str, target: str) -> str:
    """A function ``f`` that runs ``body`` as a kernel of one thread."""
    named = [part.split(": ", 1) for part in re.split(r", (?=%)", arguments)]
    names = ", ".join(name for name, _ in named)
    types = ", ".join(ty for _, ty in named)
    passed = ", ".join(f"{name} : {ty}" for name, ty in named)
    if target == "cpu":
        kernel = f"""func.func private @k({arguments})
            attributes {{gcg.kernel = "cpu"}} {{
          {body}
          return
        }}"""
        launch = f"call @k({names}) : ({types}) -> ()"
    else:
        kernel = f"""gpu.module @m {{ gpu.func @k({arguments}) kernel {{
          {body}
          gpu.return
        }} }}"""
        one = "(%one, %one, %one)"
        launch = f"""%one = arith.constant 1 : index
        gpu.launch_func @m::@k blocks in {one} threads in {one} args({passed})"""
    return f"{kernel}\nfunc.func @f({arguments}) {{\n{launch}\nreturn\n}}"


def ptx(text: str) -> list[str]:
    """The PTX of every kernel of a module, compiled without a GPU."""
    from gpucodegen.runtime.cuda.compilation import compile_ptx
    from gpucodegen.runtime.host.loader import kernel_spec

    program = emit_program(parse_module(text, "test.mlir"), CUDA)
    return [compile_ptx(kernel_spec(kernel)) for kernel in program.kernels]
