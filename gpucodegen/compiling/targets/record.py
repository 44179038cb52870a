"""The record of a target: passes, emission, engine and capabilities."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.emit.emissions import Emission
    from gpucodegen.options import Options
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.runtime.host.engines import Engine
    from gpucodegen.runtime.host.spec import KernelSpec


def always() -> None:
    """The default requirement: none."""


def none() -> Sequence[str]:
    """The default: no plan fields."""
    return ()


def unknown(_: Sequence[Any]) -> str:
    """The default: no architecture, so kernels use the common feature set."""
    return ""


@dataclass(frozen=True, slots=True)
class Target:
    """One target. Its functions import what they need when they are called.

    ``name``: its name in options, variables and commands.
    ``passes``: map affine nests on buffers to kernels, as the options say.
    ``emission``: the text of kernels, and their intrinsics module.
    ``engine``: memory and launches, created for each program.
    ``assembly``: the machine code of a kernel as text.
    ``require``: raises NoDevice if this machine cannot run the target.
    ``architecture``: of the device of a call with these buffers and numbers; without
    any, of the current one.
    ``plan_fields``: valid names of the option ``plan``, in which a 0 stands for any
    number; names that no target has are refused.

    ``runs_launches``: hardware threads execute ``gpu.launch``; elsewhere it becomes
    loops.
    ``guards_accesses``: kernels check accesses that are not proven to stay in bounds,
    and the host reports them.
    ``has_own_memory``: NumPy arguments are copied to a device and back.
    ``widest``: bytes of the widest access of one thread, if it must be aligned: kernels
    are compiled for the known alignment of arguments.
    ``repeats_calls``: kernels are functions of addresses in this process, so that a
    repeated call invokes them directly.
    ``emulates``: its device is the emulated one, whatever the environment says.
    ``interprets``: the interpreter runs the unmodified module; nothing is compiled.
    ``version``: part of the key of cached artifacts. The records of this package need
    none: its sources are part of every key.

    >>> from gpucodegen.compiling.targets import find
    >>> [(name, find(name).runs_launches) for name in ("cpu", "cuda", "sim")]
    [('cpu', False), ('cuda', True), ('sim', True)]
    """

    name: str
    passes: Callable[[Options], Sequence[ModulePass]]
    emission: Callable[[], Emission]
    engine: Callable[[], Engine]
    assembly: Callable[[KernelSpec], str]
    require: Callable[[], None] = always
    architecture: Callable[[Sequence[Any]], str] = unknown
    plan_fields: Callable[[], Sequence[str]] = none
    runs_launches: bool = False
    guards_accesses: bool = False
    has_own_memory: bool = False
    repeats_calls: bool = False
    widest: int = 0
    emulates: bool = False
    interprets: bool = False
    version: str = ""

    @property
    def identity(self) -> str:
        return f"{self.name} {self.version}".rstrip()

    def settled(self, options: Options, values: Sequence[Any] = ()) -> Options:
        """The options, with the architecture of a call's device if they name none.

        Targets without a device have no architecture.

        >>> from gpucodegen.compiling.targets import find
        >>> from gpucodegen.options import Options
        >>> [find(t).settled(Options(arch="sm_80")).arch for t in ("sim", "cpu")]
        ['sm_80', '']
        """
        arch = self.settled_arch(options, values)
        return options if arch == options.arch else replace(options, arch=arch)

    def settled_arch(self, options: Options, values: Sequence[Any] = ()) -> str:
        is_stated = options.arch and self.runs_launches
        return options.arch if is_stated else self.architecture(values)

    def sanitizes(self, options: Options) -> bool:
        """Whether calls run in the interpreter, which checks every access.

        The emulated device checks accesses itself. Raises InvalidOption for a real GPU,
        which checks nothing.

        >>> from gpucodegen.compiling.targets import find
        >>> from gpucodegen.options import Options
        >>> find("cpu").sanitizes(Options(sanitize=True))
        True
        """
        if options.sanitize and self.has_own_memory and not self.emulates:
            hint = "Use target='cpu' or 'sim'; the emulated device always checks"
            raise errors.InvalidOption(name="sanitize", value=True, hint=hint)
        asked = options.sanitize
        if asked is None:
            asked = os.environ.get("GPUCODEGEN_SANITIZE") == "1"
        return asked and not self.has_own_memory
