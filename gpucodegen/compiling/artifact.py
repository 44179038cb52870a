"""A function after all passes and emission, as it is kept on disk.

Comes in: the text of a program, a function, argument types and options.  Goes out: what
an earlier process made of them, so that this one needs neither passes nor isl.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from gpucodegen.compiling import records as plain
from gpucodegen.options import Options
from gpucodegen.runtime.host.spec import Constant, KernelSpec
from gpucodegen.runtime.storage import cache

if TYPE_CHECKING:
    from gpucodegen.emit.tables.memory.copy_plan import PlannedTransfer

STORE = cache.Store("program")


@dataclass(frozen=True, slots=True)
class Lowered:
    """Generated source and what a call has to know of it."""

    host_source: str
    kernels: tuple[KernelSpec, ...]
    constants: Mapping[str, Constant]
    python_name: str
    source: str
    written: tuple[bool, ...]
    overwritten: tuple[bool, ...]
    transfers: tuple[PlannedTransfer, ...]
    groups: tuple[int | None, ...]


def key_of(
    text: str,
    place: object,
    name: str,
    target: str,
    types: Sequence[object],
    options: Options,
) -> str:
    """All that decides over what comes out; ``place`` is where the text stands."""
    return cache.digest(
        text, str(place), name, target, tuple(map(str, types)), situation(options)
    )


def situation(options: Options) -> tuple[object, ...]:
    """What a program is compiled with and for: options, host, and this compiler."""
    from gpucodegen.runtime.machine.processor import facts
    from gpucodegen.runtime.storage.machine_code import host

    chosen = {field.name: getattr(options, field.name) for field in fields(options)}
    chosen["handlers"] = sorted(options.handlers)
    versions = host(), cache.sources_digest()
    return chosen, facts(), *versions


def load(key: str) -> Lowered | None:
    """What was kept, or None; a record that does not load is made again."""
    payload = STORE.get(key)
    if payload is None:
        return None
    try:
        return plain.loaded(payload)
    except Exception:  # noqa: BLE001 - whatever a record of another form raises
        return None


def keep(key: str, lowered: Lowered) -> bool:
    """Keep a function; one that cannot be written down is made again every time."""
    try:
        payload = plain.dumped(lowered)
    except TypeError:
        return False
    return STORE.put(key, payload)
