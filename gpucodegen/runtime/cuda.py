"""CUDA kernels: compiled without a GPU, kept as cubins on disk, launched by CuPy."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.elements import element
from gpucodegen.runtime import cache, modules
from gpucodegen.runtime.buffers import Buffer
from gpucodegen.runtime.spec import KernelSpec

CUBINS = cache.Store("cuda")
STATIC_SHARED_BYTES = 48 * 1024
MAX_OFFSET = 2**31 - 1
"""Kernels index with 32 bits."""

Target = tuple[int, ...] | tuple[int, int, str]


def compile_ptx(spec: KernelSpec, cc: Target = (9, 0)) -> str:
    """The PTX of a kernel with its own name as entry; needs no GPU.

    ``cc`` is (major, minor) or (9, 0, "a") for an architecture's own features.
    """
    from gpucodegen.intrinsics.cuda_engine import assembly, parameter

    function = getattr(modules.load(spec.source), spec.name)
    types = tuple(parameter(*p) for p in spec.signature)
    threads = math.prod(spec.block) if spec.block else None
    contract = "contract" in spec.fastmath
    ptx, entry = assembly(function, types, cc, threads=threads, contract=contract)
    return ptx.replace(entry, spec.name)


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code for one architecture, with what the assembler said of it."""

    name: str
    code: bytes
    log: str

    @property
    def registers(self) -> int:
        """Registers per thread."""
        return self._count(r"Used (\d+) registers")

    @property
    def spills(self) -> int:
        """Bytes spilled to local memory, stores and loads."""
        stores = self._count(r"(\d+) bytes spill stores")
        return stores + self._count(r"(\d+) bytes spill loads")

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a block."""
        return self._count(r"(\d+) bytes smem")

    def _count(self, pattern: str) -> int:
        found = re.search(pattern, self.log)
        return int(found.group(1)) if found else 0


def compile_cubin(spec: KernelSpec, cc: Target = (9, 0)) -> Cubin:
    """The machine code of a kernel, or what the disk cache has of it; needs no GPU."""
    key = _key(spec, cc)
    stored = CUBINS.get(key)
    if stored is not None:
        log, _, code = stored.partition(b"\0")
        return Cubin(spec.name, code, log.decode())
    code, log = _link(compile_ptx(spec, cc), cc)
    CUBINS.put(key, log.encode() + b"\0" + code)
    return Cubin(spec.name, code, log)


def architecture(cc: Target) -> str:
    """The assembler's name of an architecture.

    >>> architecture((9, 0, "a"))
    'sm_90a'
    """
    return "sm_" + "".join(map(str, cc))


def _link(ptx: str, cc: Target) -> tuple[bytes, str]:
    from cuda.core import Linker, LinkerOptions, ObjectCode

    options = LinkerOptions(arch=architecture(cc), ptxas_options=["-v"])
    linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
    code = linker.link("cubin").code
    return bytes(code), linker.get_info_log() or ""


def _key(spec: KernelSpec, cc: Target) -> str:
    from gpucodegen.intrinsics.cuda_engine import engine_version

    return cache.digest(
        spec.source,
        spec.name,
        spec.signature,
        spec.block,
        spec.fastmath,
        architecture(cc),
        engine_version(),
        cache.package_digest(),
    )


@dataclass(slots=True)
class CudaKernel:
    """A kernel of one program; loaded once per device."""

    spec: KernelSpec
    functions: dict[int, Any] = field(default_factory=dict)

    def launch(
        self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]
    ) -> None:
        """Launch on CuPy's current stream; an empty grid launches nothing."""
        import cupy

        if not all(grid):
            return
        device = cupy.cuda.Device().id
        function = self.functions.get(device) or self._load(device)
        pairs = zip(self.spec.params, args, strict=True)
        packed = [number for p, a in pairs for number in pack(p, a)]
        try:
            function(tuple(grid), tuple(block), packed)
        except cupy.cuda.driver.CUDADriverError as problem:
            raise errors.LaunchFailed(
                kernel=self.spec.name,
                reason=str(problem),
                hint="Use smaller blocks or tiles",
            ) from problem

    def _load(self, device: int) -> Any:
        import cupy

        cubin = compile_cubin(self.spec, compute_capability(device))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{self.spec.name}.cubin"
            path.write_bytes(cubin.code)
            function = cupy.RawModule(path=str(path)).get_function(self.spec.name)
        self.functions[device] = function
        return function


def compute_capability(device: int) -> tuple[int, int]:
    """(major, minor) of a device."""
    import cupy

    digits = cupy.cuda.Device(device).compute_capability
    return int(digits[:-1]), int(digits[-1])


def pack(param: Any, value: Any) -> tuple[Any, ...]:
    """A kernel argument with the exact width of its parameter, or of its two parts."""
    if param.kind == "pointer":
        assert isinstance(value, Buffer)
        start, end = value.byte_range
        if (end - start) // max(1, value.array.itemsize) > MAX_OFFSET:
            raise errors.ResourceLimit(
                what=f"extent of {param.name}", needed=end - start, limit=MAX_OFFSET
            )
        return (np.uint64(value.pointer),)
    if param.dtype == "index":
        return (np.int32(value),)
    carrier = element(param.dtype).carrier.replace("boolean", "bool")
    number = np.dtype(carrier).type(value)
    is_complex = isinstance(number, np.complexfloating)
    return (number.real, number.imag) if is_complex else (number,)
