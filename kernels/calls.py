"""Cached calls of ready-made functions, by the form of their operands.

A form (shapes, dtypes, options) is prepared once: text, program and plan. Repeated
calls of operands of the same form run in machine code with a new result. A kernel that
is to be tuned is tuned before its first run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, fields
from functools import lru_cache
from typing import Any, ParamSpec, Protocol, TypedDict, Unpack

from gpucodegen import api, errors
from gpucodegen.calls.foreign_arrays import OWN, Library, Memory
from gpucodegen.calls.function import Function
from gpucodegen.calls.launch import Entry, form_of, no_fast_path
from gpucodegen.compiling.tuned_schedules import (
    TUNED_OPTIONS,
    scopes_of,
    tuning_identity,
    tuning_store,
)
from gpucodegen.kernels.arrays import (
    contiguous,
    empty,
    library,
    memory_module,
    require_shape,
)
from gpucodegen.records import dataclass
from gpucodegen.schedule.steps import Schedule
from gpucodegen.schedule.text import parse


def tune_once(function: Function, arguments: tuple[Any, ...]) -> None:
    """Tune a function for arguments with quick effort, unless it is tuned already.

    An interrupted tuning is continued.
    """
    from gpucodegen.tuning.tune import tune

    source, name, options = function.source, function.name, function.options
    key = function.key_for(arguments)
    known = tuning_store().subjects()
    identities = (
        tuning_identity(source, name, key, options, scope)
        for scope in scopes_of(key[0])
    )
    if not any("finished" in known.get(identity, {}) for identity in identities):
        given = {field.name: getattr(options, field.name) for field in fields(options)}
        chosen = {n: value for n, value in given.items() if n not in TUNED_OPTIONS}
        tune(source.module, name, *arguments, **chosen)


MAX_CALLS = 1024
"""Number of call forms that a function caches."""
MAX_TEXTS = 512
"""Number of texts whose compiled programs are cached."""
View = Callable[[Memory], Memory]


class How(TypedDict, total=False):
    """How a ready-made operation is compiled.

    ``tune``: time schedules before the first call of a form.  ``schedule``: the steps
    of its function, as a value or as text; None: the compiler's.
    """

    tune: bool
    schedule: Schedule | str | None


Key = tuple[str, str, str, bool, Schedule | None]
"""All that decides over a call's kernel beside its operands."""


class Program(Protocol):
    """A function's name and its program text."""

    @property
    def name(self) -> str: ...

    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """The MLIR text for a form of call; its last argument is the result.

    Operands and then numbers precede it. ``views``: per operand the view of its memory,
    None for none. ``handed``: operands need not be contiguous. ``inside``: the result's
    shape in the text, if it differs.
    """

    text: Program
    shape: tuple[int, ...]
    dtype: Any
    views: Sequence[View | None] = ()
    handed: bool = False
    inside: tuple[int, ...] | None = None


@lru_cache(MAX_TEXTS)
def compiled(
    text: str,
    entry: str,
    target: str,
    precision: str,
    *,
    tune: bool,
    schedule: Schedule | None,
) -> Function:
    """The function of a text; a tuned one is compiled separately."""
    del tune
    options = {"target": target, "precision": precision, "schedule": schedule}
    return api.compile(text, **options)[entry]


@dataclass(slots=True)
class KernelCall:
    """A recipe applied to operands of one form.

    ``again``: a call of these operands that allocates the result. ``direct``: operands
    and result need no conversion. ``tune``: tune the schedule before the first run.
    """

    name: str
    library: Any
    recipe: Recipe
    function: Function
    again: Entry = no_fast_path
    direct: bool = False
    tune: bool = False

    def __call__(
        self,
        operands: Sequence[Memory],
        numbers: Sequence[Any],
        out: Memory | None,
    ) -> Memory:
        """Run; operands that are not contiguous are copied first."""
        given = self._given(operands)
        done = self.again(*given) if out is None else NotImplemented
        recipe = self.recipe
        if done is not NotImplemented:
            return done if recipe.inside is None else done.reshape(recipe.shape)
        result = self._made() if out is None else self._checked(out)
        place = result if recipe.inside is None else result.reshape(recipe.inside)
        try:
            if self.tune:
                tune_once(self.function, (*given, *numbers, place))
                self.tune = False
            self.function(*given, *numbers, place)
        except errors.OverlappingArguments:  # out is an operand, or shares its memory
            made = self(operands, numbers, None)
            result[...] = made
        if out is None and not numbers:
            self._remember(operands, given, place)
        return result

    def _given(self, operands: Sequence[Memory]) -> list[Memory]:
        if views := self.recipe.views:
            pairs = zip(operands, views, strict=True)
            operands = [a if view is None else view(a) for a, view in pairs]
        if self.recipe.handed:
            return [*operands]
        return [*map(contiguous, operands)]

    def _made(self) -> Memory:
        return empty(self.library, self.recipe.shape, self.recipe.dtype)

    def _checked(self, out: Memory) -> Memory:
        require_shape(out, self.recipe.shape, function=self.name, argument="out")
        if out.dtype != self.recipe.dtype:
            raise errors.WrongDtype(
                function=self.name,
                argument="out",
                expected=self.recipe.dtype,
                actual=out.dtype,
            )
        return out

    def _remember(
        self, operands: Sequence[Memory], given: list[Memory], result: Memory
    ) -> None:
        self.again = self.function.again(*given, result)
        if self.again is no_fast_path:
            return
        same = all(a is b for a, b in zip(operands, given, strict=True))
        self.direct = same and self.recipe.inside is None


