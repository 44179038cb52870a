"""The disk cache of compiled code: content-addressed, verified, private to the user.

An entry is ``<key>.bin``: a line with the digest of key and payload, then the payload.
A key covers content and versions, so an entry never goes stale; one that fails its
digest is removed and rebuilt.  A folder that others may change is neither read nor
written (`gpucodegen.runtime.storage.private`); `gpucodegen.runtime.storage.cache_size`
removes the least recently used entries.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.runtime.storage.private import Folder, Untrusted, folder

_T = TypeVar("_T")
MAGIC = b"gpucodegen-2 "
OWN = "gpucodegen-cache"
"""The folder of the cache in a folder that the user names."""


def _place() -> tuple[Path, tuple[str, ...]]:
    """The first private folder of the path to the cache, and the cache folder in it."""
    chosen = os.environ.get("GPUCODEGEN_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute(), (OWN,)
    try:
        import platformdirs
    except ImportError:  # an exported package does not require it
        above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(above, "gpucodegen"), ()
    return Path(platformdirs.user_cache_dir("gpucodegen", appauthor=False)), ()


def cache_directory() -> Path:
    """The cache folder: ``GPUCODEGEN_CACHE_DIR``, or the user's own."""
    root, names = _place()
    return root.joinpath(*names)


def cache_folder(*kinds: str, create: bool = False) -> AbstractContextManager[Folder]:
    """Opens the cache folder, or a folder in it.  Entering raises OSError."""
    root, names = _place()
    return folder(root, (*names, *kinds), create=create)


def digest(*parts: object) -> str:
    """A key for objects with a faithful ``repr``.

    >>> len(digest("source", ("sm_90", 1)))
    64
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def package_digest() -> str:
    """A digest of the intrinsics, whose code is in every kernel."""
    from gpucodegen import intrinsics
    from gpucodegen.ir import number_formats

    assert intrinsics.__file__ is not None
    files = sorted(Path(intrinsics.__file__).parent.rglob("*.py"))
    files.append(Path(number_formats.__file__))
    return digest(*(file.read_bytes() for file in files))


@cache
def sources_digest() -> str:
    """A digest of the files of this package and of islpy's version."""
    found = sorted(_stamps(str(Path(__file__).parents[2])))
    return digest(found, package_stamp("islpy"))


def package_stamp(name: str) -> tuple[str, int, int]:
    """Path, size and time of the first file of an installed package.

    They change with the installed version.  `importlib.metadata`, which gives the
    version number, would take longer than all other keys of a warm start: it loads the
    standard library's email.  ModuleNotFoundError where it is not installed.

    >>> package_stamp("numpy")[0].endswith("__init__.py")
    True
    """
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name=name)
    status = Path(spec.origin).stat()
    return spec.origin, status.st_size, status.st_mtime_ns


@cache
def package_version(name: str) -> str:
    """The version of an installed package, from the name of its metadata folder.

    >>> package_version("numpy") == __import__("numpy").__version__
    True
    """
    folder = Path(package_stamp(name)[0]).parents[1]
    for found in folder.glob(f"{name}-*.dist-info"):
        return found.name.removeprefix(f"{name}-").removesuffix(".dist-info")
    from importlib.metadata import version

    return version(name)


@cache
def sources_content() -> str:
    """The digest of this package's files, wherever they lie, and of islpy's version.

    It is cached by file stamps, as reading all files takes too long for a lookup.
    """
    store, stamps = Store("sources"), sources_digest()
    known = store.get(stamps)
    if known is not None:
        return known.decode()
    root = Path(__file__).parents[2]
    files = sorted(path for path, _, _ in _stamps(str(root)))
    contents = [(os.path.relpath(f, root), Path(f).read_bytes()) for f in files]
    found = digest(contents, package_version("islpy"))
    store.put(stamps, found.encode())
    return found


def _stamps(place: str) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of every Python file in a folder; follows links to folders.

    By `os.scandir`: path objects would take twice as long.
    """
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _stamps(entry.path)


@dataclass(frozen=True, slots=True)
class Store:
    """Entries of one kind, in a subfolder of the cache directory."""

    kind: str

    def path(self, name: str) -> Path:
        return cache_directory() / self.kind / name

    def get(self, key: str) -> bytes | None:
        """The payload of an entry, or None if it is missing or damaged."""
        content = self.read(f"{key}.bin")
        if content is None:
            return None
        header, _, payload = content.partition(b"\n")
        if header == self._header(key, payload):
            return payload
        self._guarded(lambda place: place.remove(f"{key}.bin"))
        return None

    def put(self, key: str, payload: bytes) -> bool:
        """Stores a payload; an unusable cache gives a warning, and False."""
        return self.write(f"{key}.bin", self._header(key, payload) + b"\n" + payload)

    def read(self, name: str) -> bytes | None:
        """The contents of a file, or None; if others may change it, with a warning.

        None, too, where nothing is to be kept: what is there was kept before.
        """
        from gpucodegen.runtime.storage import cache_size

        if cache_size.limit() == 0:
            return None
        return self._guarded(lambda place: place.read(name))

    def write(self, name: str, content: bytes) -> bool:
        """Writes a file; an unusable cache gives a warning, and False.

        False, too, if it is larger than the limit of the whole cache.
        """
        from gpucodegen.runtime.storage import cache_size

        if len(content) > cache_size.limit():
            return False

        def written(place: Folder) -> bool:
            place.write(name, content)
            return True

        if not self._guarded(written, create=True):
            return False
        cache_size.wrote(len(content), cache_folder)
        return True

    def _guarded(
        self, action: Callable[[Folder], _T], *, create: bool = False
    ) -> _T | None:
        """The result of an action on the folder; None if the folder cannot be used.

        Missing or unreadable files give no warning.
        """
        try:
            with cache_folder(self.kind, create=create) as place:
                return action(place)
        except OSError as problem:
            if create or isinstance(problem, Untrusted):
                refused(problem)
        return None

    def _header(self, key: str, payload: bytes) -> bytes:
        checked = hashlib.sha256(f"{self.kind}/{key}\n".encode())
        checked.update(payload)
        return MAGIC + checked.hexdigest().encode()


_TOLD: set[tuple[Path, str]] = set()
"""Reasons for an unusable cache that were reported."""


def refused(problem: OSError) -> None:
    """Warns that the cache cannot be used, once for each reason."""
    told = cache_directory(), problem.strerror or str(problem)
    if told not in _TOLD:
        _TOLD.add(told)
        errors.tell(errors.CacheUnusable(path=told[0], reason=told[1]))
