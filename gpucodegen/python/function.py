"""``gpucodegen.jit``: a Python function that is compiled for its argument types."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.function import Function
from gpucodegen.compiling.targets.registry import chosen, find
from gpucodegen.options import make_options
from gpucodegen.python import stored_translations
from gpucodegen.python.results import ArrayResult, Given, Made, leaves, rebuilt
from gpucodegen.python.source import read
from gpucodegen.python.types import (
    ArgumentType,
    ArrayType,
    Static,
    dtype_of,
    is_python,
    of_annotation,
    required,
)
from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program
    from gpucodegen.program_text import Source
    from gpucodegen.report.calls import Call
    from gpucodegen.report.explanation import Explanation
    from gpucodegen.report.gpu.report import GpuReport
    from gpucodegen.schedule.steps import Schedule
    from gpucodegen.tuning.result import TuneResult

Types = tuple[ArgumentType, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A function for arguments of certain types, and its program."""

    made: Made
    program: Program
    is_interpreted: bool = False

    @property
    def module(self) -> Module:
        return self.program.module

    @property
    def function(self) -> Function:
        return self.program[self.made.symbol]


class JitFunction:
    """A Python function that is compiled for the types of its arguments.

    Calls behave as those of ``py_func``, the function itself: arrays are changed in
    place, and results are returned.
    """

    py_func: Callable[..., Any]
    __name__: str

    def __init__(
        self, function: Callable[..., Any], options: Mapping[str, Any]
    ) -> None:
        """Store the function; its source is read at the first call."""
        self.py_func = function
        self.options = dict(options)
        self.signature = inspect.signature(function)
        self._made: dict[Types, Compiled] = {}
        functools.update_wrapper(self, function)
        self.__signature__ = self.signature

    def __repr__(self) -> str:
        return f"<jit {self.__name__}{self.signature}>"

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.signature.parameters)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compile if these types are new, run, and return the function's result."""
        given = self._given(arguments, named)
        with self._lines():
            types = self._types(given)
            made = self.compiled(types)
            given = _dynamic(types, given)
            if made.is_interpreted:
                self._check_apart(made, given)
            result = made.function(*given)
        return _restored(made.made.results, result, given)

    def mlir(self, *arguments: Any, **named: Any) -> str:
        """The MLIR for arguments of these types; without any, for the annotations.

        >>> from gpucodegen.python.function import jit
        >>> @jit
        ... def add(x: float, y: float):
        ...     return x + y
        >>> print(add.mlir())
        module {
          func.func @add(%x: f64, %y: f64) -> f64 {
            %0 = arith.addf %x, %y : f64
            return %0 : f64
          }
        }
        """
        return str(self._for(arguments, named).module)

    def explain(
        self, *arguments: Any, targets: Sequence[str] | None = None, **named: Any
    ) -> Explanation:
        """The proof results of each nest with the lines of Python, as `gcg.explain`.

        The kernels are those of a call with these arguments.
        """
        from gpucodegen.compiling.targets.registry import mappings
        from gpucodegen.report.explanation import explain_module
        from gpucodegen.report.sizes import Sizes

        made = self._sized(arguments, named)
        shown = mappings() if targets is None else targets
        with self._lines():
            call = self._call(arguments, named)
            return explain_module(
                made.module,
                read(self.py_func).text,
                made.made.symbol,
                Sizes(),
                shown,
                made.program.options,
                call,
            )

    def report(
        self, *arguments: Any, arch: str = "", device: str = "", **named: Any
    ) -> GpuReport:
        """What limits the kernels of a call on a GPU, estimated without one.

        ``arch`` replaces the architecture of the call's own kernels.
        """
        from gpucodegen.report.gpu.report import ARCHITECTURE, report_module
        from gpucodegen.report.sizes import Sizes

        with self._lines():
            made, call = self._for(arguments, named), self._call(arguments, named)
            own = made.program.options.arch
            if call is not None and find(call.target).runs_launches:
                own = call.arch
                stated = arch or own
            else:
                stated = arch or own or ARCHITECTURE
            return report_module(
                made.module,
                read(self.py_func).text,
                arch or own or ARCHITECTURE,
                device,
                made.made.symbol,
                Sizes(),
                {**self.options, "arch": stated},
                call,
            )

    def tune(self, *arguments: Any, **options: Any) -> TuneResult:
        """Time schedules for these arguments and keep the fastest, as `gcg.tune` does.

        Options are those of `gcg.tune`; later calls use the result.
        """
        from gpucodegen.tuning.tune import tune

        given = self._given(arguments, {})
        with self._lines():
            types = self._types(given)
            made = self.compiled(types)
            chosen = {**self.options, **options}
            arguments = tuple(_dynamic(types, given))
            found = tune(made.module, made.made.symbol, *arguments, **chosen)
        self._made.clear()  # calls ask the store of winners again
        return found

    def source(self, *arguments: Any, **named: Any) -> str:
        """The generated Python that a call with these arguments runs."""
        call = self._call(arguments, named)
        if call is not None:
            return call.function.compiled_for(call.arguments)[0].source
        made = self._for(arguments, named)
        return made.program.source(made.made.symbol)

    def schedule(self, *arguments: Any, **named: Any) -> Schedule:
        """The steps that made the kernels of a call with these arguments.

        ``jit(schedule=steps)`` makes the same kernels of them.
        """
        call = self._call(arguments, named)
        if call is not None:
            return call.function.compiled_for(call.arguments)[0].schedule
        made = self._for(arguments, named)
        return made.program.schedule(made.made.symbol)

    def program(self, *arguments: Any, **named: Any) -> Program:
        """The program for arguments of these types: stages, assembly and more."""
        return self._for(arguments, named).program

    # -- one form of the function ------------------------------------------------------

    def compiled(self, types: Types) -> Compiled:
        """The function for arguments of these types.  Raises PythonError."""
        if types not in self._made:
            self._made[types] = self._compile(types)
        return self._made[types]

    def _compile(self, types: Types) -> Compiled:
        from gpucodegen.program import Program

        source, made = self._translated(types)
        options = make_options(self.options)
        record = chosen(os.environ.get("GPUCODEGEN_TARGET") or options.target, ())
        is_interpreted = record.interprets or (
            not record.has_own_memory and record.sanitizes(options)
        )
        return Compiled(made, Program(source, options), is_interpreted)

    def _check_apart(self, made: Compiled, given: Sequence[Any]) -> None:
        """Raise OverlappingArguments, as compiled targets do.

        The interpreter itself takes arrays that share memory, but the translation is
        for separate ones.
        """
        from gpucodegen.dialects import func
        from gpucodegen.python.written_buffers import READS_AND_CALLS, writes

        function = func.Function(made.module.functions[made.made.symbol])
        body = function.operation.nested
        arrays: list[tuple[str, Any, bool]] = [
            (name, value, writes(body, argument, reads=READS_AND_CALLS) > 0)
            for name, value, argument in zip(
                self.parameters, given, function.arguments, strict=True
            )
            if isinstance(value, np.ndarray)
        ]
        for (one, a, first), (other, b, second) in combinations(arrays, 2):
            if (first or second) and np.may_share_memory(a, b):
                raise errors.OverlappingArguments(
                    function=self.__name__, first=one, second=other
                )

    def _translated(self, types: Types) -> tuple[Source, Made]:
        """The translation for some types, made now or by an earlier process."""
        is_static = any(isinstance(t, Static) for t in types)
        key = None if is_static else stored_translations.key_of(self.py_func, types)
        known = stored_translations.recalled(key) if key else None
        if known is not None:
            return known
        from gpucodegen.python.context import Callee
        from gpucodegen.python.units import Unit

        unit = Unit()
        made = unit.function(Callee(self.py_func), types)
        source = stored_translations.translated(unit.module())
        if key:
            stored_translations.keep(key, source, made)
        return source, made

    def _for(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Compiled:
        if not arguments and not named and self.parameters:
            missing = [n for n, t in self._annotated().items() if t is None]
            if not missing:
                return self.compiled(tuple(self._annotated().values()))
        with self._lines():
            return self.compiled(self._types(self._given(arguments, named)))

    def _call(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Call | None:
        from gpucodegen.report.calls import Call

        if not arguments and not named:
            return None
        given = self._given(arguments, named)
        with self._lines():
            types = self._types(given)
            function = self.compiled(types).function
            return Call(function, tuple(_dynamic(types, given)))

    def _sized(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Compiled:
        """The function specialized for the extents of these arrays."""
        if not arguments and not named:
            return self._for(arguments, named)
        given = self._given(arguments, named)
        types = [
            ArrayType(t.dtype, tuple(v.shape), t.contiguous)
            if isinstance(t, ArrayType)
            else t
            for t, v in zip(self._types(given), given, strict=True)
        ]
        with self._lines():
            return self.compiled(tuple(types))

    def _annotated(self) -> dict[str, ArgumentType | None]:
        globals_ = getattr(self.py_func, "__globals__", {})
        found: dict[str, ArgumentType | None] = {}
        for name, parameter in self.signature.parameters.items():
            note = parameter.annotation
            if isinstance(note, str) and of_annotation(note) is None:
                note = _evaluated(note, globals_)
            found[name] = of_annotation(note)
        return found

    def _given(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments in order, with defaults. Raises WrongPythonCall."""
        if not named and len(arguments) == len(self.signature.parameters):
            return list(arguments)
        try:
            bound = self.signature.bind(*arguments, **named)
        except TypeError as problem:
            raise errors.WrongPythonCall(
                function=self.__name__, signature=self.signature, problem=problem
            ) from None
        bound.apply_defaults()
        return list(bound.arguments.values())

    def _types(self, given: Sequence[Any]) -> Types:
        """Types of arguments, from annotations or else from values."""
        notes = self._notes
        return tuple(
            [
                note if note is not None else required(value, name, self.__name__)
                for value, (name, note) in zip(given, notes.items(), strict=True)
            ]
        )

    @functools.cached_property
    def _notes(self) -> dict[str, ArgumentType | None]:
        kinds = {p.kind for p in self.signature.parameters.values()}
        starred = kinds & {
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        }
        if starred:
            source = read(self.py_func)
            raise errors.UnsupportedPython(
                source.location(source.tree),
                what="`*` and `**` among the parameters",
                hint="Name each of them",
            ).with_source(source.text)
        return self._annotated()

    @contextmanager
    def _lines(self) -> Generator[None]:
        """Attach the Python source line to errors."""
        try:
            yield
        except errors.Error as error:
            if error.place is not None and not error.source_lines:
                error.with_source(read(self.py_func).text)
            raise


def _dynamic(types: Types, given: list[Any]) -> list[Any]:
    """The arguments that the compiled function takes."""
    if not any(isinstance(t, Static) for t in types):
        return given
    return [v for v, t in zip(given, types, strict=True) if not isinstance(t, Static)]


def _evaluated(note: str, names: dict[str, Any]) -> Any:
    """An annotation that was stored as text."""
    try:
        return eval(note, names)  # noqa: S307 - the function's own annotation
    except Exception:  # noqa: BLE001 - then it says nothing
        return None


def _restored(results: Any, returned: Any, given: Sequence[Any]) -> Any:
    """Results in the form that the Python function returns them."""
    kinds = list(leaves(results))
    count = sum(not (k is None or isinstance(k, Given)) for k in kinds)
    values = iter(returned if count > 1 else (returned,))
    return rebuilt(results, iter([_one(kind, values, given) for kind in kinds]))


def _one(kind: Any, values: Any, given: Sequence[Any]) -> Any:
    if kind is None:
        return None
    if isinstance(kind, Given):
        return given[kind.number]
    value = next(values)
    if isinstance(kind, ArrayResult):
        is_same = value.dtype is kind.dtype or str(value.dtype) == kind.dtype.name
        return value if is_same else value.view(kind.dtype)
    if is_python(kind):
        return kind(value)
    if kind.kind == "u":
        value &= np.iinfo(kind).max
    return dtype_of(kind).type(value)


@overload
def jit(function: Callable[..., Any], /) -> JitFunction: ...
@overload
def jit(**options: Any) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a Python function of loops, indices, arithmetic and arrays.

    Used as ``@jit`` or as ``@jit(target="sim")``; options are those of
    `gpucodegen.compile`. The function's source is read at its first call, and compiled
    for the types of the arguments: those of annotations, else those of the call.
    Numbers in globals are frozen then.

    docs/python.md describes the supported subset; anything else raises a `PythonError`
    at its line with a suggestion. The function itself is ``f.py_func``.

    >>> import numpy as np
    >>> @jit(target="cpu")
    ... def smooth(a, b):
    ...     for i in range(1, len(a) - 1):
    ...         b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3
    >>> a, b = np.arange(5.0), np.zeros(5)
    >>> smooth(a, b)
    >>> b
    array([0., 1., 2., 3., 0.])
    """
    make_options(dict(options))

    def decorated(inner: Callable[..., Any]) -> JitFunction:
        return JitFunction(inner, options)

    return decorated if function is None else decorated(function)


__all__ = ["JitFunction", "jit"]
