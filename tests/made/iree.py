"""IREE as a peer: functions on tensors, on its virtual machine without a target."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from tests.made.program import Made


def is_installed() -> bool:
    try:
        return all(
            importlib.util.find_spec(f"iree.{part}") for part in ("compiler", "runtime")
        )
    except ModuleNotFoundError:
        return False


def compiled(text: str) -> bytes:
    """Bytecode, by a process of its own.  Raises RefusedByIreeError."""
    tools: Any = importlib.import_module("iree.compiler.tools")

    try:
        return tools.compile_str(text, target_backends=["vmvx"], input_type="none")
    except tools.CompilerToolError as refusal:
        raise RefusedByIreeError(str(refusal)) from refusal


class RefusedByIreeError(Exception):
    """A text that IREE does not compile, or that it stops in."""


def computed(made: Made) -> list[Any]:
    runtime: Any = importlib.import_module("iree.runtime")

    context = runtime.SystemContext(config=runtime.Config("local-sync"))
    code = compiled(made.text)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    given = made.given()
    try:
        results = context.modules.module.f(*given)
    except ValueError as problem:
        raise RefusedByIreeError(made.text) from problem
    found: list[Any] = [*results] if type(results) in (list, tuple) else [results]
    return [*(result.to_host() for result in found), *given]
