"""Files and folders that only the user may change.

Cached code is linked into the process, so only the user may have written it. A folder
is opened relative to its parent and not by path, never through a link; owner and mode
are read after opening, so nothing can be exchanged in between (no race between check
and use). The path to the first folder, with its links, is left to the system.  Where
files have no POSIX owners, the system's own protection is trusted.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

HAS_OWNERS = hasattr(os, "geteuid") and os.open in os.supports_dir_fd
FOREIGN_WRITERS = stat.S_IWGRP | stat.S_IWOTH
NEW = ".new-"
"""Name prefix of incomplete files."""
DAY = 24 * 60 * 60.0


def _flags(*names: str) -> int:
    """The flags of ``open`` that the system has."""
    found = 0
    for name in names:
        found |= getattr(os, name, 0)
    return found


_FOLDER = _flags("O_RDONLY", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")
_READ = _flags("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
_CREATE = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")


class Untrusted(OSError):
    """A file or folder that others may change, or a link."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(errno.EPERM, reason, str(path))


class Folder:
    """An open folder; ``descriptor`` is None where folders cannot be opened."""

    __slots__ = ("descriptor", "path")

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    def read(self, name: str) -> bytes:
        """The contents of a file.  Raises OSError, including Untrusted.

        The time of use is updated if it is a day old.
        """
        with self._opened(name) as (descriptor, status):
            with io.FileIO(descriptor, closefd=False) as file:
                content = file.read()
            if time.time() - status.st_mtime > DAY:
                with suppress(OSError):
                    self._touch(name, descriptor)
        return content

    def write(self, name: str, content: bytes) -> None:
        """Writes a file atomically.  Raises OSError."""
        temporary = f"{NEW}{os.getpid()}-{os.urandom(8).hex()}"
        at = self.descriptor
        place = os.open(self._name(temporary), _CREATE, 0o600, dir_fd=at)
        try:
            with os.fdopen(place, "wb") as file:
                file.write(content)
            ends = self._name(temporary), self._name(name)
            os.replace(*ends, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            self.remove(temporary)
            raise

    def remove(self, name: str) -> bool:
        """Removes a file or link; returns whether it existed."""
        try:
            os.unlink(self._name(name), dir_fd=self.descriptor)
        except FileNotFoundError:
            return False
        return True

    def used(self, name: str) -> float | None:
        """The time of last use of a file, in seconds; None if it does not exist."""
        try:
            at = self.descriptor
            status = os.stat(self._name(name), dir_fd=at, follow_symlinks=False)
        except OSError:
            return None
        return status.st_mtime

    def check(self, name: str, *, create: bool = False) -> None:
        """Raises OSError, including Untrusted, for a file that others may change.

        With ``create``, a missing file is created empty.
        """
        if create:
            with suppress(FileExistsError):
                os.close(
                    os.open(self._name(name), _CREATE, 0o600, dir_fd=self.descriptor)
                )
        with self._opened(name):
            pass

    def entries(self) -> list[os.DirEntry[str]]:
        place = self.path if self.descriptor is None else self.descriptor
        with os.scandir(place) as found:
            return list(found)

    @contextmanager
    def _opened(self, name: str) -> Generator[tuple[int, os.stat_result]]:
        """Opens a regular file that only the user may change."""
        path = self.path / name
        try:
            place = os.open(self._name(name), _READ, dir_fd=self.descriptor)
        except OSError as problem:
            if problem.errno == errno.ELOOP:
                raise Untrusted(path, f"{name} is a link") from problem
            raise
        try:
            status = os.fstat(place)
            if not stat.S_ISREG(status.st_mode):
                raise Untrusted(path, f"{name} is no file")
            _check_owner(path, status)
            yield place, status
        finally:
            os.close(place)

    def _touch(self, name: str, descriptor: int) -> None:
        by_number = os.utime in os.supports_fd
        os.utime(descriptor if by_number else self._name(name))

    def _name(self, name: str) -> str:
        """The name relative to the open folder, or the path."""
        return name if self.descriptor is not None else str(self.path / name)


@contextmanager
def folder(
    root: Path, names: Sequence[str] = (), *, create: bool = False
) -> Generator[Folder]:
    """Opens the folder ``names`` below a root; all of them are the user's alone.

    With ``create``, missing ones are created for the user alone; modes of existing
    folders are never changed.  Raises OSError, including Untrusted.
    """
    if create:
        root.parent.mkdir(parents=True, exist_ok=True)
    found = _entered(Folder(root.parent, None), root, create=create)
    try:
        for name in names:
            inner = _entered(found, found.path / name, create=create)
            _close(found)
            found = inner
        yield found
    finally:
        _close(found)


def _entered(outer: Folder, path: Path, *, create: bool) -> Folder:
    """Opens a folder of an open one, or of a path."""
    at = outer.descriptor
    name = str(path) if at is None else path.name
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=at)
    if not HAS_OWNERS:
        if path.is_symlink() or not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "no folder", str(path))
        return Folder(path, None)
    try:
        place = os.open(name, _FOLDER, dir_fd=at)
    except OSError as problem:
        if problem.errno in {errno.ELOOP, errno.ENOTDIR} and path.is_symlink():
            raise Untrusted(path, f"{path} is a link") from problem
        raise
    try:
        _check_owner(path, os.fstat(place))
    except BaseException:
        os.close(place)
        raise
    return Folder(path, place)


def _check_owner(path: Path, status: os.stat_result) -> None:
    if not HAS_OWNERS:
        return
    if status.st_uid != os.geteuid():
        raise Untrusted(path, f"{path} belongs to user {status.st_uid}, not to you")
    if status.st_mode & FOREIGN_WRITERS:
        raise Untrusted(path, f"others than you may write to {path}")


def _close(opened: Folder) -> None:
    if opened.descriptor is not None:
        os.close(opened.descriptor)
