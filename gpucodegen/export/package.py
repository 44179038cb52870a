"""``program.export``: writes a standalone package of generated kernels.

Input: functions of a program. Output: a folder with a package of that name, which needs
NumPy and Numba, or NumPy and CuPy, and tests that repeat stored calls. Each variant of
a function is a folder with the host program, kernels, constants, and the record that
describes how they are called.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from pprint import pformat
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.function import Function
from gpucodegen.compiling.artifact import Artifact
from gpucodegen.compiling.executable import Executable
from gpucodegen.debugging.version import __version__
from gpucodegen.emit.source import PythonNames
from gpucodegen.export import example, files, support, texts
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import Known
from gpucodegen.runtime.host.spec import KernelSpec

HOST = "host.py"


@dataclass(frozen=True, slots=True)
class Form:
    """The format of kernels: their texts, file ending and number of threads."""

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
    """Write the files of one variant; returns the text of its record.

    ``rename``: rewrites a source's imports for the package.
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
    """The artifact without its texts and numbers, which are separate files."""
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


TARGETS = {"auto": "cpu", "cpu": "cpu", "cuda": "cuda", "sim": "cuda"}
"""The kind of package, by the target of its program."""
COMPILED = {"auto": "cpu"}
"""The target that compiles it, if it differs."""
ROOTS = {
    "cpu": ("gpucodegen.export.launcher", "gpucodegen.runtime.cpu.engine"),
    "cuda": ("gpucodegen.export.launcher", "gpucodegen.runtime.cuda.engine"),
}
COMMON = ("gpucodegen.export.example",)
EXCHANGED = {
    "cpu": {"gpucodegen.runtime.devices.choice": "gpucodegen.export.without_devices"},
    "cuda": {"gpucodegen.runtime.cuda.compilation": "gpucodegen.export.stored_ptx"},
}
LEFT_OUT = {
    "cpu": (
        "schedule",
        "runtime.cuda",
        "intrinsics.cuda",
        *("intrinsics.direct_launch", "intrinsics.direct_layout"),
        "ptx",
    ),
    "cuda": (
        "schedule",
        "intrinsics.cpu",
        "intrinsics.direct_launch",
        "intrinsics.direct_layout",
        "intrinsics.cuda",
        *("runtime.cpu.engine", "runtime.cpu.kernels", "runtime.cpu.pool"),
        *("runtime.cpu.own_pool", "runtime.cpu.numba_pool"),
    ),
}
KERNELS: Mapping[str, tuple[Callable[[KernelSpec], str], str]] = {
    "cpu": (attrgetter("source"), ".py"),
    "cuda": (files.text_of, ".ptx"),
}
"""The text of kernels of each kind, and their file ending."""
MOST_STORED = 1 << 22
"""Largest number of elements of a stored example, which the interpreter computes."""
Examples = Mapping[str, Sequence[Any]]


def export(
    folder: Path, functions: Mapping[str, Function], target: str, examples: Examples
) -> Path:
    """Write a package with these functions; returns its folder.

    Each is compiled for the arguments of its previous calls, and for all others.
    ``examples``: arguments by function, for a call that tests repeat. Raises
    NotExportable, InvalidOption, and the errors of compilation.
    """
    package = _package_name(folder)
    kind = TARGETS.get(target)
    if kind is None:
        hint = f"Choose one of {', '.join(TARGETS)}"
        raise errors.InvalidOption(name="target", value=target, hint=hint)
    for name, function in functions.items():
        _check(name, function)
    named = PythonNames()
    names = {name: named.fresh(name, "f", lasting=True) for name in functions}
    writer = _Writer(folder, package, kind)
    stored: list[tuple[str, str]] = []
    for name, function in functions.items():
        arguments = examples.get(name)
        writer.function(names[name], function, target)
        if arguments is not None:
            stored.append(
                (names[name], writer.example(names[name], function, arguments))
            )
    writer.rest(list(names.values()), stored, functions)
    return folder


def _package_name(folder: Path) -> str:
    """The package's name, which is the folder's. Raises InvalidOption."""
    name = folder.name
    if not name.isidentifier() or keyword.iskeyword(name) or name == support.OURS:
        hint = (
            "Name the folder as a package of Python may be called, such as my_kernels"
        )
        raise errors.InvalidOption(name="folder", value=str(folder), hint=hint)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "Choose a folder that is new, or empty"
        raise errors.InvalidOption(name="folder", value=str(folder), hint=hint)
    return name


def _check(name: str, function: Function) -> None:
    """Refuse a function that needs more than its kernels."""
    reason = hint = ""
    if function.options.outside:
        reason = f"it may call {', '.join(function.options.outside)}, which are Python"
        hint = "Export a program without handlers= and externals="
    mapped = [p for p in function.signature.parameters if p.layout is not None]
    if mapped:
        reason = f"only the compiler lays out argument {mapped[0].name}"
        hint = "Give it a strided layout, or none"
    if reason:
        raise errors.NotExportable(function=name, reason=reason, hint=hint)


