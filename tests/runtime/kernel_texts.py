"""Small kernels as the emitter writes them, run on every face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen.runtime.cpu.kernels import compile_cpu
from gpucodegen.runtime.cuda.kernel_launch import CudaKernel
from gpucodegen.runtime.devices import emulated_cupy, emulated_device
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec, Param

FACES = ("cpu", "cuda")
NAMES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint16": "bf16",
}
PLAIN = "int8 int16 int32 int64 float32 float64 boolean".split()


def kernel(
    header: str,
    body: str,
    params: Sequence[Param],
    face: str = "cpu",
    block: tuple[int, int, int] = (1, 1, 1),
    **options: Any,
) -> KernelSpec:
    """The kernel ``k`` with the given header lines and body lines."""
    plain = [*PLAIN, "cuda" if face == "cuda" else "prange"]
    names = ", ".join(p.name for p in params)
    lines = [f"    {line}" for line in body.strip("\n").splitlines()]
    source = "\n".join(
        [
            f"from gpucodegen.intrinsics import {face} as intrinsics",
            f"from gpucodegen.intrinsics.{face} import {', '.join(plain)}",
            header,
            f"def k({names}):",
            *lines,
            "",
        ]
    )
    return KernelSpec("k", source, tuple(params), block, **options)


def loop(*lines: str, end: str = "n", step: int = 1) -> str:
    """Lines for each ``i`` below an end; kernels of CUDA have no ``range``."""
    inner = [f"    {line}" for line in (*lines, f"i = int32(i + {step})")]
    return "\n".join(["i = int32(0)", f"while i < {end}:", *inner])


def params_of(arguments: dict[str, Any]) -> list[Param]:
    """Parameters for arrays and numbers by name."""
    return [
        Param(name, "pointer", NAMES[str(value.dtype)])
        if isinstance(value, np.ndarray)
        else Param(name, "scalar", "index")
        for name, value in arguments.items()
    ]


def run(face: str, header: str, body: str, **arguments: Any) -> None:
    """Run a kernel of one thread on one face."""
    params = params_of(arguments)
    launch(kernel(header, body, params, face), arguments, face)


def launch(
    spec: KernelSpec,
    arguments: dict[str, Any],
    face: str,
    grid: tuple[int, int, int] = (1, 1, 1),
) -> None:
    """Launch a kernel on arrays and numbers."""
    if face == "cpu":
        values = [_address(v) for v in arguments.values()]
        compile_cpu(spec).entry(*values)
        return
    assert spec.block is not None
    pairs = zip(spec.params, arguments.values(), strict=True)
    values = [
        Buffer.of(emulated_cupy.asarray(v), p.dtype) if isinstance(v, np.ndarray) else v
        for p, v in pairs
    ]
    kernel = CudaKernel.on(emulated_device.current(), spec)
    kernel.launch(grid, spec.block, values)
    for given, value in zip(arguments.values(), values, strict=True):
        if isinstance(given, np.ndarray):
            given[...] = value.array.get()


def _address(value: Any) -> Any:
    return value.ctypes.data if isinstance(value, np.ndarray) else value
