"""The interpreter target: the module runs as written, without compilation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from gpucodegen import errors
from gpucodegen.compiling.targets.record import Target

if TYPE_CHECKING:
    from gpucodegen.emit.emissions import Emission
    from gpucodegen.options import Options
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.runtime.host.engines import Engine
    from gpucodegen.runtime.host.spec import KernelSpec


def passes(_: Options) -> Sequence[ModulePass]:
    return ()


def _nothing() -> NoReturn:
    """Raises NothingCompiled."""
    raise errors.NothingCompiled(target="interp")


def emission() -> Emission:
    _nothing()


def engine() -> Engine:
    _nothing()


def assembly(_: KernelSpec) -> str:
    """No machine code."""
    _nothing()


INTERP = Target("interp", passes, emission, engine, assembly, interprets=True)
