"""Run passes on text, run functions, and look at what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpucodegen as gcg
from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline


def apply(passes: str, text: str) -> Module:
    """The module after the passes; its text must parse back."""
    module = run_pipeline(gcg.parse(text), parse_pipeline(passes))
    assert str(gcg.parse(str(module))) == str(module)
    return module


def names(module: Module) -> list[str]:
    """The operations of a module, in order."""
    return [op.name for op in module.walk()]


def has_affine(module: Module) -> bool:
    return any(op.dialect == "affine" for op in module.walk())


def function(module: Module | str, name: str = "f") -> Callable[..., Any]:
    """A function that the CPU engine runs."""
    return gcg.compile(module, target="cpu")[name]
