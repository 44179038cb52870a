"""Registry of targets by name, and the choice of a call's target.

It imports nothing heavy.

>>> names()
('cpu', 'cuda', 'interp', 'sim')
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpucodegen import errors
from gpucodegen.compiling.targets.cpu import CPU
from gpucodegen.compiling.targets.cuda import CUDA, SIM
from gpucodegen.compiling.targets.interp import INTERP
from gpucodegen.compiling.targets.record import Target

AUTO = "auto"
"""Not a target: a call's arguments choose one."""
HOST_ARRAYS, DEVICE_ARRAYS = CPU, CUDA
"""The targets that ``auto`` chooses for host and device arrays."""

_KNOWN = {target.name: target for target in (CUDA, SIM, CPU, INTERP)}


def names() -> tuple[str, ...]:
    """The names of all targets, sorted."""
    return tuple(sorted(_KNOWN))


def choices() -> tuple[str, ...]:
    """Valid values of the option ``target``."""
    return (AUTO, *names())


def mappings() -> tuple[str, ...]:
    """One target for each mapping, since some targets share their passes.

    >>> mappings()
    ('cuda', 'cpu')
    """
    first: dict[object, str] = {}
    for target in _KNOWN.values():
        if not target.interprets:
            first.setdefault(target.passes, target.name)
    return tuple(first.values())


def find(name: str) -> Target:
    """The target of a name.  Raises UnknownTarget.

    >>> find("cpu").guards_accesses
    True
    """
    if name not in _KNOWN:
        raise _unknown(name)
    return _KNOWN[name]


def check(name: str) -> str:
    """The name of a target, or ``auto``.

    Raises UnknownTarget.

    >>> check("auto")
    'auto'
    """
    if name not in choices():
        raise _unknown(name)
    return name


def check_plan(plan: Iterable[tuple[str, int]]) -> None:
    """Raise InvalidOption for a plan field that no target has.

    Fields of other targets are allowed, since a program may run on several.

    >>> check_plan([("f_k0.stream.width", 4), ("order12", 21)])
    """
    pairs = dict(plan)
    if not pairs:
        return
    from gpucodegen.tiling.machine.plan_space import field_of

    known = {name for one in _KNOWN.values() for name in one.plan_fields()}
    for name in pairs:
        alike = re.sub(r"\d+", "0", field_of(name))
        if alike not in known:
            kinds = ", ".join(sorted({field.partition(".")[0] for field in known}))
            otherwise = f"Fields are those of {kinds}; `gpucodegen tune` lists them"
            hint = errors.did_you_mean(alike, known, otherwise, cutoff=0.5)
            raise errors.InvalidOption(name="plan", value=pairs, hint=hint.rstrip("?."))


def chosen(name: str, on_device: Iterable[bool]) -> Target:
    """The target of a call; ``auto`` depends on whether arguments lie on a device.

    Raises UnknownTarget.

    >>> chosen("auto", [False, True]).name, chosen("sim", []).name
    ('cuda', 'sim')
    """
    if name == AUTO:
        return DEVICE_ARRAYS if any(on_device) else HOST_ARRAYS
    return find(name)


def register(target: Target) -> None:
    """Register a target. Raises TargetExists if its name is taken."""
    if target.name in choices():
        raise errors.TargetExists(target=target.name)
    _KNOWN[target.name] = target


def unregister(name: str) -> None:
    """Remove a target; programs that were compiled for it still run.

    Raises UnknownTarget.
    """
    del _KNOWN[find(name).name]


SYNONYMS = {
    **dict.fromkeys(("gpu", "nvidia", "nvptx", "ptx"), "cuda"),
    **dict.fromkeys(("llvm", "host", "x86", "llvm-cpu", "native"), "cpu"),
    **dict.fromkeys(("emulator", "emulated", "simulator"), "sim"),
    **dict.fromkeys(("interpreter", "reference"), "interp"),
}
"""Targets by the words of other compilers."""


def _unknown(name: object) -> errors.UnknownTarget:
    known = [*names(), AUTO]
    near = errors.did_you_mean(str(name), known, synonyms=SYNONYMS)
    every = f"Use one of {', '.join(known)}"
    return errors.UnknownTarget(target=name, advice=f"{near} {every}".strip())
