"""Programs: functions that compile themselves for the arguments of a call."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.calls import remembered
from gpucodegen.calls.repeated import (
    Checked,
    Form,
    checked,
    form_of,
    required_target,
    unlike,
)
from gpucodegen.options import TARGETS, Options
from gpucodegen.program_text import Source

if TYPE_CHECKING:
    from gpucodegen.calls.direct import Direct
    from gpucodegen.compiling.executable import Executable
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.dialects.func import Function as FunctionView
    from gpucodegen.emit.tables.memory.copy_plan import PlannedTransfer
    from gpucodegen.ir.types import Type

MAX_SPECIALIZATIONS = 64
"""Shapes a function is compiled for before dynamic extents take over."""
MAX_FORMS = 256
"""Forms of calls whose checks are remembered."""


class Program:
    """The functions of a module: ``program.name(...)`` or ``program["name"](...)``.

    Memref arguments are changed in place; tensors, memrefs and scalars are returned as
    the function returns them.
    """

    def __init__(self, source: Source, options: Options) -> None:
        """Wrap a text or a module without errors; nothing is compiled yet."""
        self._source = source
        self.options = options
        self._functions: dict[str, Function] = {}

    @property
    def module(self) -> Module:
        """The verified module."""
        return self._source.module

    @property
    def names(self) -> tuple[str, ...]:
        """Public functions with a body, in order."""
        from gpucodegen.dialects.func import Function as FunctionView

        views = map(FunctionView, self.module.functions.values())
        return tuple(v.name for v in views if not v.is_external and not v.is_private)

    def __getitem__(self, name: str) -> Function:
        """Any function with a body, private ones too."""
        if name not in self._source.defined:  # a tuple, so that it may be anything
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
        """Attributes and functions."""
        return sorted({*super().__dir__(), *self.names})

    def source(self, name: str) -> str:
        """The generated Python of a function, as last compiled."""
        return self[name].executable().source

    def stages(self, name: str) -> list[tuple[str, str]]:
        """``(pass name, MLIR text)`` after each pass, as last compiled."""
        return self[name].executable().stages

    def transfers(self, name: str) -> tuple[PlannedTransfer, ...]:
        """How each ``dma_start`` and ``dma_wait`` is carried out, as last compiled.

        Made by the code generator as it writes the kernel, in order of the text:

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
        ('cp.async', 4, 'the source is only known to be a multiple of 4 bytes')
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

    def _undefined(self, name: str) -> errors.Error:
        functions = self.module.functions
        if name in list(functions):
            return errors.ExternalFunction(functions[name].location, name=name)
        known = list(functions)
        advice = errors.did_you_mean(str(name), known)
        known_names = errors.one_of(known) or "none"
        return errors.UnknownFunction(name=name, known=known_names, advice=advice)


Types = tuple["Type | None", ...]
"""What arguments say beyond the types of the function."""
Key = tuple[str, Types]


