"""PTX of generated text by numba-cuda's own compiler, as ``@cuda.jit`` makes it."""

from __future__ import annotations

import math

from gpucodegen.runtime.host.spec import KernelSpec


def ptx(spec: KernelSpec, cc: tuple[int, int] = (9, 0)) -> str:
    from numba import types
    from numba.cuda.compiler import _compile_pyfunc_with_fixup

    from gpucodegen.intrinsics.cuda.backend import parameter

    face = "tests.gpu.numba_cuda_face"
    text = spec.source.replace(
        "from gpucodegen.intrinsics.cuda import", f"from {face} import"
    )
    text = text.replace(
        "from gpucodegen.intrinsics import cuda as intrinsics",
        f"import {face} as intrinsics",
    )
    names: dict[str, object] = {}
    exec(text, names)
    kinds = tuple(
        types.CPointer(ty.dtype) if isinstance(ty, types.CPointer) else ty
        for ty in (parameter(*p) for p in spec.signature)
    )
    threads = math.prod(spec.block) if spec.block else None
    library, _ = _compile_pyfunc_with_fixup(
        names[spec.name],
        kinds,
        device=False,
        cc=cc,
        abi="numba",
        fastmath=False,
        launch_bounds=threads,
    )
    library._nvvm_options["fma"] = "contract" in spec.fastmath
    (made,) = library.get_asm_strs(cc=cc)
    return made.replace(library._entry_name, spec.name)
