"""Another system, as far as Python tells: ``python other_platform.py windows JOB ...``.

Run in a process of its own.  What is not ours is imported as this machine has it; then
names and flags of the other system take the place of Linux's, modules and functions
that it lacks are gone, and gpucodegen is imported.  The jobs print what they found.
"""

from __future__ import annotations

import builtins
import io
import mmap
import os
import pathlib
import platform
import signal
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

THIRD_PARTIES = """
numpy numba numba.core.codegen llvmlite.binding islpy platformdirs ctypes.util
numpy.testing subprocess shutil sqlite3 multiprocessing.pool webbrowser
concurrent.futures.thread
""".split()
KERNEL_FOLDERS = ("/proc/", "/sys/")
"""Of Linux alone."""


@dataclass(frozen=True)
class System:
    """What Python says on a system, and what it lacks there."""

    platform: str
    name: str
    kernel: str
    modules: tuple[str, ...]
    missing: Mapping[Any, str]
    by_descriptor: bool = True
    """Whether folders may be opened, and files named relative to them."""


WINDOWS_LACKS = {
    os: """
        O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_SYNC geteuid getuid getegid getgid
        fchmod fchown chown sched_getaffinity sched_setaffinity sched_yield uname fork
        register_at_fork setsid killpg getpgid nice statvfs mkfifo pread pwrite sysconf
        getloadavg posix_fallocate memfd_create wait
    """,
    mmap: """
        MAP_PRIVATE MAP_ANONYMOUS MAP_ANON MAP_SHARED MAP_NORESERVE MAP_POPULATE
        PROT_READ PROT_WRITE MADV_DONTNEED MADV_HUGEPAGE MADV_FREE
    """,
    signal: """
        SIG_SETMASK SIG_BLOCK SIGALRM SIGHUP SIGUSR1 alarm pthread_sigmask setitimer
    """,
}
MACOS_LACKS = {
    os: """
        sched_getaffinity sched_setaffinity memfd_create pipe2 posix_fallocate
        posix_fadvise eventfd O_PATH O_TMPFILE
    """,
    mmap: "MAP_NORESERVE MAP_POPULATE MADV_HUGEPAGE MAP_STACK",
    signal: "SIGRTMIN sigtimedwait sigwaitinfo",
}
SYSTEMS = {
    "windows": System(
        *("win32", "nt", "Windows"),
        ("fcntl", "resource", "pwd", "grp", "termios", "pty", "syslog", "cupy"),
        WINDOWS_LACKS,
        by_descriptor=False,
    ),
    "macos": System(*("darwin", "posix", "Darwin"), ("cupy",), MACOS_LACKS),
}


class WindowsMap(mmap.mmap):
    """Memory with the arguments that Windows takes, and without advice."""

    def __new__(
        cls,
        fileno: int,
        length: int,
        tagname: str | None = None,
        access: int = 0,
        offset: int = 0,
    ) -> Self:
        """Anonymous memory; what else there is, nobody here asks for."""
        assert (fileno, tagname, access, offset) == (-1, None, 0, 0)
        return super().__new__(cls, fileno, length)

    def __getattribute__(self, name: str) -> Any:
        """Without ``madvise``."""
        if name == "madvise":
            raise AttributeError(name)
        return super().__getattribute__(name)


def become(system: System) -> None:
    """Say what Python says there."""
    for name in THIRD_PARTIES:
        import_module(name)
    tempfile.gettempdir()  # which is kept, as are
    sysconfig.get_config_vars()
    for name in system.modules:
        sys.modules[name] = None  # pyright: ignore[reportArgumentType]
    for module, names in system.missing.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    if not system.by_descriptor:
        os.supports_dir_fd, os.supports_fd = set(), set()
        os.supports_follow_symlinks = set()
        sys.modules["shutil"]._use_fd_functions = False
    if system.name == "nt":
        for paths in (pathlib, sys.modules.get("pathlib._local", pathlib)):
            paths.WindowsPath = pathlib.PosixPath
        mmap.mmap = WindowsMap
        _without_this_process()
    sys.platform = system.platform
    os.name = system.name
    platform.system = lambda: system.kernel
    _without_kernel_folders()


def _without_this_process() -> None:
    """A library without a name is this process; Windows knows no such thing."""
    import ctypes

    stand_ins = {"ucrtbase": None, "msvcrt": None}

    def named(kind: Any) -> Any:
        class Library(kind):
            def __init__(self, name: str | None, *others: Any, **more: Any) -> None:
                if name is None:
                    raise TypeError("bad argument type for built-in operation")
                more["winmode"] = os.RTLD_NOW  # as Linux takes it
                super().__init__(stand_ins.get(name, name), *others, **more)

        return Library

    ctypes.CDLL, ctypes.PyDLL = named(ctypes.CDLL), named(ctypes.PyDLL)


def _without_kernel_folders() -> None:
    opened = io.open

    def other_open(file: Any, *others: Any, **more: Any) -> Any:
        if str(file).startswith(KERNEL_FOLDERS):
            raise FileNotFoundError(2, "No such file or directory", str(file))
        return opened(file, *others, **more)

    for module in (io, builtins):
        module.open = other_open


def modules() -> None:
    """Import everything."""
    from pkgutil import walk_packages

    import gpucodegen

    skipped = set[str]()
    for found in walk_packages(gpucodegen.__path__, "gpucodegen."):
        if found.name.endswith("__main__"):
            continue
        try:
            import_module(found.name)
        except ModuleNotFoundError as problem:
            skipped.add(problem.name or "")
    sys.stdout.write(f"modules without {' '.join(sorted(skipped))}\n")


MATMUL = """
func.func @matmul(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  linalg.matmul ins(%A, %B : memref<?x?xf32>, memref<?x?xf32>)
                outs(%C : memref<?x?xf32>)
  return
}
"""


def product(target: str) -> Callable[[], None]:
    """A product twice: compiled, and by another program from what was kept."""

    def run() -> None:
        import numpy as np

        import gpucodegen as gcg

        random = np.random.default_rng(0)
        a, b = (random.random(shape, "f4") for shape in ((33, 18), (18, 20)))
        for _ in range(2):
            c = np.ones((33, 20), "f4")
            gcg.compile(MATMUL, target=target).matmul(a, b, c)
            np.testing.assert_allclose(c, a.astype("f8") @ b + 1, rtol=1e-5)
        sys.stdout.write(f"{target}\n")

    return run


def commands() -> None:
    """The doctor, the cache and a tuned function, as a user meets them."""
    from gpucodegen.cli import main

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "matmul.mlir")
        file.write_text(MATMUL, "utf-8")
        made = ["-o", str(file.with_name("made")), "--sizes", "4"]
        for words in (
            ["doctor"],
            ["tune", str(file), "--sizes", "16", "--trials", "2"],
            ["cache"],
            ["cache", "clear", "--tuned"],
            ["explain", str(file), "--sizes", "16"],
            ["export", str(file), *made],
        ):
            assert main(words) == 0, words


JOBS: Mapping[str, Callable[[], None]] = {
    "modules": modules,
    "interp": product("interp"),
    "sim": product("sim"),
    "cpu": product("cpu"),
    "commands": commands,
}

if __name__ == "__main__":
    become(SYSTEMS[sys.argv[1]])
    for job in sys.argv[2:]:
        JOBS[job]()
