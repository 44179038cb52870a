"""A target of Numba's for kernels: scalars, pointers, tiles, ranges and no arrays.

Numba's own target for the CPU loads everything that a Python program may call, from
strings to `scipy.linalg`, and looks through all of it again whenever an intrinsic is
typed.  Kernels call intrinsics and the functions of `math`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.fastmathpass import rewrite_module
from numba.core.target_extension import (
    CPU,
    dispatcher_registry,
    jit_registry,
    target_override,
    target_registry,
)

from gpucodegen.intrinsics.framework.contexts import KnownCode, KnownTypes, Target
from gpucodegen.intrinsics.framework.pipeline import KernelCompiler
from gpucodegen.intrinsics.scalars import extremes

NAME = "gpucodegen"


class Kernels(CPU):
    """What runs on the CPU also runs here."""


target_registry[NAME] = Kernels
extremes.provide(NAME)


class TypingContext(KnownTypes):
    """Types of operators, of ``range`` and of the functions of `math`."""

    def load_additional_registries(self) -> None:
        """What is not among Numba's built-in functions."""
        from numba.core.typing import mathdecl

        self.install_registry(extremes.TYPES)
        self.install_registry(mathdecl.registry)


class Context(KnownCode, CPUContext):
    """Code of the same."""

    def load_additional_registries(self) -> None:
        """What is not among Numba's built-in functions, which these modules fill."""
        from numba.core import optional
        from numba.cpython import builtins, mathimpl, numbers, rangeobj, tupleobj

        del builtins, numbers, optional, rangeobj, tupleobj
        self.install_registry(extremes.CODE)
        self.install_registry(mathimpl.registry)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Spread the flags; no library to link, since nothing counts references."""
        del library
        if self.fastmath:
            rewrite_module(mod, self.fastmath)


class KernelDispatcher(Dispatcher):
    """A function of a kernel, compiled for given types."""

    targetdescr = Target(NAME, TypingContext(), Context)

    def compile(self, sig: Any) -> Any:
        """Compile, with this target as the one that overloads are looked up for."""
        with target_override(NAME):
            return super().compile(sig)


def jit(function: Any = None, **options: Any) -> Any:
    """``numba.njit`` for this target; Numba's overloads ask for it by target."""
    if function is None:
        return partial(jit, **options)
    options = {key: value for key, value in options.items() if value is not None}
    options |= {"nopython": True, "_nrt": False}
    return KernelDispatcher(
        function, targetoptions=options, pipeline_class=KernelCompiler
    )


dispatcher_registry[Kernels] = KernelDispatcher
jit_registry[Kernels] = jit