def _architectures(functions: Mapping[str, Function]) -> str:
    from gpucodegen.runtime.cuda.compilation import architecture_of

    names = {
        architecture_of(spec)
        for function in functions.values()
        for executable in function.specializations.made.values()
        for spec in executable.kernels
    }
    return f"NVIDIA's GPUs ({', '.join(sorted(names))})"


PROCESSORS: Mapping[str, Callable[[Mapping[str, Function]], str]] = {
    "cpu": lambda _: "CPUs",
    "cuda": _architectures,
}
"""Description of the processors that can run the kernels of each kind."""


class _Writer:
    def __init__(self, folder: Path, package: str, kind: str) -> None:
        self.folder = folder
        self.package = package
        self.kind = kind
        self.inner = folder / package
        self.support = f"{package}.{texts.SUPPORT}"
        self.rename: Callable[[str], str] = partial(support.renamed, new=self.support)

    def function(self, name: str, function: Function, target: str) -> None:
        """The module of a function, and a folder for each variant."""
        form = Form(*KERNELS[self.kind], function.options.threads or 0)
        records: list[str] = []
        for known, executable in function.variants(COMPILED.get(target, target)):
            place = self.inner / "functions" / f"{name}_{len(records)}"
            records.append(write(place, executable, known, form, self.rename))
        names = PythonNames()
        parameters = [names.fresh(p.name) for p in function.signature.parameters]
        text = texts.FUNCTION.format(
            name=name,
            package=self.package,
            support=self.support,
            signature=str(function.signature).replace("\\", "\\\\").replace('"', "'"),
            variants=",\n".join(records),
            record=pformat(function.signature),
            refuses=function.options.alias == "refuse",
            parameters=", ".join(parameters),
        )
        self._write(f"{self.package}/functions/{name}.py", text)

    def example(self, name: str, function: Function, arguments: Sequence[Any]) -> str:
        """The stored call of a function; returns the file's name."""
        from gpucodegen.calls.interpreted import launcher
        from gpucodegen.ir.types import element_type

        arrays = [np.array(argument) for argument in arguments]
        if sum(array.size for array in arrays) > MOST_STORED:
            hint = f"Pass arrays of at most {MOST_STORED} numbers together"
            value = f"{sum(array.size for array in arrays)} numbers"
            raise errors.InvalidOption(name="examples", value=value, hint=hint)
        after = [array.copy() if array.shape else array[()] for array in arrays]
        made = launcher(
            function.source.module, function.signature, function.options, after
        )()
        results = example.several(made)
        kinds = [p.dtype for p in function.signature.parameters]
        kinds += [str(element_type(ty)) for ty in function.view.type.results]
        file = f"{name}.npz"
        place = self.folder / "tests"
        place.mkdir(parents=True, exist_ok=True)
        example.keep(place / file, kinds, arrays, after, results)
        return file

    def rest(
        self,
        names: Sequence[str],
        stored: Sequence[tuple[str, str]],
        functions: Mapping[str, Function],
    ) -> None:
        """Support modules, the package's public module, tests and metadata."""
        roots = *ROOTS[self.kind], *COMMON
        found = support.modules(roots, EXCHANGED[self.kind], LEFT_OUT[self.kind])
        for module, text in found.items():
            place = support.place(module)
            self._write(f"{self.package}/{texts.SUPPORT}/{place}", self.rename(text))
        said = {
            "package": self.package,
            "support": self.support,
            "version": __version__,
            "target": PROCESSORS[self.kind](functions),
        }
        requires = texts.REQUIRES[self.kind]
        calls = "\n".join(
            f"{self.package}.{name}{str(function.signature).removeprefix(given)}"
            for name, (given, function) in zip(names, functions.items(), strict=True)
        )
        files = {
            f"{self.package}/__init__.py": texts.package_init(self.package, names),
            f"{self.package}/functions/__init__.py": '"""The functions."""\n',
            f"{self.package}/_engine.py": texts.ENGINES[self.kind].format(**said),
            "pyproject.toml": texts.PROJECT.format(
                requires=texts.quoted(requires), **said
            ),
            "README.md": texts.README.format(
                requires=", ".join(requires),
                calls=calls,
                emulator=texts.EMULATORS[self.kind],
                **said,
            ),
            "LICENSE": texts.licence(),
            f"tests/test_{self.package}.py": texts.TESTS.format(
                calls=[*stored], **said
            ),
        }
        for name, text in files.items():
            self._write(name, text)

    def _write(self, name: str, text: str) -> None:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
