"""A function after all passes and emission, as the disk cache keeps it.

The key of an artifact is made of the program's text, the function, the facts about its
arguments and the options, so that a process with the same key needs neither passes nor
isl.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from gpucodegen.options import Options
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.spec import Constant, KernelSpec, StatedLaunch
from gpucodegen.runtime.storage import cache, records

if TYPE_CHECKING:
    from gpucodegen.emit.copy_plan import PlannedTransfer

STORE = cache.Store("program")


@dataclass(frozen=True, slots=True)
class Artifact:
    """Generated source and what a call has to know of it.

    ``written``, ``overwritten``: arguments that are stored to, and those whose contents
    are not needed.  ``groups``: per argument, what those that may overlap have in
    common, or None.  ``launch``: where the function is one launch of a kernel, which.
    ``unsigned``: for each result, the unsigned element type that the program declares,
    or "".
    """

    host_source: str
    kernels: tuple[KernelSpec, ...]
    constants: Mapping[str, Constant]
    python_name: str
    source: str
    written: tuple[bool, ...]
    overwritten: tuple[bool, ...]
    transfers: tuple[PlannedTransfer, ...]
    groups: tuple[int | None, ...]
    launch: StatedLaunch | None = None
    unsigned: tuple[str, ...] = ()


def key_of(
    text: str, name: str, target: str, known: Sequence[object], options: Options
) -> str:
    """All that decides over what comes out; ``text`` is the key of the program's."""
    return cache.digest(text, name, target, known, situation(options))


def situation(options: Options) -> tuple[object, ...]:
    """What a program is compiled with and for: options, host, and this compiler."""
    from gpucodegen.runtime.storage.machine_code import host

    return *_chosen(options), host(), cache.sources_digest()


def kind_of_situation(options: Options, device: object = None) -> tuple[object, ...]:
    """What two machines have in common where both compile a program alike.

    ``device``: what kernels run on in the place of the host's processor.
    """
    from gpucodegen.runtime.storage.machine_code import kind_of_host

    chosen, processor = _chosen(options)
    on = device or (processor, kind_of_host())
    return chosen, on, cache.package_version("numba"), cache.sources_content()


def _chosen(options: Options) -> tuple[object, object]:
    """Options and processor."""
    from gpucodegen.runtime.processor import facts

    names = (field.name for field in fields(options) if field.name != "sanitize")
    chosen = {name: getattr(options, name) for name in names}
    for name in ("handlers", "externals"):
        chosen[name] = sorted(getattr(options, name))
    return chosen, facts()


def load(key: str) -> Artifact | None:
    """What an earlier process kept, or None."""
    found = records.kept(STORE, key)
    try:
        return None if found is None else Artifact(**found)
    except TypeError:  # a record of another form
        return None


def keep(key: str, artifact: Artifact) -> None:
    """Keep a function for later processes, if it is no more than data."""
    parts = {field.name: getattr(artifact, field.name) for field in fields(artifact)}
    records.keep(STORE, key, parts)