@dataclass(slots=True)
class Kernel:
    """A ready-made operation: its name, operand names, and preparation.

    ``prepare`` maps operands as memory, and the options, to a recipe, after all checks.
    ``known``: cached calls by form, cleared when there are too many. ``last``: per
    options, the fast call of the last operands that needed no conversion.
    """

    name: str
    arguments: tuple[str, ...]
    prepare: Callable[..., Recipe]
    known: dict[Hashable, KernelCall] = field(
        default_factory=dict[Hashable, "KernelCall"]
    )
    last: dict[Hashable, Entry] = field(default_factory=dict[Hashable, "Entry"])

    def __call__(
        self,
        operands: tuple[Any, ...],
        out: Any,
        target: str,
        *options: Any,
        numbers: Sequence[Any] = (),
        precision: str = "ieee",
        **how: Unpack[How],
    ) -> Any:
        """The result for operands; ``out`` is its destination, or None.

        ``numbers`` are passed to the function; ``options`` determine its text, and
        ``precision`` its compilation. ``tune``: the first call of a form tunes it,
        unless an earlier process did. ``schedule``: the steps of its function.
        """
        if how.keys() - How.__annotations__.keys():
            unknown = next(iter(how.keys() - How.__annotations__.keys()))
            message = f"{self.name}() got an unexpected keyword argument {unknown!r}"
            raise TypeError(message)
        steps, tune = how.get("schedule"), how.get("tune", False)
        steps = parse(steps) if isinstance(steps, str) else steps
        key = repr(options), target, precision, tune, steps
        if out is None:
            done = self.last.get(key, no_fast_path)(*operands)
            if done is not NotImplemented:
                return done
        return self._call(key, operands, numbers, out, options)

    def _call(
        self,
        key: Key,
        operands: tuple[Any, ...],
        numbers: Sequence[Any],
        out: Any,
        options: tuple[Any, ...],
    ) -> Any:
        """Any call that the fast path does not handle."""
        homes = [
            library(a, function=self.name, argument=name)
            for a, name in zip(operands, self._names(operands), strict=True)
        ]
        home, module = homes[0]
        taken = tuple(
            each.take(a, self.name, name)
            for a, (each, _), name in zip(
                operands, homes, self._names(operands), strict=True
            )
        )
        place = None if out is None else self._place(out)
        form = key, form_of(taken)
        call = self.known.get(form) or self._keep(form, taken, options, key)
        result = call(taken, numbers, place)
        if out is not None:
            return out
        is_direct = call.direct and all(each is OWN for each, _ in homes)
        self.last[key] = call.again if is_direct else no_fast_path
        return home.give(module, result, str(result.dtype))

    def _names(self, operands: tuple[Any, ...]) -> tuple[str, ...]:
        names = self.arguments
        if len(names) < len(operands):
            names = (
                *names,
                *(f"operand {n}" for n in range(len(names), len(operands))),
            )
        return names[: len(operands)]

    def _place(self, out: Any) -> Memory:
        home, _ = library(out, function=self.name, argument="out")
        _require_writes(home, self.name)
        return home.take(out, self.name, "out")

    def _keep(
        self,
        form: Hashable,
        taken: tuple[Memory, ...],
        options: tuple[Any, ...],
        key: Key,
    ) -> KernelCall:
        """Prepare a call and cache it."""
        recipe = self.prepare(taken, *options)
        if len(self.known) >= MAX_CALLS:
            self.known.clear()
            self.last.clear()
        program = recipe.text
        _, target, precision, tune, schedule = key
        given = program.text(), program.name, target, precision
        function = compiled(*given, tune=tune, schedule=schedule)
        home = memory_module(taken[0])
        call = KernelCall(self.name, home, recipe, function, tune=tune)
        self.known[form] = call
        return call


_Options = ParamSpec("_Options")


def described(
    call: Callable[_Options, Any],
) -> Callable[[Callable[[], None]], Callable[_Options, Any]]:
    """Decorator: ``call``, with the name and docstring of an empty function.

    Functions with one signature are closures of one function that differ in these.
    """

    def decorate(empty: Callable[[], None]) -> Callable[_Options, Any]:
        for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(call, attribute, getattr(empty, attribute))
        return call

    return decorate


def _require_writes(home: Library, function: str) -> None:
    if not home.writes:
        raise errors.ReadOnlyArgument(
            function=function,
            argument="out",
            advice="Leave it out: JAX writes no array",
        )
