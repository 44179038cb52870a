"""Base class of passes: frozen dataclasses whose fields are their options.

Name, command-line syntax, repr and cache key come from that one definition:

>>> from gpucodegen.passes.loops.rectangular_tiling import Tile
>>> print(Tile(sizes=(4, 8)))
tile{sizes=[4,8]}
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, ClassVar, cast

from gpucodegen import errors
from gpucodegen.debugging.levels import current, show, tell
from gpucodegen.debugging.spans import span
from gpucodegen.dialects.builtin import Module

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.knobs import Knob


@dataclass(frozen=True, slots=True)
class ModulePass:
    """A function from module to module; every pass assumes and leaves valid IR."""

    name: ClassVar[str] = ""

    def apply(self, module: Module) -> Module:
        return module

    def knobs(self, module: Module) -> Sequence[Knob]:
        """The tuning parameters that the options of this pass have for a module.

        It holds an entry for each nest that the pass maps in its own way, even if no
        option reaches it.
        """
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


def run_pipeline(
    module: Module,
    passes: Sequence[ModulePass],
    *,
    after: Callable[[ModulePass, Module], None] | None = None,
    verify: bool = True,
) -> Module:
    """Run passes in order, verifying what they change; ``after`` sees every stage.

    A module that a pass returns unchanged was verified before.
    """
    for pass_ in passes:
        before = module
        with span(pass_.name, "pass"), _shown_on_failure(pass_, before):
            module = pass_.apply(module)
            if verify and module.operation is not before.operation:
                _check(pass_, module)
        _tell(pass_, module, changed=module.operation is not before.operation)
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


def _check(pass_: ModulePass, module: Module) -> None:
    from gpucodegen.dialects.verifier import verify

    try:
        verify(module.operation)
    except errors.VerifyError as broken:
        raise pass_.refusal(broken) from broken
