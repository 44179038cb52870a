"""What a loop needs of the interpreter, to ask for signals, and of C, for the time."""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.native import (
    I8,
    I32,
    VOID,
    WORD,
    Code,
    Instruction,
    word,
)
from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.words import place

ADDRESS = I8.as_pointer()
CLOCK = {"linux": 6, "darwin": 5}.get(sys.platform, 0)
"""A clock that is read at once and moves every few milliseconds."""
SECOND = 1_000_000_000


def _clock(code: Code) -> Any:
    """``struct timespec`` is seconds and nanoseconds."""
    builder, slot = code.builder, code.slot(ir.ArrayType(WORD, 2))
    code.call("clock_gettime", I32, [ir.Constant(I32, CLOCK), slot])
    seconds, rest = (
        builder.load(builder.gep(slot, [word(0), word(part)])) for part in (0, 1)
    )
    return builder.add(builder.mul(seconds, word(SECOND)), rest)


def _raised(code: Code) -> list[Any]:
    return [place(code, word(layout.RAISED + part)) for part in range(3)]


def _fetch(code: Code) -> None:
    code.call("PyErr_Fetch", VOID, _raised(code))


def _restore(code: Code) -> None:
    code.call("PyErr_Restore", VOID, [code.builder.load(p) for p in _raised(code)])


def _pend(code: Code) -> Any:
    function = code.builder.module.globals[layout.RAISE]
    given = [code.builder.bitcast(function, ADDRESS), ir.Constant(ADDRESS, None)]
    return code.builder.sext(code.call("Py_AddPendingCall", I32, given), WORD)


def _number(name: str) -> Any:
    """``name()``, which returns a C ``int``."""
    return Instruction(lambda code: code.builder.sext(code.call(name, I32, []), WORD))


def _leave(code: Code, before: Any) -> None:
    state = code.builder.trunc(before, I32)
    code.call("PyGILState_Release", VOID, [state])


clock = Instruction(_clock)
"""``clock()``: nanoseconds."""
this_thread = Instruction(lambda code: code.call("pthread_self", WORD, []))
"""``this_thread()``, as `threading.get_ident` has it."""
enter = _number("PyGILState_Ensure")
"""``enter()`` the interpreter; what `leave` takes."""
leave = Instruction(_leave)
check_signals = _number("PyErr_CheckSignals")
"""``check_signals()``: run handlers; -1 if one raised."""
interrupt = Instruction(lambda code: code.call("PyErr_SetInterrupt", VOID, []))
"""``interrupt()``: as if the signal of Ctrl-C had come."""
fetch = Instruction(_fetch)
"""``fetch()`` what is raised into `layout.RAISED`; then nothing is."""
restore = Instruction(_restore)
"""``restore()``: raise what is there."""
pend = Instruction(_pend)
"""``pend()``: have Python call `layout.RAISE` in its main thread; 0 if it will."""
