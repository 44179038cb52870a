"""Exports kernels as files: PTX, cubin, or objects for C, with a JSON description.

The description lists each kernel's parameters and the launches that a call with the
given arguments makes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpucodegen.calls.function import Function
from gpucodegen.compiling.executable import Executable
from gpucodegen.runtime.cuda.kernel_launch import ArgumentLayout
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec

OBJECT = "o"


def text_of(spec: KernelSpec) -> str:
    """A kernel as PTX, which its architecture and later ones load.

    Kernels with architecture-specific features load on that architecture only.
    """
    from gpucodegen.runtime.cuda.compilation import compile_ptx

    return compile_ptx(spec)


def write(
    folder: Path, name: str, function: Function, arguments: Sequence[Any], form: str
) -> None:
    """Write ``name.json``, and each kernel as ``ptx``, ``cubin`` or object ``o``.

    Objects come with a C header. The launches are those of a call with these arguments;
    objects are executed for that, GPU kernels are not. Raises NotRecordable if the
    launches depend on results of GPU kernels, NotExportable.
    """
    key = function.key_for(tuple(arguments))
    executable = function.executable(*key, function.options.arch)
    folder.mkdir(parents=True, exist_ok=True)
    described: list[dict[str, object]] = []
    declared: list[str] = []
    for spec in executable.kernels:
        file = f"{spec.name}.{form}"
        (folder / file).write_bytes(_code(spec, form, declared))
        described.append({"file": file, **_kernel(spec)})
    if form == OBJECT:
        (folder / f"{name}.h").write_text(_header(name, declared), "utf-8")
    launches = _launches(executable, function, arguments)
    found = {
        "function": name,
        "signature": str(function.signature),
        "architecture": _architecture(form, executable.kernels),
        "kernels": described,
        "launches": launches,
    }
    text = json.dumps(found, indent=2)
    (folder / f"{name}.json").write_text(f"{text}\n", "utf-8")


def _architecture(form: str, kernels: Sequence[KernelSpec]) -> str:
    """The architecture of the files, in compilers' notation."""
    if form != OBJECT:
        from gpucodegen.runtime.cuda.compilation import architecture_of

        return max(map(architecture_of, kernels), key=len, default="")
    from gpucodegen.runtime.processor import cpu

    return cpu().name


def _header(name: str, declared: Sequence[str]) -> str:
    """The declarations, for C and for C++."""
    guard = f"GPUCODEGEN_{name.upper()}_H"
    lines = (
        f"/* Kernels of {name}; {name}.json says how they are called.  0: success. */",
        f"#ifndef {guard}\n#define {guard}",
        "#include <stdbool.h>\n#include <stdint.h>",
        '#ifdef __cplusplus\nextern "C" {\n#endif',
        *declared,
        "#ifdef __cplusplus\n}\n#endif\n#endif\n",
    )
    return "\n".join(lines)


def _code(spec: KernelSpec, form: str, declared: list[str]) -> bytes:
    if form == OBJECT:
        from gpucodegen.runtime.cpu import object_file

        made = object_file.compiled(spec)
        declared.append(made.declaration)
        return made.code
    if form == "ptx":
        return text_of(spec).encode()
    from gpucodegen.runtime.cuda.compilation import compile_cubin

    return compile_cubin(spec).code


def _kernel(spec: KernelSpec) -> dict[str, object]:
    """Launch description of a kernel; ``offset`` is in bytes of the parameter block."""
    shared = spec.shared_bytes
    offsets = iter(ArgumentLayout.of(spec).offsets)
    parameters: list[dict[str, object]] = []
    for param in spec.params:
        parts = 2 if param.kind != "pointer" and "complex" in param.dtype else 1
        places = [next(offsets) for _ in range(parts)]
        parameters.append(
            {
                "name": param.name,
                "kind": param.kind,
                "type": "i32" if _is_count(param.kind, param.dtype) else param.dtype,
                "offset": places[0],
                "written": param.kind == "pointer" and param.writable,
            }
        )
    return {
        "entry": spec.name,
        "block": spec.block,
        "static_shared_bytes": 0 if spec.dynamic_shared else shared,
        "dynamic_shared_bytes": shared if spec.dynamic_shared else 0,
        "cooperative": spec.cooperative,
        "parameters": parameters,
    }


def _is_count(kind: str, dtype: str) -> bool:
    return kind != "pointer" and dtype == "index"


class _Noting:
    """A runtime that records the launches of a program."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self.noted: list[tuple[Any, ...]] = []

    def launch(
        self, name: str, grid: Any, block: Any, args: Sequence[Any], shared: int = 0
    ) -> None:
        """Record a launch; recorded operations do not run."""
        self.noted.append((name, grid, block, args, shared))
        self._runtime.launch(name, grid, block, args, shared)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


def _launches(
    executable: Executable, function: Function, arguments: Sequence[Any]
) -> list[dict[str, object]]:
    values = function.signature.convert(arguments)
    runtime = executable.runtime.for_call(values)
    artifact = executable.artifact
    to_device, _ = runtime.transfers(values, artifact.written, artifact.overwritten)
    there = to_device()
    is_here = runtime.device is None
    noting = _Noting(runtime if is_here else runtime.recording()[0])
    executable.host(noting, *there)
    names = {
        value.pointer: parameter.name
        for value, parameter in zip(there, function.signature.parameters, strict=True)
        if isinstance(value, Buffer)
    }
    dynamic = {
        spec.name: spec.shared_bytes if spec.dynamic_shared else 0
        for spec in executable.kernels
    }
    return [
        {
            "kernel": kernel,
            "grid": [int(n) for n in grid or ()],
            "block": [int(n) for n in block or ()],
            "shared_bytes": dynamic[kernel] + shared,
            "arguments": [_argument(one, names) for one in given],
        }
        for kernel, grid, block, given, shared in noting.noted
    ]


def _argument(value: Any, names: dict[int, str]) -> object:
    """The name of an argument, a number, or memory that the function allocates."""
    if not isinstance(value, Buffer):
        return value if isinstance(value, int | float) else str(value)
    if value.pointer in names:
        return names[value.pointer]
    start, end = value.byte_range
    return {"bytes": end - start, "inside_of": _holder(value, names)}


def _holder(value: Buffer, names: dict[int, str]) -> str | None:
    """The argument that a view points into; None for the function's own memory."""
    return names.get(value.base)
