"""Compiled code on disk: content-addressed, checked, private to the user.

An entry is ``<key>.bin``: a line with the digest of the payload, then the payload.  A
key names content and versions, so an entry never goes stale; one that fails its digest
is removed and rebuilt.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpucodegen import errors

MAGIC = b"gpucodegen-1 "


def cache_directory() -> Path:
    """The cache directory: ``GPUCODEGEN_CACHE_DIR`` or the user's own."""
    chosen = os.environ.get("GPUCODEGEN_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("gpucodegen", appauthor=False))


def digest(*parts: object) -> str:
    """A key for anything with a faithful ``repr``.

    >>> len(digest("source", ("sm_90", 1)))
    64
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def package_digest() -> str:
    """Changes whenever the intrinsics do, since their code is in every kernel."""
    from gpucodegen import intrinsics
    from gpucodegen.ir import float_formats

    assert intrinsics.__file__ is not None
    files = sorted(Path(intrinsics.__file__).parent.rglob("*.py"))
    files.append(Path(float_formats.__file__))
    return digest(*(file.read_bytes() for file in files))


@cache
def sources_digest() -> str:
    """Changes whenever a file of this package, or a version of islpy, does."""
    from importlib.metadata import version

    root = Path(__file__).parents[1]
    found: list[tuple[str, int, int]] = []
    for folder, _, files in os.walk(root, followlinks=True):
        for name in files:
            if name.endswith(".py"):
                status = (path := Path(folder, name)).stat()
                found.append((str(path), status.st_size, status.st_mtime_ns))
    return digest(sorted(found), version("islpy"))


@dataclass(frozen=True, slots=True)
class Store:
    """Entries of one kind, in a subfolder of the cache directory."""

    kind: str

    def path(self, name: str) -> Path:
        """Where an entry lies."""
        return cache_directory() / self.kind / name

    def get(self, key: str) -> bytes | None:
        """The payload of an entry, or None if it is missing or damaged."""
        path = self.path(f"{key}.bin")
        try:
            content = path.read_bytes()
        except OSError:
            return None
        header, _, payload = content.partition(b"\n")
        if header == _header(payload):
            return payload
        path.unlink(missing_ok=True)
        return None

    def put(self, key: str, payload: bytes) -> bool:
        """Store a payload; an unusable cache is a warning, and False."""
        return write(self.path(f"{key}.bin"), _header(payload) + b"\n" + payload)


def _header(payload: bytes) -> bytes:
    return MAGIC + hashlib.sha256(payload).hexdigest().encode()


def write(path: Path, content: bytes) -> bool:
    """Write a file so that readers see all of it or nothing."""
    try:
        _private_folder(path.parent)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as problem:
        reason = problem.strerror or str(problem)
        errors.tell(errors.CacheUnusable(path=cache_directory(), reason=reason))
        return False
    return True


def _private_folder(path: Path) -> None:
    """Create a folder that only the user may enter."""
    root = cache_directory()
    for part in (root, path):
        part.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix" and root.stat().st_mode & 0o077:
        root.chmod(0o700)
