"""Loads generated text as a Python module with source lines for tracebacks.

`deferred_garbage_collection` postpones the garbage collector during a compilation: most
objects (Python modules, operations, the IR of Numba) stay until its end, so collections
find little: 0.12 of 1.0 s for PolyBench's 3mm, 0.22 of 2.2 s for adi, at the same peak
of memory.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import RLock
from types import ModuleType

from gpucodegen import errors
from gpucodegen.runtime.storage import cache


@contextmanager
def deferred_garbage_collection() -> Generator[None]:
    """Disables the garbage collector meanwhile; nested or disabled, it does nothing.

    >>> with deferred_garbage_collection():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


FRONT_END_VARIABLE = "GPUCODEGEN_FRONT_END"
DIRECT = "direct"
FRONT_ENDS = DIRECT, "numba"
SOURCES = cache.Store("source")
_ONE_AT_A_TIME = RLock()
"""No thread is given a module that another thread still executes."""
SYNTAX_TREES = RLock()
"""Lock for making and compiling syntax trees: CPython 3.11 miscounts its recursion
depth when threads do so at once (https://github.com/python/cpython/issues/106905).
"""


def front_end() -> str:
    """What compiles kernels to LLVM IR: ``direct``, or ``numba`` for comparison.

    The variable ``GPUCODEGEN_FRONT_END`` decides.  Raises InvalidOption.
    """
    chosen = os.environ.get(FRONT_END_VARIABLE, "").strip() or DIRECT
    if chosen not in FRONT_ENDS:
        hint = f"Write {' or '.join(FRONT_ENDS)}"
        raise errors.InvalidOption(name=FRONT_END_VARIABLE, value=chosen, hint=hint)
    return chosen


def load(source: str) -> ModuleType:
    """The module of a source text, executed once per process.

    The copy on disk is only for people and tools to read.
    """
    name = f"k_{cache.digest(source)[:32]}"
    with _ONE_AT_A_TIME:
        known = sys.modules.get(name)
        return _executed(name, source) if known is None else known


def _executed(name: str, source: str) -> ModuleType:
    file, text = f"{name}.py", source.encode()
    is_kept = SOURCES.read(file) == text or SOURCES.write(file, text)
    module = ModuleType(name)
    module.__file__ = str(SOURCES.path(file)) if is_kept else f"<{name}>"
    code = compile(source, module.__file__, "exec")
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def definition(source: str, name: str) -> ast.FunctionDef:
    r"""The syntax tree of a function of a source text.

    >>> definition("x = 1\ndef f(a): return a", "f").lineno
    2
    """
    with SYNTAX_TREES:
        statements = ast.parse(source).body
    functions = (each for each in statements if isinstance(each, ast.FunctionDef))
    return next(each for each in functions if each.name == name)
