"""CUDA compilation without a GPU: kernel source to PTX and cubins, cached on disk.

PTX runs on the emulated device, a cubin is machine code of one architecture with the
log of the assembler.  ``ptxas`` and ``nvdisasm`` come from CUDA's wheels,
``nvidia-cuda-nvcc`` and ``nvidia-cuda-nvdisasm`` (the extra ``report``), or from an
installed toolkit.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gpucodegen import errors
from gpucodegen.debugging.levels import tell
from gpucodegen.debugging.spans import span
from gpucodegen.records import dataclass
from gpucodegen.runtime.host import generated_code
from gpucodegen.runtime.host.spec import KernelSpec
from gpucodegen.runtime.storage.cache import Store, digest, package_digest
from gpucodegen.tiling.machine.gpu.devices import (
    STATIC_SHARED,
    capability_of,
    most_shared,
)

EXTRA = "pip install 'gpucodegen[report]'"


def tool(name: str) -> str:
    """The path of a program, from the newest wheel or from ``PATH``; "" if absent.

    >>> tool("no-such-program")
    ''
    """
    found = importlib.util.find_spec("nvidia")
    file = f"{name}.exe" if os.name == "nt" else name
    wheels = [
        path
        for folder in (found.submodule_search_locations or () if found else ())
        for path in Path(folder).glob(f"cu*/bin/{file}")
    ]
    newest = max(wheels, key=_version, default=None)
    return str(newest) if newest is not None else shutil.which(name) or ""


def _version(path: Path) -> int:
    digits = re.sub(r"\D", "", path.parent.parent.name)
    return int(digits or 0)


def assemble(ptx: str, architecture: str) -> tuple[bytes, str]:
    """Machine code of a PTX text, and the log of ``ptxas -v``."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        words = [tool("ptxas"), "-v", "-arch", architecture, str(source)]
        log = _output([*words, "-o", str(made)])
        return made.read_bytes(), log


def disassemble(cubin: bytes) -> str:
    """The text of machine code, without comments from an analysis of its data flow."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        return _output([tool("nvdisasm"), "-ndf", "-c", str(path)])


def _output(words: list[str]) -> str:
    done = subprocess.run(  # noqa: S603 - a program of a wheel, on a file of ours
        words, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(done.returncode, f"{words[0]} failed: {done.stderr.strip()}")
    return done.stdout + done.stderr


CUBINS = Store("cuda")
PTX = Store("ptx")

Capability = tuple[int, ...] | tuple[int, int, str]


DEFAULT: Capability = (9, 0)
"""The compute capability of PTX for which no architecture is stated."""


def stated_capability(spec: KernelSpec) -> Capability:
    """The capability of the program's architecture, or the default."""
    return capability(spec.arch) if spec.arch else DEFAULT


def capability(arch: str) -> Any:
    """An architecture in the form that compilers take.

    >>> capability("sm_90a"), capability("sm_120")
    ((9, 0, 'a'), (12, 0))
    """
    own = ("a",) if arch.endswith("a") else ()
    return (*capability_of(arch), *own)


def compile_ptx(spec: KernelSpec, cc: Capability | None = None) -> str:
    """The PTX of a kernel with its own name as entry, from the disk cache if possible.

    ``cc`` is (major, minor) or (9, 0, "a") for architecture-specific features; default:
    that of `stated_capability`.
    """
    cc = stated_capability(spec) if cc is None else cc
    cc = _own(spec, cc)
    limit = most_shared(cc[:2]) if spec.dynamic_shared else STATIC_SHARED
    if spec.shared_bytes > limit:
        raise errors.ResourceLimit(
            what=f"the shared memory in bytes of kernel {spec.name}",
            needed=spec.shared_bytes,
            limit=limit,
        )
    key = _key(spec, cc)
    stored = PTX.get(key)
    tell(1, f"kernel {spec.name}: {'from disk' if stored else 'compiled to PTX'}")
    if stored is not None:
        return stored.decode()
    with span(spec.name, "PTX"):
        text = _compiled(spec, cc)
    PTX.put(key, text.encode())
    return text


