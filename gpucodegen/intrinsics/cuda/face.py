"""The one place that imports Numba CUDA, and the CUDA `Face`.

numba-cuda is in maintenance; its successor numba-cuda-mlir is reached by changing the
imports here.
"""

from __future__ import annotations

from typing import Any

# Without it, numba has an older compiler of this name.
import numba_cuda  # noqa: F401  # pyright: ignore[reportUnusedImport]
from numba import cuda
from numba.core import types
from numba.cuda import extending

from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import Face
from gpucodegen.intrinsics.framework.vector_type import Tile, llvm_tile

__all__ = ["FACE", "cuda", "parameter", "pointer"]

# `extending.intrinsic` is this decorator without the literals.
_intrinsic = extending._intrinsic(target="cuda", prefer_literal=True)  # noqa: SLF001

FACE = Face(_intrinsic, 0, index_bits=32, global_space=1, atomic_bits=32, is_nvvm=True)


@extending.register_model(Tile)
class _TileModel(extending.models.PrimitiveModel):
    """A tile is an array of scalars, which the compiler keeps in registers."""

    def __init__(self, manager: Any, tile: Tile) -> None:
        super().__init__(manager, tile, llvm_tile(tile, FACE.register_bytes))


def pointer(name: str) -> Any:
    """The Numba type of a pointer to elements."""
    return types.CPointer(getattr(types, element(name).pointee))


def parameter(kind: str, name: str) -> Any:
    """The Numba type of a kernel parameter; an index is 32 bits on a GPU."""
    if kind == "pointer":
        return pointer(name)
    if name == "index":
        return types.int32
    return getattr(types, element(name).carrier)


def assembly(
    function: Any,
    argument_types: tuple[Any, ...],
    cc: tuple[Any, ...],
    *,
    threads: int | None,
    contract: bool,
) -> tuple[str, str]:
    """(PTX of a kernel, its mangled entry name), made without a GPU.

    ``threads`` bounds the block, so that ptxas may use the registers it allows.
    """
    from numba.cuda.compiler import _compile_pyfunc_with_fixup

    library, _ = _compile_pyfunc_with_fixup(
        function,
        argument_types,
        device=False,
        cc=cc,
        abi="numba",
        fastmath=False,
        launch_bounds=threads,
    )
    library._nvvm_options["fma"] = contract  # noqa: SLF001 - no public option for it
    (ptx,) = library.get_asm_strs(cc=cc)
    return ptx, library._entry_name  # noqa: SLF001 - nor for the name


def compiler_version() -> str:
    """The version of the compiler and of the toolkit under it."""
    from importlib import metadata

    found = [f"{n} {metadata.version(n)}" for n in TOOLKIT if _is_installed(n)]
    return ", ".join(found)


TOOLKIT = (
    "numba",
    "numba-cuda",
    "llvmlite",
    "numpy",
    "cuda-core",
    "nvidia-nvvm",
    "nvidia-cuda-nvcc-cu12",
    "nvidia-nvjitlink",
    "nvidia-nvjitlink-cu12",
)
"""The packages whose versions decide over the machine code."""


def _is_installed(name: str) -> bool:
    from importlib import metadata

    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
