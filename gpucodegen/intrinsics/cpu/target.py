"""A target of Numba's for kernels: scalars, pointers, tiles, ranges and no arrays.

Numba's own target for the CPU loads everything that a Python program may call, from
strings to `scipy.linalg`, and looks through all of it again whenever an intrinsic is
typed.  Kernels call intrinsics and the functions of `math`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numba.core import types, typing
from numba.core.cpu import CPUContext, CPUTargetOptions
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.fastmathpass import rewrite_module
from numba.core.target_extension import (
    CPU,
    dispatcher_registry,
    jit_registry,
    target_override,
    target_registry,
)

from gpucodegen.intrinsics.cpu.pipeline import KernelCompiler
from gpucodegen.intrinsics.framework.known_calls import KnownCalls, known
from gpucodegen.intrinsics.scalars import extremes

NAME = "gpucodegen"


class Kernels(CPU):
    """What runs on the CPU also runs here."""


target_registry[NAME] = Kernels
extremes.provide(NAME)


class TypingContext(typing.BaseContext):
    """Types of operators, of ``range`` and of the functions of `math`."""

    def load_additional_registries(self) -> None:
        """What is not among Numba's built-in functions."""
        from numba.core.typing import mathdecl

        self.install_registry(extremes.TYPES)
        self.install_registry(mathdecl.registry)

    def insert_global(self, gv: Any, gty: Any) -> None:
        """Let calls of a function be typed once."""
        super().insert_global(gv, known(gty))


class Context(CPUContext):
    """Code of the same."""

    def __init__(self, typing_context: Any, target: str) -> None:
        self._made: dict[tuple[Any, Any], Any] = {}
        self._made_with: dict[frozenset[str], dict[tuple[Any, Any], Any]] = {}
        super().__init__(typing_context, target)

    def load_additional_registries(self) -> None:
        """What is not among Numba's built-in functions, which these modules fill."""
        from numba.core import optional
        from numba.cpython import builtins, mathimpl, numbers, rangeobj, tupleobj

        del builtins, numbers, optional, rangeobj, tupleobj
        self.install_registry(extremes.CODE)
        self.install_registry(mathimpl.registry)

    def subtarget(self, **options: Any) -> Any:
        """A context with other flags: what builds code may ask for those."""
        made = super().subtarget(**options)
        flags = frozenset(made.fastmath.flags if made.fastmath else ())
        made._made = self._made_with.setdefault(flags, {})  # noqa: SLF001 - our own
        return made

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """What builds the code of a call, looked up once for built-in functions."""
        if not isinstance(fn, KnownCalls):
            return super().get_function(fn, sig, _firstcall)
        if (fn, sig) not in self._made:
            self._made[fn, sig] = super().get_function(fn, sig, _firstcall)
        return self._made[fn, sig]

    def cast(self, builder: Any, val: Any, fromty: Any, toty: Any) -> Any:
        """A conversion; a literal is a value of the type that it is a literal of."""
        is_number = isinstance(fromty, types.IntegerLiteral)
        given = fromty.literal_type if is_number else fromty
        return super().cast(builder, val, given, toty)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Spread the flags; no library to link, since nothing counts references."""
        del library
        if self.fastmath:
            rewrite_module(mod, self.fastmath)


class Target(TargetDescriptor):
    """The one context of each kind; they live as long as the process."""

    options = CPUTargetOptions

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._typing_context = TypingContext()
        self._target_context = Context(self._typing_context, name)

    @property
    def typing_context(self) -> Any:
        """What types values."""
        return self._typing_context

    @property
    def target_context(self) -> Any:
        """What makes code."""
        return self._target_context


class KernelDispatcher(Dispatcher):
    """A function of a kernel, compiled for given types."""

    targetdescr = Target(NAME)

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
