"""Calls that an earlier process made: what became of arguments of the same form.

Comes in: a text, a function and the form of a call.  Goes out: the compiled function
and how it takes its arguments, without a parser, or None.  The key holds all that
decides over them, so what is found is what this process would make, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpucodegen.calls.repeated import Checked, Form, Kind, Touching, remade
from gpucodegen.compiling import artifact as lowered
from gpucodegen.compiling import records as plain
from gpucodegen.compiling.executable import load as load_executable
from gpucodegen.compiling.lowering import Stages
from gpucodegen.compiling.targets.record import Target
from gpucodegen.compiling.targets.registry import find
from gpucodegen.runtime.storage import cache

if TYPE_CHECKING:
    from gpucodegen.ir.types import Type
    from gpucodegen.options import Options
    from gpucodegen.program_text import Source

STORE = cache.Store("call")


@dataclass(frozen=True, slots=True)
class Record:
    """A `Checked` call on disk.

    ``place``: the key of the lowered function.  ``types`` that its arguments were
    specialised to, as text: only who asks for the stages parses them.
    ``sizes`` are those of tiles that were chosen by tuning.
    """

    place: str
    kinds: tuple[Kind, ...]
    apart: tuple[Touching, ...]
    types: tuple[str | None, ...]
    sizes: tuple[tuple[int, ...], tuple[int, ...]]


def keep(
    source: Source, name: str, options: Options, form: Form, known: Checked
) -> None:
    """Keep what a call taught, if the function it runs is on disk."""
    made = known.executable
    if not made.place:
        return
    record = Record(
        made.place,
        known.kinds,
        known.apart,
        tuple(None if ty is None else str(ty) for ty in made.types),
        (made.options.tile_sizes, made.options.register_tile),
    )
    key = _key(source, name, options, form, find(made.target))
    STORE.put(key, plain.dumped(record))


def load(
    source: Source,
    name: str,
    options: Options,
    form: Form,
    arguments: Sequence[Any],
    target: Target,
) -> Checked | None:
    """What an earlier process kept of calls with ``arguments`` of a form."""
    key = _key(source, name, options, form, target)
    payload = STORE.get(key) if source.text else None
    record: Record | None = None
    if payload is not None:
        with suppress(Exception):  # whatever a record of another form raises
            record = plain.loaded(payload)
    kept = None if record is None else lowered.load(record.place)
    if record is None or kept is None:
        return None
    tiles, registers = record.sizes
    chosen = replace(options, tile_sizes=tiles, register_tile=registers)

    def lower_again() -> Stages:
        from gpucodegen.compiling.lowering import lower

        stages: Stages = []
        lower(source.module, name, (target.name, _types(record.types)), chosen, stages)
        return stages

    executable = load_executable(kept, target.name, name, chosen, [], lower_again)
    return remade(executable, record.kinds, record.apart, arguments)


def _types(texts: Sequence[str | None]) -> tuple[Type | None, ...]:
    """Types of their texts.

    >>> print(*_types(["memref<2xf32>", None]))
    memref<2xf32> None
    """
    from gpucodegen.dialects.func import Function
    from gpucodegen.parser import parse_module

    written = ", ".join(text for text in texts if text is not None)
    module = parse_module(f"func.func private @f({written})", allow_unregistered=True)
    parsed = iter(Function(module.functions["f"]).type.inputs)
    return tuple(None if text is None else next(parsed) for text in texts)


def _key(
    source: Source, name: str, options: Options, form: Form, target: Target
) -> str:
    situation = target.identity, lowered.situation(options)
    return cache.digest(source.key, name, form, situation, _tuned(options))


def _tuned(options: Options) -> object:
    """Changes whenever something is tuned."""
    if not options.tuned:
        return None
    from gpucodegen.tuning.stored import tuning_path

    path = tuning_path()
    names = (path.name + suffix for suffix in ("", "-wal", "-journal"))
    return [_stamp(path.with_name(name)) for name in names]


def _stamp(path: Path) -> object:
    """What changes with a file; None for one that nobody can look at.

    >>> _stamp(Path("nothing.sqlite-wal"))
    """
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
