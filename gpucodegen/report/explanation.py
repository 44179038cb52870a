"""``gpucodegen.explain``: loops, dependences, schedules and kernels of a module."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpucodegen import errors
from gpucodegen.api import read_module
from gpucodegen.compiling.stored_tunings import Stored, in_use
from gpucodegen.compiling.targets.registry import find, mappings
from gpucodegen.debugging.display import framed
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.attributes import print_symbol
from gpucodegen.ir.types import MemRefType, TensorType, Type
from gpucodegen.options import Options, make_options
from gpucodegen.passes.analysis.queries import functions_with_body
from gpucodegen.program_text import of_module
from gpucodegen.records import dataclass
from gpucodegen.report import NOTHING, kernels
from gpucodegen.report.calls import Call
from gpucodegen.report.nest_text import copy_lines, mapping_lines, nest_lines
from gpucodegen.report.page import PagePart, page
from gpucodegen.report.pictures.drawing import Drawing, kernel_pictures, nest_pictures
from gpucodegen.report.pictures.svg import written
from gpucodegen.report.plots.picture import tuning_pictures
from gpucodegen.report.records import (
    Record,
    error_record,
    mapping_record,
    nest_record,
)
from gpucodegen.report.sizes import Sizes, make_sizes
from gpucodegen.report.subjects import Nest, Subject, subject
from gpucodegen.report.wording import Lines, SourceLine, equations, indented, section

VERSION = 1
"""The version of the record format."""
LARGE = 1024
"""Default extents for the choice of the mapping."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One function: its nests as written, its kernels per target.

    Nests are numbered over all functions; ``first`` is the number of its first one.
    """

    first: int
    subject: Subject
    mappings: tuple[kernels.Mapping, ...]
    sizes: Mapping[str, int]
    """Extents for which the mapping was chosen."""
    tuned: tuple[Stored, ...] = ()
    """The tuned schedules that `compile` uses."""

    @property
    def title(self) -> str:
        """The function's symbol."""
        return print_symbol(self.subject.name)

    @property
    def nests(self) -> tuple[tuple[int, Nest], ...]:
        """Its nests with their numbers."""
        return tuple(enumerate(self.subject.nests, start=self.first))

    def nest_title(self, number: int) -> str:
        """Symbol and number of a nest."""
        return f"{self.title}, nest {number}"

    def mapping_title(self, mapping: kernels.Mapping) -> str:
        """Target and sizes of a mapping."""
        given = equations(self.sizes)
        return f"{self.title} on {mapping.target}{f' for {given}' if given else ''}"

    def record(self) -> Record:
        """The function as plain values."""
        found = self.subject
        return {
            "name": found.name,
            "copies": [error_record(copied) for copied in found.copies],
            "nests": [nest_record(found, nest, n) for n, nest in self.nests],
            "tuned": list(map(str, self.tuned)),
            "mappings": [mapping_record(one, self.sizes) for one in self.mappings],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the compiler maps each nest of a module as it does.

    ``text()``, ``json()``, ``svg()`` and ``html()`` show it; ``str()`` is the text.
    ``refused``: per function that has no form as affine nests, the reason.
    """

    functions: tuple[Explained, ...]
    source: SourceLine
    sizes: Sizes
    refused: Mapping[str, errors.Error]

    def text(self) -> str:
        """Loop kinds with reasons, bands, accesses, footprints, trees, kernels."""
        return _visible("\n".join(self._lines()))

    def __str__(self) -> str:
        return self.text()

    def record(self) -> Record:
        """The content of the text as plain values."""
        return {
            "version": VERSION,
            "functions": [function.record() for function in self.functions],
            "refused": {n: error_record(error) for n, error in self.refused.items()},
        }

    def json(self) -> str:
        """The record as JSON."""
        return json.dumps(self.record(), indent=2)

    def svg(
        self,
        nest: int = 0,
        *,
        picture: str = "space",
        loops: Sequence[str] = (),
        tiles: Sequence[int] = (4, 4),
    ) -> str:
        """One picture of one nest; nests are numbered over all functions.

        ``picture``: "space", the iterations of two ``loops`` (default: the most
        informative ones) in ``tiles``, (0, 0) for none; "tree", the schedule tree;
        "kernel", the cells that blocks and threads write in the first kernel made from
        the nest. Raises NoPicture, InvalidOption.
        """
        drawing = Drawing(self.sizes, picture, tuple(loops), tuple(tiles))
        numbered = [(f, *nested) for f in self.functions for nested in f.nests]
        if not 0 <= nest < len(numbered):
            raise errors.NoPicture(
                what=f"nest {nest}",
                reason=f"there are {len(numbered)} nests, counted from 0",
                hint="Name a nest that the text lists",
            )
        function, number, found = numbered[nest]
        title = function.nest_title(number)
        return written(drawing.nest(function.subject, found, title, function.mappings))

    def html(self) -> str:
        """One page without external resources: the text and all pictures."""
        names = ", ".join(function.title for function in self.functions)
        shown = tuple(map(_visible, self.source.lines))
        shown = shown if any(shown) else ()
        return page(f"How {names} is judged", list(self._parts()), shown)

    def __repr__(self) -> str:
        names = ", ".join(function.title for function in self.functions)
        return f"<Explanation of {names}; str() is its text>"

    def _repr_html_(self) -> str:
        """The page in a frame, for notebooks."""
        return framed(self.html(), "Explanation")

    def _lines(self) -> Lines:
        for function in self.functions:
            yield f"{function.title}"
            yield from indented(copy_lines(function.subject, self.source))
            for number, nest in function.nests:
                yield f"  nest {number}"
                yield from indented(nest_lines(function.subject, nest, self.source), 4)
            yield from indented(section("tuned", map(str, function.tuned)))
            for mapping in function.mappings:
                yield f"  {function.mapping_title(mapping)}"
                lines = mapping_lines(mapping, function.subject.nests)
                yield from indented(lines, 4)
        for name, error in self.refused.items():
            yield from section(print_symbol(name), [f"refused: {error.message}"])

    def _parts(self) -> Iterator[PagePart]:
        for function in self.functions:
            yield PagePart(2, function.title)
            found = function.subject
            copied = _visible("\n".join(copy_lines(found, self.source)))
            if copied:
                yield PagePart(3, f"{function.title}, tensors", copied)
            for number, nest in function.nests:
                title = function.nest_title(number)
                text = "\n".join(nest_lines(found, nest, self.source))
                pictures = nest_pictures(found, nest, title, self.sizes)
                yield PagePart(3, title, _visible(text), pictures)
            if function.tuned:
                text = "\n".join(map(str, function.tuned))
                drawn = tuning_pictures(function.tuned)
                yield PagePart(3, f"{function.title}, tuned", _visible(text), drawn)
            for mapping in function.mappings:
                text = "\n".join(mapping_lines(mapping, found.nests))
                pictures = kernel_pictures(mapping)
                yield PagePart(
                    3, function.mapping_title(mapping), _visible(text), pictures
                )
                source = mapping.source(found.name)
                if source:
                    title = f"{function.title} on {mapping.target}, generated source"
                    yield PagePart(4, title, _visible(source), is_open=False)
        for name, error in self.refused.items():
            yield PagePart(2, print_symbol(name), _visible(f"refused: {error.message}"))


def explain(
    source: str | os.PathLike[str] | Module,
    *,
    function: str = "",
    sizes: Sizes | Mapping[str, int] | int | str | None = None,
    targets: Sequence[str] | None = None,
    options: Mapping[str, Any] = NOTHING,
    allow_unregistered: bool = False,
) -> Explanation:
    r"""Explains every function with a body, or the one named ``function``.

    ``source`` is MLIR text, a path or a module. ``sizes`` gives parameters values:
    ``"N=8,M=6"``, a dictionary, or one number for all; by default pictures use 8 and
    the mapping 1024. ``targets``: the mappings to show, default all. ``options``: those
    of `gpucodegen.compile`.

    Raises ParseError, VerifyError, UnknownFunction, InvalidOption; and the error of a
    function if all functions are refused.

    >>> text = '''func.func @shift(%A: memref<9xf32>) {
    ...   affine.for %i = 0 to 8 {
    ...     %x = affine.load %A[%i] : memref<9xf32>
    ...     affine.store %x, %A[%i + 1] : memref<9xf32>
    ...   }
    ...   return
    ... }'''
    >>> lines = explain(text, targets=[]).text().splitlines()
    >>> print("\n".join(lines[:8]))
    @shift
      nest 0
        <string>:2:3: affine.for %i = 0 to 8 {
          loops
            i: sequential
              read after write on A, distance (1)
              S0 at (i=0) writes A[1] and S0 at (i=1) reads it
              writes at <string>:4:5: affine.store %x, %A[%i + 1] : memref<9xf32>
    """
    module, text = read_module(source, allow_unregistered=allow_unregistered)
    targets = mappings() if targets is None else targets
    asked = make_options(dict(options))
    return explain_module(module, text, function, make_sizes(sizes), targets, asked)


def explain_module(
    module: Module,
    text: str,
    function: str,
    sizes: Sizes,
    targets: Sequence[str],
    options: Options | None = None,
    call: Call | None = None,
) -> Explanation:
    """As `explain` for a parsed module; ``text`` is quoted where it is known.

    ``call``: the call of ``function`` whose kernels are shown.
    """
    known = [symbol_name(op) for op in functions_with_body(module)]
    names = [name for name in module.functions if name in known]
    if function and function not in names:
        raise errors.UnknownFunction(name=function, known=errors.one_of(names))
    subjects: list[Subject] = []
    refused: dict[str, errors.Error] = {}
    for name in [function] if function else names:
        try:
            subjects.append(subject(module, name))
        except errors.Error as error:
            refused[name] = error
    if refused and not subjects:
        raise next(iter(refused.values()))
    sizes.check(n for s in subjects for found in s.names.values() for n in found)
    counts = [len(s.nests) for s in subjects]
    whole = of_module(module) if call is None else call.function.source
    asked = options or Options()
    each = [replace(asked, target=find(target).name) for target in targets]
    functions = (
        Explained(
            sum(counts[:i]),
            s,
            *(_mapped(module, s, sizes, each) if call is None else _run(call, targets)),
            tuple(in_use(whole, s.name, each)),
        )
        for i, s in enumerate(subjects)
    )
    return Explanation(tuple(functions), SourceLine.of(text), sizes, refused)


def _run(
    call: Call, targets: Sequence[str]
) -> tuple[tuple[kernels.Mapping, ...], Mapping[str, int]]:
    """The mappings of a call, and its index arguments."""
    module, name = call.function.source.module, call.function.name
    mappings = (
        kernels.mapping(module, name, *call.compiled_as(target), call.numbers)
        for target in targets
    )
    return tuple(mappings), call.numbers


def _mapped(
    module: Module, found: Subject, sizes: Sizes, options: Sequence[Options]
) -> tuple[tuple[kernels.Mapping, ...], dict[str, int]]:
    """The mappings, and the extents for which they were chosen."""
    arguments = module.functions[found.name].regions[0].blocks[0].arguments
    types = [
        _sized(value.type, shape, found, sizes)
        for value, shape in zip(arguments, found.shapes, strict=True)
    ]
    extents = {name for shape in found.shapes for name in shape or ()}
    given = {
        names[-1]: sizes.of(names, LARGE)
        for name, names in found.names.items()
        if name in extents
    }
    numbers = {v.name: sizes.of((v.name,), LARGE) for v in arguments}
    keys = (kernels.key_of(module, found.name, o.target, types) for o in options)
    mappings = (
        kernels.mapping(
            module, found.name, key, replace(o, verify=False, tuned=False), numbers
        )
        for key, o in zip(keys, options, strict=True)
    )
    return tuple(mappings), given


def _sized(
    ty: Type,
    shape: tuple[int | str | None, ...] | None,
    found: Subject,
    sizes: Sizes,
) -> Type | None:
    """The type of an argument with sizes for its ``?``; None where it has no size."""
    if not isinstance(ty, MemRefType | TensorType) or None not in ty.shape:
        return None
    names = shape or ("",) * len(ty.shape)
    return replace(
        ty,
        shape=tuple(
            sizes.of(found.names.get(str(name), ()), LARGE) if n is None else n
            for n, name in zip(ty.shape, names, strict=True)
        ),
    )


_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _visible(text: str) -> str:
    r"""Text without control characters that move a terminal's cursor.

    >>> print(_visible("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
