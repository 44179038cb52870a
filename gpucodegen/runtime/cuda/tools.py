"""The assembler and the disassembler of CUDA's wheels, or of an installed toolkit.

The extra ``report`` brings both: ``nvidia-cuda-nvcc`` has ``ptxas`` and
``nvidia-cuda-nvdisasm`` has ``nvdisasm``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

EXTRA = "pip install 'gpucodegen[report]'"


def tool(name: str) -> str:
    """The path of a program: of the newest wheel, else of ``PATH``; or nothing.

    >>> tool("no-such-program")
    ''
    """
    found = importlib.util.find_spec("nvidia")
    file = f"{name}.exe" if os.name == "nt" else name
    wheels = [
        path
        for folder in (found.submodule_search_locations or () if found else ())
        for path in Path(folder).glob(f"cu*/bin/{file}")
    ]
    newest = max(wheels, key=_version, default=None)
    return str(newest) if newest is not None else shutil.which(name) or ""


def _version(path: Path) -> int:
    digits = re.sub(r"\D", "", path.parent.parent.name)
    return int(digits or 0)


def assemble(ptx: str, architecture: str) -> tuple[bytes, str]:
    """Machine code of a PTX text, and what ``ptxas -v`` said of it."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        words = [tool("ptxas"), "-v", "-arch", architecture, str(source)]
        log = _output([*words, "-o", str(made)])
        return made.read_bytes(), log


def disassemble(cubin: bytes) -> str:
    """The text of machine code."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        return _output([tool("nvdisasm"), "-c", str(path)])


def _output(words: list[str]) -> str:
    done = subprocess.run(  # noqa: S603 - a program of a wheel, on a file of ours
        words, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(done.returncode, f"{words[0]} failed: {done.stderr.strip()}")
    return done.stdout + done.stderr
