"""Verbosity levels of the compiler; each level includes the lower ones.

=====  =========================================================================
level  prints
=====  =========================================================================
1      what comes from disk and what is compiled; tuned schedules that are used
2      how long passes, emission and machine code took
3      passes that changed the module, with their options; transfers
4      the generated source
5      the module after each pass that changed it
=====  =========================================================================
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace

from gpucodegen import errors
from gpucodegen.records import dataclass

MOST = 5
VARIABLES = {
    "level": "GPUCODEGEN_DEBUG",
    "print_ir_after": "GPUCODEGEN_PRINT_IR_AFTER",
    "print_ir_before_failure": "GPUCODEGEN_PRINT_IR_BEFORE_FAILURE",
    "trace": "GPUCODEGEN_TRACE",
}
"""The environment variable of each field."""


@dataclass(frozen=True, slots=True)
class Debug:
    """Debug output settings.

    ``print_ir_after``: a pass, or ``all``: print the module after it.
    ``print_ir_before_failure``: print the module on which a pass failed. ``trace``: a
    file for the times of all spans, which Perfetto and Chrome open; ``{pid}`` in its
    name is the process.
    """

    level: int = 0
    print_ir_after: str = ""
    print_ir_before_failure: bool = False
    trace: str = ""

    @property
    def is_timing(self) -> bool:
        return self.level >= 2 or bool(self.trace)

    def shows(self, name: str) -> bool:
        """Whether the module is printed after this pass."""
        return self.print_ir_after in {"all", name}


_CHOSEN: ContextVar[Debug | None] = ContextVar("debug", default=None)


def current() -> Debug:
    """The settings of the innermost `debug` context, else of the environment.

    >>> with debug(3):
    ...     current().level
    3
    """
    return _CHOSEN.get() or _of_environment()


def _of_environment() -> Debug:
    texts = {name: os.environ.get(variable) for name, variable in VARIABLES.items()}
    given = {name: text for name, text in texts.items() if text}
    if not given:
        return NOTHING
    return Debug(
        _level(given.get("level", "0"), VARIABLES["level"]),
        given.get("print_ir_after", ""),
        given.get("print_ir_before_failure", "0") != "0",
        given.get("trace", ""),
    )


def _level(value: object, name: str) -> int:
    """A level.  Raises InvalidOption.

    >>> _level("3", "level")
    3
    """
    text = str(value)
    if not text.isdecimal() or int(text) > MOST:
        hint = f"Pass an integer from 0 to {MOST}"
        raise errors.InvalidOption(name=name, value=value, hint=hint)
    return int(text)


NOTHING = Debug()


@contextmanager
def debug(
    level: int | None = None,
    *,
    print_ir_after: str | None = None,
    print_ir_before_failure: bool | None = None,
    trace: str | None = None,
) -> Generator[Debug]:
    """Change the debug output in this context; None keeps a setting.

    ``level``: 0 to 5. The others are described in `Debug`. Raises InvalidOption.

    >>> import gpucodegen as gcg
    >>> with gcg.debug(1, print_ir_after="canonicalize") as set_to:
    ...     set_to.print_ir_after
    'canonicalize'
    """
    if level is not None:
        _level(level, "level")
    values = (level, print_ir_after, print_ir_before_failure, trace)
    named = zip(fields(Debug), values, strict=True)
    given = {field.name: value for field, value in named if value is not None}
    token = _CHOSEN.set(replace(current(), **given))  # pyright: ignore[reportArgumentType]
    try:
        yield current()
    finally:
        _CHOSEN.reset(token)


def tell(level: int, text: str) -> None:
    """Print a line if the level is high enough."""
    if current().level >= level:
        show(text)


def show(text: str) -> None:
    """Print lines at any level."""
    sys.stderr.write(f"{text}\n")
