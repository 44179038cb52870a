"""Base class of passes: frozen dataclasses whose fields are their options.

Name, command-line syntax, repr and cache key come from that one definition:

>>> from gpucodegen.passes.loops.rectangular_tiling import Tile
>>> print(Tile(sizes=(4, 8)))
tile{sizes=[4,8]}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, ClassVar, cast

from gpucodegen import errors
from gpucodegen.debugging.levels import current, show, tell
from gpucodegen.debugging.spans import span
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import TypeAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    FunctionType,
    MemRefType,
    TensorType,
    Type,
    UnrankedTensorType,
    VectorType,
    element_type,
)
from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.tiling.machine.plan_space import Choice
    from gpucodegen.tiling.tuning.knobs import Knob


@dataclass(frozen=True, slots=True)
class ModulePass:
    """A function from module to module; every pass assumes and leaves valid IR.

    ``name`` and ``looks_for`` (words) are keywords of a pass's class.
    """

    name: ClassVar[str] = ""
    looks_for: ClassVar[frozenset[str]] = frozenset()
    """What the pass changes or refuses, as `contents` names it; empty: any module.

    A pipeline leaves the pass out of its stages for a module that holds none of it.
    """

    def __init_subclass__(cls, name: str = "", looks_for: str = "") -> None:
        # ``slots`` makes each class a second time, from its members alone.
        cls.name = name or cls.name
        cls.looks_for = frozenset(looks_for.split()) or cls.looks_for

    def concerns(self, module: Module, found: Collection[str]) -> bool:
        """Whether a module with these contents may be changed or refused."""
        del module
        return not self.looks_for or not self.looks_for.isdisjoint(found)

    def apply(self, module: Module) -> Module:
        return module

    def knobs(self, module: Module) -> Sequence[Knob]:
        """The tuning parameters that the options of this pass have for a module.

        It holds an entry for each nest that the pass maps in its own way, even if no
        option reaches it.
        """
        del module
        return ()

    def choices(self, module: Module) -> Sequence[Choice]:
        """The plans that this pass chooses for the kernels and loops of a module."""
        del module
        return ()

    def refusal(self, broken: errors.VerifyError) -> errors.Error:
        """The error for a module that violates a precondition of this pass."""
        return errors.InternalError(
            broken.location, stage=f"pass {self.name}", problem=broken.message
        )

    def __str__(self) -> str:
        options = [
            f"{field.name}={option_text(value)}"
            for field in fields(self)
            for value in (getattr(self, field.name),)
            if field.default is MISSING or value != field.default
        ]
        return self.name + (f"{{{','.join(options)}}}" if options else "")


def option_text(value: object) -> str:
    """A value as `parse_pipeline` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return f"[{','.join(map(option_text, items))}]"
    return str(value)


def contents(module: Module) -> set[str]:
    """Operations, their dialects and attributes, and kinds of types: ``!tensor``.

    Types are those of values, functions and globals. ``!vector``: also as elements;
    ``!dynamic``: with open extents; ``!layout``: memrefs of another one than row-major.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse("func.func private @f(tensor<?xf32>)")
    >>> sorted(contents(module))[:4]
    ['!dynamic', '!tensor', 'builtin', 'builtin.module']
    """
    found, values, types = set[str](), list[Value](), list[Type]()
    for op in module.walk():
        found.add(op.name)
        found.update(op.attributes)
        values += op.defined
        for attribute in op.attributes.values():
            if isinstance(attribute, TypeAttr):
                types.append(attribute.type)
    for ty in [*types]:
        if isinstance(ty, FunctionType):
            types += (*ty.inputs, *ty.results)
    distinct = {id(ty): ty for ty in (*types, *(value.type for value in values))}
    found |= {name.partition(".")[0] for name in found}
    return found | {kind for ty in distinct.values() for kind in _kinds(ty)}


def _kinds(ty: Type) -> Iterator[str]:
    if isinstance(ty, TensorType | UnrankedTensorType):
        yield "!tensor"
    if isinstance(ty, VectorType) or isinstance(element_type(ty), VectorType):
        yield "!vector"
    if None in getattr(ty, "shape", ()):
        yield "!dynamic"
    if isinstance(ty, MemRefType) and ty.layout is not None:
        yield "!layout"


def run_pipeline(
    module: Module,
    passes: Sequence[ModulePass],
    *,
    after: Callable[[ModulePass, Module], None] | None = None,
    verify: bool = True,
) -> Module:
    """Run passes in order, verifying what they change; ``after`` sees every stage.

    A pass that does not concern the module is no stage. A module that a pass returns
    unchanged was verified before.
    """
    found = contents(module)
    for pass_ in passes:
        if not pass_.concerns(module, found):
            if current().print_ir_after == pass_.name:
                show(f"// {pass_.name} was left out\n{module}")
            continue
        before = module
        with span(pass_.name, "pass"), _shown_on_failure(pass_, before):
            module = pass_.apply(module)
            if verify and module.operation is not before.operation:
                _check(pass_, before, module)
        changed = module.operation is not before.operation
        found = contents(module) if changed else found
        _tell(pass_, module, changed=changed)
        if after is not None:
            after(pass_, module)
    return module


def _tell(pass_: ModulePass, module: Module, *, changed: bool) -> None:
    """Log the effect of a pass."""
    asked = current()
    if changed:
        tell(3, f"pass {pass_}")
    if asked.shows(pass_.name) or (changed and asked.level >= 5):
        show(f"// after {pass_.name}\n{module}")


@contextmanager
def _shown_on_failure(pass_: ModulePass, before: Module) -> Generator[None]:
    try:
        yield
    except Exception:
        if current().print_ir_before_failure:
            show(f"// before {pass_.name}, which failed\n{before}")
        raise


def _check(pass_: ModulePass, before: Module, module: Module) -> None:
    from gpucodegen.dialects.verifier import verify

    try:
        verify(module.operation, frozenset(before.walk()))
    except errors.VerifyError as broken:
        raise pass_.refusal(broken) from broken
