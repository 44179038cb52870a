"""Programs: collections of functions that are compiled at their first call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.calls.function import Function
from gpucodegen.compiling.targets import registry
from gpucodegen.debugging.display import folded
from gpucodegen.options import Options
from gpucodegen.program_text import Source

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gpucodegen.checking import Checked
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.emit.copy_plan import PlannedTransfer
    from gpucodegen.schedule.steps import Schedule


class Program:
    """The functions of a module: ``program.name(...)`` or ``program["name"](...)``.

    Memref arguments are changed in place; tensors, memrefs and scalars are returned as
    the function returns them.
    """

    def __init__(self, source: Source, options: Options) -> None:
        """Wrap a text or a module without errors; nothing is compiled yet."""
        if registry.check(options.target) != registry.AUTO:
            registry.find(options.target).sanitizes(options)
        registry.check_plan(options.plan)
        self._source = source
        for name, _ in options.schedule:
            if name and name not in tuple(source.defined):
                raise self._undefined(name)
        self.options = options
        self._functions: dict[str, Function] = {}

    @property
    def module(self) -> Module:
        return self._source.module

    def with_target(self, target: str) -> Program:
        """The same functions on another target, with the same other options."""
        from dataclasses import replace

        return Program(self._source, replace(self.options, target=target))

    @property
    def names(self) -> tuple[str, ...]:
        """Public functions with a body, in order."""
        from gpucodegen.dialects.func import Function as FunctionView

        views = map(FunctionView, self.module.functions.values())
        return tuple(v.name for v in views if not v.is_external and not v.is_private)

    def __repr__(self) -> str:
        """Target and functions, without parsing or compiling anything."""
        names = ", ".join(self._source.defined)
        return f"<Program for {self.options.target!r}: {names}>"

    def _repr_html_(self) -> str:
        """Functions and text, for notebooks."""
        lines = "\n".join(repr(self[name]) for name in self._source.defined)
        text = self._source.text or str(self.module)
        whole = folded(f"Program for {self.options.target}", lines)
        return whole + folded("MLIR", text, is_open=False)

    def __getitem__(self, name: str) -> Function:
        """Any function with a body, private ones too."""
        if name not in tuple(self._source.defined):  # it may be anything
            raise self._undefined(name)
        if name not in self._functions:
            self._functions[name] = Function(self._source, name, self.options)
        return self._functions[name]

    def __getattr__(self, name: str) -> Function:
        """A function whose name is no attribute of the program itself."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = vars(self)[name] = self[name]  # from now on an attribute like others
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.names})

    def _ipython_key_completions_(self) -> list[str]:
        """Completions of ``program[``."""
        return [*self.names]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text and the options; functions are compiled again, or cached."""
        return Program, (self._source, self.options)

    def source(self, name: str) -> str:
        """The generated Python of a function, as last compiled."""
        return self[name].executable().source

    def stages(self, name: str) -> list[tuple[str, str]]:
        """``(pass name, MLIR text)`` after each pass that ran, as last compiled."""
        return self[name].executable().stages

    def schedule(self, name: str) -> Schedule:
        """The steps that made a function's kernels, as last compiled.

        ``compile(text, schedule={name: steps})`` makes the same kernels of them.

        >>> import gpucodegen as gcg
        >>> text = '''
        ... func.func @twice(%a: memref<64xf32>) {
        ...   affine.for %i = 0 to 64 {
        ...     %v = affine.load %a[%i] : memref<64xf32>
        ...     %w = arith.addf %v, %v : f32
        ...     affine.store %w, %a[%i] : memref<64xf32>
        ...   }
        ...   return
        ... }
        ... '''
        >>> print(gcg.compile(text, target="cpu").schedule("twice"))
        schedule(
            vectorize(),
        )
        """
        return self[name].executable().schedule

    def transfers(self, name: str) -> tuple[PlannedTransfer, ...]:
        """The plan of each ``dma_start`` and ``dma_wait``, as last compiled.

        The code generator records them in textual order; then follow, for each kernel,
        the tile products in shared memory and the placement of atomic updates.

        >>> import gpucodegen as gcg
        >>> program = gcg.compile('''
        ... func.func @f(%src: memref<64xf32>, %dst: memref<64xf32>) {
        ...   %n = arith.constant 16 : index
        ...   affine.for %b = 0 to 4 {
        ...     %fast = memref.alloc() : memref<16xf32, 2>
        ...     %tag = memref.alloc() : memref<1xi32>
        ...     affine.dma_start %src[%b * 16], %fast[0], %tag[0], %n
        ...         : memref<64xf32>, memref<16xf32, 2>, memref<1xi32>
        ...     affine.dma_wait %tag[0], %n : memref<1xi32>
        ...     affine.for %i = 0 to 16 {
        ...       %v = affine.load %fast[%i] : memref<16xf32, 2>
        ...       affine.store %v, %dst[%b * 16 + %i] : memref<64xf32>
        ...     }
        ...   }
        ...   return
        ... }
        ... ''', target="sim")
        >>> start, wait = program.transfers("f")
        >>> start.mechanism, start.width, start.reason
        ('cp.async', 16, 'every address and length is a multiple of 16 bytes')
        >>> print(wait)
        <string>:9:5: memref.dma_wait %tag: wait_group; all copies end, then a barrier
        """
        return self[name].executable().transfers

    def assembly(self, name: str) -> dict[str, str]:
        """Machine code of each kernel of a function, as last compiled.

        That is assembler text on the CPU, and PTX, which needs no GPU, for the targets
        ``cuda`` and ``sim``.  On the CPU the code is that of the last argument types:

        >>> import gpucodegen as gcg
        >>> import numpy as np
        >>> program = gcg.compile('''
        ... func.func @twice(%a: memref<64xf32>) {
        ...   affine.for %i = 0 to 64 {
        ...     %v = affine.load %a[%i] : memref<64xf32>
        ...     %w = arith.addf %v, %v : f32
        ...     affine.store %w, %a[%i] : memref<64xf32>
        ...   }
        ...   return
        ... }
        ... ''', target="cpu")
        >>> program.twice(np.ones(64, np.float32))
        >>> list(program.assembly("twice"))
        ['twice_k0']
        """
        return self[name].executable().assembly()

    def check(
        self,
        *arguments: Any,
        function: str = "",
        target: str = "",
        places: float | None = None,
        each_pass: bool = False,
    ) -> Checked:
        """Call a function and compare with the interpreter, as `gpucodegen.check`.

        ``target``: default: that of the program.  ``each_pass``: the interpreter also
        runs the module after every pass.

        >>> import gpucodegen as gcg, numpy as np
        >>> program = gcg.compile('''
        ... func.func @half(%a: memref<3xf32>) {
        ...   %c = arith.constant 0.5 : f32
        ...   affine.for %i = 0 to 3 {
        ...     %v = affine.load %a[%i] : memref<3xf32>
        ...     %w = arith.mulf %v, %c : f32
        ...     affine.store %w, %a[%i] : memref<3xf32>
        ...   }
        ...   return
        ... }''', target="cpu")
        >>> program.check(np.ones(3, np.float32)).numbers
        3
        """
        from gpucodegen.checking import PLACES, checked

        whole = self.with_target(target) if target else self
        name = function or self._only()
        bound = PLACES if places is None else places
        return checked(whole[name], arguments, bound, each_pass=each_pass)

    def _only(self) -> str:
        if len(self.names) == 1:
            return self.names[0]
        known = errors.one_of(self.names) or "none"
        advice = f"Pass function=, one of {known}"
        raise errors.UnknownFunction(name="", known=known, advice=advice)

    def export(
        self,
        folder: str | os.PathLike[str],
        *functions: str,
        examples: Mapping[str, Sequence[Any]] | None = None,
    ) -> Path:
        """Write a standalone package of the kernels; returns its folder.

        The package needs NumPy and Numba, or for the targets ``cuda`` and ``sim`` NumPy
        and CuPy. Functions are compiled for the extents of their previous calls, and
        for all others. ``functions``: names; default: all public ones. ``examples``:
        small arguments per function for the package's tests, which compare with the
        interpreter's results. The folder is new or empty, and its name is the
        package's.
        Raises NotExportable, InvalidOption, UnknownFunction; OSError if the folder
        cannot be written.

        >>> import gpucodegen as gcg, numpy as np, tempfile
        >>> program = gcg.compile('''
        ... func.func @twice(%a: memref<8xf32>) {
        ...   affine.for %i = 0 to 8 {
        ...     %v = affine.load %a[%i] : memref<8xf32>
        ...     %w = arith.addf %v, %v : f32
        ...     affine.store %w, %a[%i] : memref<8xf32>
        ...   }
        ...   return
        ... }
        ... ''', target="cpu")
        >>> with tempfile.TemporaryDirectory() as place:
        ...     made = program.export(f"{place}/doubling")
        ...     sorted(path.name for path in made.iterdir())
        ['LICENSE', 'README.md', 'doubling', 'pyproject.toml', 'tests']
        """
        from pathlib import Path

        from gpucodegen.export.package import export

        chosen = {name: self[name] for name in functions or self.names}
        given = dict(examples or {})
        for name in given:
            chosen.setdefault(name, self[name])
        return export(Path(folder), chosen, self.options.target, given)

    def _undefined(self, name: str) -> errors.Error:
        functions = self.module.functions
        if name in list(functions):
            return errors.ExternalFunction(functions[name].location, name=name)
        known = list(functions)
        advice = errors.did_you_mean(str(name), known)
        known_names = errors.one_of(known) or "none"
        return errors.UnknownFunction(name=name, known=known_names, advice=advice)
