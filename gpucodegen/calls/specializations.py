"""A function of a program, compiled for one kind of arguments after another.

What it is compiled for is a `Specialization`: a target and what is known of the
arguments.  Executables are kept by it and by the architecture of their kernels.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from gpucodegen import errors
from gpucodegen.calls.foreign.copies import warn
from gpucodegen.calls.signature import Signature
from gpucodegen.compiling.executable import Executable, Specialization, build
from gpucodegen.compiling.targets import registry
from gpucodegen.compiling.winners import final_options
from gpucodegen.debugging.levels import tell
from gpucodegen.options import Options
from gpucodegen.program_text import Source
from gpucodegen.runtime.host.arguments import Known

MAX_SPECIALIZATIONS = 64
"""Shapes a function is compiled for before dynamic extents take over."""

Variant = tuple[tuple[Known | None, ...], Executable]
"""What is known of arguments, and the function compiled for it."""


@dataclass(slots=True)
class Specializations:
    """The executables of one function; ``options`` are those of its program."""

    source: Source
    name: str
    options: Options
    signature: Signature
    made: dict[tuple[Specialization, str], Executable] = field(
        default_factory=dict[tuple[Specialization, str], Executable]
    )
    _without: set[Specialization] = field(default_factory=set[Specialization])
    """What no kernel keeps to the strides of."""

    def key(
        self, target: str, known: tuple[Known | None, ...] | None
    ) -> Specialization:
        """What is compiled for arguments of which so much is known.

        None stands for arrays as devices allocate them.
        """
        if known is None:
            known = self.signature.allocated(registry.find(target).widest)
        elif not self.options.specialize:
            known = tuple(at and at.without_shape() for at in known)
        return target, known

    def executable(
        self,
        target: str,
        known: tuple[Known | None, ...] | None = None,
        arch: str | None = None,
    ) -> Executable:
        """The function compiled for a target, now if it was not before.

        ``arch``: of the kernels; None is that of the options, or else of the current
        device.
        """
        key = self.key(target, known)
        if registry.find(target).interprets:
            raise errors.NothingCompiled(target=target)
        settled = registry.find(target).settled(self.options)
        asked = settled if arch is None else replace(settled, arch=arch)
        if (key, asked.arch) not in self.made and not self._has_room():
            key = target, (None,) * len(self.signature.parameters)
        place = key, asked.arch
        if place not in self.made:
            with showing(self.source):
                self.made[place] = self._compiled(key, asked)
        return self.made[place]

    def _has_room(self) -> bool:
        return len(self.made) < MAX_SPECIALIZATIONS

    def _compiled(self, key: Specialization, asked: Options) -> Executable:
        """The function compiled by the schedule that is stored, if one is.

        Where that fails, it is compiled without.
        """
        chosen = final_options(self.source, self.name, key, asked)
        if chosen is not asked:
            sizes = chosen.tile_sizes or chosen.register_tile or chosen.plan
            tell(1, f"{self.name} for {key[0]}: tuned sizes {sizes}")
        try:
            return build(self.source, self.name, key, chosen)
        except errors.Error:
            if chosen is asked:
                raise
            plain = replace(asked, tuned=False)
            made = build(self.source, self.name, key, plain)
            tell(1, f"{self.name} for {key[0]}: what is stored does not compile")
            return made

    def for_strides(
        self, target: str, values: Sequence[Any], arch: str
    ) -> tuple[Executable, Sequence[int]]:
        """The function compiled for these values, and where it works on copies.

        That is at tensors that are not row-major, and where no kernel keeps to the
        strides of a memref, because it is passed on as one of another type.
        """
        signature = self.signature
        known = signature.known(values, registry.find(target).widest)
        places = signature.strided(values)
        if not places:
            return self.executable(target, known, arch), ()
        key, plain = (target, known), signature.row_major(known)
        holds_tensors = any(signature.parameters[n].is_value for n in places)
        if holds_tensors or key in self._without:
            return self.executable(target, plain, arch), places
        reason = "one kernel serves all shapes"
        is_known = (key, arch) in self.made
        if self.options.specialize and (is_known or self._has_room()):
            try:
                return self.executable(target, known, arch), ()
            except errors.Error as problem:
                reason = problem.message
        executable = self.executable(target, plain, arch)
        self._without.add(key)
        for n in places:
            warn(self.name, signature.parameters[n].name, values[n].strides, reason)
        return executable, places

    def variants(self, target: str) -> list[Variant]:
        """What is known of arguments, and the function compiled for it, special first.

        Kernels use what all devices have, unless the options state an architecture.
        That is for arguments of earlier calls, for arrays as devices allocate them, and
        for any.
        """
        wanted = [key for key, _ in self.made if key[0] == target]
        wanted.append(self.key(target, None))
        wanted.append((target, (None,) * len(self.signature.parameters)))
        ordered = sorted(dict.fromkeys(wanted), key=_told, reverse=True)
        arch = self.options.arch
        return [(known, self.executable(target, known, arch)) for _, known in ordered]


@contextmanager
def showing(source: Source) -> Generator[None]:
    """Errors show the lines of the program that they are about."""
    try:
        yield
    except errors.Error as error:
        source.show_in(error)
        raise


def _told(key: Specialization) -> int:
    """How many facts are known of arguments.

    >>> _told(("cpu", (Known((8, 8)), None)))
    1
    """
    return sum(bool(fact) for known in key[1] for fact in known or ())