def _own(spec: KernelSpec, cc: Capability) -> Capability:
    """The architecture, with its specific features for a kernel that uses them."""
    return (cc[0], cc[1], "a") if spec.specific else cc


def _compiled(spec: KernelSpec, cc: Capability) -> str:
    with generated_code.deferred_garbage_collection():
        from gpucodegen.intrinsics.cuda import assembly

        known = assembly.known(architecture(cc))
        return assembly.ptx(llvm_text(spec, generated_code.front_end(), known), known)


def llvm_text(spec: KernelSpec, by: str, arch: str = "") -> str:
    """The LLVM text of a kernel, before any optimisation, by a front end.

    ``arch``: the device's architecture; default: that of `architecture_of`.
    """
    from gpucodegen.intrinsics.cuda import assembly, target
    from gpucodegen.intrinsics.cuda.backend import parameter
    from gpucodegen.intrinsics.cuda.target import Kernel

    function = getattr(generated_code.load(spec.source), spec.name)
    is_direct = by == generated_code.DIRECT
    tree = generated_code.definition(spec.source, spec.name) if is_direct else None
    types = tuple(parameter(*p) for p in spec.signature)
    number = assembly.number_of(arch or architecture_of(spec))
    places = target.places(spec.source)
    kernel = Kernel(spec.block, spec.resident, number, places)
    return assembly.llvm_text(function, tree, types, kernel, spec.fastmath)


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code for one architecture, with the assembler's log."""

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
        return self.spill_stores + self.spill_loads

    @property
    def spill_stores(self) -> int:
        """Bytes of a thread that are spilled to local memory."""
        return self._count(r"(\d+) bytes spill stores")

    @property
    def spill_loads(self) -> int:
        """Bytes of a thread that are reloaded from local memory."""
        return self._count(r"(\d+) bytes spill loads")

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a block."""
        return self._count(r"(\d+) bytes smem")

    def _count(self, pattern: str) -> int:
        found = re.search(pattern, self.log)
        return int(found.group(1)) if found else 0

    def record(self) -> bytes:
        r"""The length of the log, the log, the code: either may hold any byte.

        >>> Cubin.read("k", Cubin("k", b"\0code", "log\0").record()).code
        b'\x00code'
        """
        log = self.log.encode()
        return _LENGTH.pack(len(log)) + log + self.code

    @classmethod
    def read(cls, name: str, record: bytes) -> Cubin:
        (length,) = _LENGTH.unpack_from(record)
        start = _LENGTH.size
        log = record[start : start + length]
        return cls(name, record[start + length :], log.decode())


_LENGTH = struct.Struct("<Q")
RECORDS = 2
"""The form of the records: entries of another one are not read."""


def compile_cubin(spec: KernelSpec, cc: Capability | None = None) -> Cubin:
    """The machine code of a kernel, from the disk cache if possible; needs no GPU."""
    cc = _own(spec, stated_capability(spec) if cc is None else cc)
    key = _key(spec, cc)
    stored = CUBINS.get(key)
    if stored is not None:
        return Cubin.read(spec.name, stored)
    code, log = assemble(compile_ptx(spec, cc), architecture(cc))
    cubin = Cubin(spec.name, code, log)
    CUBINS.put(key, cubin.record())
    return cubin


def architecture(cc: Capability) -> str:
    """The assembler's name of an architecture.

    >>> architecture((9, 0, "a"))
    'sm_90a'
    """
    return "sm_" + "".join(map(str, cc))


def architecture_of(spec: KernelSpec) -> str:
    """The architecture in a kernel's PTX if no device is known."""
    return architecture(_own(spec, stated_capability(spec)))


def has_assembler() -> bool:
    """Whether PTX can be assembled here, without a driver."""
    return bool(tool("ptxas"))


def _key(spec: KernelSpec, cc: Capability) -> str:
    return digest(
        RECORDS,
        spec.source,
        spec.name,
        spec.signature,
        spec.block,
        spec.resident,
        spec.fastmath,
        architecture(cc),
        generated_code.front_end(),
        *_compilers(),
        package_digest(),
    )


@cache
def _compilers() -> tuple[str, str]:
    """The versions of the PTX compilers, without importing them."""
    return version("numba"), version("llvmlite")
