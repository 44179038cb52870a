"""``gpucodegen.parse``, ``gpucodegen.compile`` and ``gpucodegen.check``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gpucodegen.options import flag, make_options
from gpucodegen.program_text import read, unparsed
from gpucodegen.runtime.host.generated_code import deferred_garbage_collection

if TYPE_CHECKING:
    from gpucodegen.checking import Checked
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program


def parse(
    text: str | os.PathLike[str],
    filename: str = "",
    *,
    allow_unregistered: bool = False,
) -> Module:
    """Parse and verify MLIR of any vintage: a ``str`` is text, a path is a file.

    ``filename`` is only used in locations.  Raises ParseError, VerifyError,
    UnreadableFile, NotASource.

    >>> print(parse("func.func @f() { return }"))
    module {
      func.func @f() {
        return
      }
    }
    """
    return unparsed(text, filename, allow_unregistered=allow_unregistered).module


@deferred_garbage_collection()
def compile(  # noqa: A001 - the public name
    source: str | os.PathLike[str] | Module,
    *,
    allow_unregistered: bool = False,
    **options: object,
) -> Program:
    """Compile MLIR: a ``str`` is text, a path is a file, a module is a module.

    Raises ParseError, VerifyError, UnreadableFile, NotASource, InvalidOption.

    Options are those of `gpucodegen.options.Options`.  Functions are compiled when they
    are first called, for the shapes they are called with.

    >>> text = '''func.func @add(%a: i32, %b: i32) -> i32 {
    ...   %c = arith.addi %a, %b : i32
    ...   return %c : i32
    ... }'''
    >>> compile(text, target="cpu").add(2, 3)
    5

    Operations of other dialects run through ``handlers``:

    >>> text = '''func.func @f(%a: i32) {
    ...   "my.print"(%a) {label = "a"} : (i32) -> ()
    ...   return
    ... }'''
    >>> show = {"my.print": lambda value, label: print(label, value)}
    >>> compile(text, target="cpu", handlers=show).f(3)
    a 3

    Functions that the text only declares are found in ``externals``:

    >>> text = '''func.func private @square(f32) -> f32
    ... func.func @f(%a: f32) -> f32 {
    ...   %b = call @square(%a) : (f32) -> f32
    ...   return %b : f32
    ... }'''
    >>> compile(text, target="cpu", externals={"square": lambda x: x * x}).f(3)
    9.0
    """
    from gpucodegen.program import Program

    chosen = make_options(options)
    allow = flag("allow_unregistered", allow_unregistered) or bool(chosen.handlers)
    return Program(read(source, allow_unregistered=allow), chosen)


def check(
    program: Program | str | os.PathLike[str] | Module,
    *arguments: Any,
    function: str = "",
    target: str = "cpu",
    places: float | None = None,
    each_pass: bool = False,
) -> Checked:
    """Call a function on a target and in the interpreter, and compare.

    Both get copies of the arguments. All arrays are compared after the call, and all
    results. ``function``: its name, if the program has several. ``places``: tolerance
    of floats in units in the last place of the largest number of their array; default:
    256. ``each_pass``: the interpreter also runs the module after every pass of the
    target's pipeline, mapped kernels included, on the same arguments.
    Raises ResultsDiffer with the index of the first difference, and the errors of a
    call; with ``each_pass`` PassChangesResults or PassBreaksProgram for the first pass
    after which the interpreter computes another number or stops: the message ends with
    the difference of the two modules, ``before`` and ``after`` of the error are their
    texts.

    >>> text = '''func.func @twice(%a: memref<3xf32>) {
    ...   affine.for %i = 0 to 3 {
    ...     %v = affine.load %a[%i] : memref<3xf32>
    ...     %w = arith.addf %v, %v : f32
    ...     affine.store %w, %a[%i] : memref<3xf32>
    ...   }
    ...   return
    ... }'''
    >>> import numpy as np
    >>> print(check(text, np.ones(3, np.float32)))
    twice on target 'cpu': 3 numbers agree with the interpreter, floats within 0 places
    """
    from gpucodegen.program import Program

    whole = program if isinstance(program, Program) else compile(program)
    return whole.check(
        *arguments,
        function=function,
        target=target,
        places=places,
        each_pass=each_pass,
    )


def read_module(
    source: str | os.PathLike[str] | Module, *, allow_unregistered: bool = False
) -> tuple[Module, str]:
    """A module and its text: of a text, of the file at a path, or as given.

    Raises ParseError, VerifyError, UnreadableFile.

    >>> read_module("func.func @f() { return }")[1]
    'func.func @f() { return }'
    """
    found = read(source, allow_unregistered=allow_unregistered)
    return found.module, found.text
