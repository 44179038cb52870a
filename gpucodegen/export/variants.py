"""A function as it was compiled for certain arguments, as files of a package.

Comes in: an executable.  Goes out: a folder with the host program, each kernel and the
constants, and the text of the record that says how they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from pprint import pformat
from typing import Any

import numpy as np

from gpucodegen.compiling.artifact import Artifact
from gpucodegen.compiling.executable import Executable
from gpucodegen.runtime.host.arguments import Known
from gpucodegen.runtime.host.spec import KernelSpec

HOST = "host.py"


@dataclass(frozen=True, slots=True)
class Form:
    """How kernels are shipped: their texts, their files' ending, their threads."""

    text: Callable[[KernelSpec], str]
    ending: str
    threads: int


def write(
    folder: Path,
    executable: Executable,
    known: tuple[Known | None, ...],
    form: Form,
    rename: Callable[[str], str],
) -> str:
    """Write the files of one variant; the text that makes its record.

    ``rename``: a source with its imports as the package has them.
    """
    folder.mkdir(parents=True)
    artifact = executable.artifact
    (folder / HOST).write_text(rename(artifact.host_source), "utf-8")
    kernels: list[KernelSpec] = []
    for spec in artifact.kernels:
        file = f"{spec.name}{form.ending}"
        (folder / file).write_text(rename(form.text(spec)), "utf-8")
        wide = spec.with_wide_indices()
        named = f"{spec.name}_wide{form.ending}" if wide else ""
        if wide:
            (folder / named).write_text(rename(form.text(wide)), "utf-8")
        shipped = replace(spec, source=file, wide=named, threads=form.threads)
        kernels.append(shipped)
    contents = {name: one.values for name, one in artifact.constants.items()}
    contents = {name: np.asarray(v) for name, v in contents.items() if v is not None}
    if contents:
        np.savez_compressed(folder / "constants.npz", allow_pickle=False, **contents)
    bare = _bare(artifact, tuple(kernels))
    return f"Variant(\n{pformat(known)},\nHERE / {folder.name!r},\n{pformat(bare)},\n)"


def _bare(artifact: Artifact, kernels: tuple[KernelSpec, ...]) -> Artifact:
    """The artifact without its texts and numbers, which are files."""
    constants: dict[str, Any] = {
        name: replace(one, values=None) for name, one in artifact.constants.items()
    }
    return replace(
        artifact,
        host_source=HOST,
        kernels=kernels,
        constants=constants,
        source="",
        transfers=(),
    )