@dataclass(slots=True)
class Function:
    """One function of a program; compiled per target and argument types."""

    source: Source
    name: str
    options: Options
    _executables: dict[Key, Executable] = field(
        default_factory=dict["Key", "Executable"]
    )
    _last: Executable | None = None
    _direct: Direct = unlike
    _checked: dict[Form, Checked] = field(default_factory=dict["Form", "Checked"])
    _recalled: int = 0

    @property
    def view(self) -> FunctionView:
        """The function in its module."""
        from gpucodegen.dialects.func import Function as FunctionView

        return FunctionView(self.source.module.functions[self.name])

    def __call__(self, *arguments: Any) -> Any:
        """Compile if these argument types are new, check, run, return the results.

        `KeyboardInterrupt` leaves arrays that are written partly written; it comes
        between pieces of loops that threads share, and after a kernel of one thread.
        """
        try:
            done = self._direct(*arguments)
            return self._checked_call(arguments) if done is NotImplemented else done
        except errors.LaunchError as error:
            if self.source.text and not error.source_lines:
                error.with_source(self.source.text)
            raise

    def _checked_call(self, arguments: tuple[Any, ...]) -> Any:
        """Any call but one like the last."""
        form = _form(arguments)
        known = self._checked.get(form)
        done = known.launched(arguments) if known else None
        if known is not None and done is not None:
            self._use(known.executable, known.direct(arguments))
            return done[0]
        values = known.values(arguments) if known else None
        if known is None or values is None:
            executable, values = self._first(form, arguments)
            return executable.launcher(arguments, values)()
        self._use(known.executable)
        return known.executable.run(arguments, values)

    def _use(self, executable: Executable, direct: Direct = unlike) -> None:
        """Remember what ran, and what runs a call like the last one."""
        self._last, self._direct = executable, direct

    def bind(self, *arguments: Any) -> Callable[[], Any]:
        """Check the arguments once; the returned callable only runs."""
        form = _form(arguments)
        executable, values = self._first(form, arguments)
        known = self._checked.get(form)
        bound = known.bound(arguments) if known else None
        return bound or executable.launcher(arguments, values)

    def again(self, *arguments: Any) -> Direct | None:
        """What repeats a call that was made: with other arrays, and a new last one.

        None where the call is more than one launch on arrays.  The repeated call takes
        all arrays but the last one, which it makes and returns.  It returns
        `NotImplemented` where one has another element type, extent or stride.

        >>> import gpucodegen as gcg, numpy as np
        >>> twice = gcg.compile('''
        ... func.func @twice(%a: memref<8xf32>, %b: memref<8xf32>) {
        ...   affine.for %i = 0 to 8 {
        ...     %v = affine.load %a[%i] : memref<8xf32>
        ...     %w = arith.addf %v, %v : f32
        ...     affine.store %w, %b[%i] : memref<8xf32>
        ...   }
        ...   return
        ... }
        ... ''', target="cpu").twice
        >>> first = np.ones(8, np.float32), np.empty(8, np.float32)
        >>> twice(*first)
        >>> repeated = twice.again(*first)
        >>> repeated(np.arange(8, dtype=np.float32))[3], repeated(np.arange(8))
        (np.float32(6.0), NotImplemented)
        """
        known = self._checked.get(_form(arguments))
        return known.again(arguments) if known else None

    def _first(
        self, form: Form, arguments: tuple[Any, ...]
    ) -> tuple[Executable, list[Any]]:
        """What runs a call, and its values; the next of this form needs no checks."""
        found = self._recall(form, arguments)
        if found is not None:
            return found
        executable, values, types = self._prepared(arguments)
        if executable.target == "cpu":
            inputs, alias = self.view.type.inputs, self.options.alias
            known = checked(executable, inputs, arguments, values, alias=alias)
            if known is not None:
                self._learn(form, known, arguments)
                if self._wanted(types) == executable.types:
                    remembered.keep(self.source, self.name, self.options, form, known)
        return executable, values

    def _recall(
        self, form: Form, arguments: tuple[Any, ...]
    ) -> tuple[Executable, list[Any]] | None:
        """The same as an earlier process knew it."""
        made = self._recalled + len(self._executables)
        if made >= MAX_SPECIALIZATIONS or self._target(arguments) != "cpu":
            return None
        known = remembered.load(self.source, self.name, self.options, form, arguments)
        values = known.values(arguments) if known else None
        if known is None or values is None:
            return None
        self._recalled += 1
        self._learn(form, known, arguments)
        return known.executable, values

    def _learn(self, form: Form, known: Checked, arguments: tuple[Any, ...]) -> None:
        if len(self._checked) >= MAX_FORMS:
            self._checked.clear()
        self._checked[form] = known
        self._use(known.executable, known.direct(arguments))

    def _prepared(
        self, arguments: tuple[Any, ...]
    ) -> tuple[Executable, list[Any], Types]:
        """What runs these arguments, the buffers and numbers, and the types of them."""
        from gpucodegen.calls.signature import Signature

        target = self._target(arguments)
        signature = Signature.of(self.view)
        buffers = signature.convert(arguments)
        types = signature.specialized(buffers)
        executable = self.executable(target, types)
        executable.check(signature, arguments, buffers, alias=self.options.alias)
        return executable, buffers, types

    def executable(self, target: str = "", types: Types | None = None) -> Executable:
        """The compiled function; without arguments the last one, or the generic one."""
        from gpucodegen.compiling.executable import build
        from gpucodegen.tuning.stored import tuned_options

        if not target and self._last is not None:
            return self._last
        target = target or self._target(())
        known = self._executables
        types = self._wanted(types)
        if (target, types) not in known and len(known) >= MAX_SPECIALIZATIONS:
            types = self._wanted(None)
        key = (target, types)
        if key not in known:
            try:
                chosen = tuned_options(self.source.module, self.name, key, self.options)
                known[key] = build(self.source, self.name, key, chosen)
            except errors.Error as error:
                if self.source.text and not error.source_lines:
                    error.with_source(self.source.text)
                raise
        self._use(known[key])
        return known[key]

    def _wanted(self, types: Types | None) -> Types:
        """What is compiled for arguments of these types, until it is too much."""
        if types is None or not self.options.specialize:
            return (None,) * len(self.view.arguments)
        return types

    def key_for(self, arguments: tuple[Any, ...]) -> Key:
        """Target and argument types that a first call with arguments compiles for."""
        from gpucodegen.calls.signature import Signature

        signature = Signature.of(self.view)
        types = signature.specialized(signature.convert(arguments))
        return self._target(arguments), self._wanted(types)

    def _target(self, arguments: tuple[Any, ...]) -> str:
        target = os.environ.get("GPUCODEGEN_TARGET") or self.options.target
        if target not in TARGETS:
            raise errors.UnknownTarget(target=target)
        if target == "auto":
            target = "cuda" if any(map(_is_on_gpu, arguments)) else "cpu"
        if target == "cuda" and arguments:
            from gpucodegen.runtime.devices.inventory import require_cuda

            require_cuda()
        return target


def _is_on_gpu(argument: object) -> bool:
    from gpucodegen.runtime.host.buffers import offers

    return offers(argument, "__cuda_array_interface__")


def _form(arguments: tuple[Any, ...]) -> Form:
    """What decides over the checks of a call."""
    return required_target(), form_of(arguments)
