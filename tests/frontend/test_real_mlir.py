"""What we print, read by others: MLIR inside the IREE compiler, and xDSL.

Both are optional: they come with the extra ``peers``.
"""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpucodegen.parser import parse_module

ROOT = Path(__file__).parents[2]
TODAY = [
    *sorted((Path(__file__).parent / "corpus").glob("*.mlir")),
    *sorted((ROOT / "examples").glob("*.mlir")),
]
OF_ALL_YEARS = sorted((Path(__file__).parent / "conformance").glob("*.mlir"))

_FUNCTION = re.compile(r"\n(?=func\.func|module\b|memref\.global)")
_SHARED = re.compile(r"^[#!]\w+ *=|call @|get_global", re.MULTILINE)
"""What makes the functions of a file depend on each other."""

_SEGMENTS_OF_UNPACK = re.compile(r" \{operandSegmentSizes = array<i32: [\d, ]+>\}")
"""MLIR prints them beside the properties of linalg.unpack, in some runs only."""


def chunks(files: list[Path]) -> list[Any]:
    found = []
    for path in files:
        text = path.read_text()
        if "// -----" in text:
            parts = (part.partition("\n")[2] for part in text.split("// -----"))
            pieces = [part for part in parts if "func.func" in part]
        elif not _SHARED.search(text):
            pieces = [p for p in _FUNCTION.split(text) if "func.func" in p]
        else:
            pieces = [text]
        found += [pytest.param(p, id=f"{path.stem}-{i}") for i, p in enumerate(pieces)]
    return found


def mlir_form(text: str) -> str:
    """The generic form that MLIR gives of a text."""
    ir = pytest.importorskip("iree.compiler.ir")
    context = ir.Context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(text)
        module.operation.verify()
        form = module.operation.get_asm(print_generic_op_form=True)
        return _SEGMENTS_OF_UNPACK.sub("", form)


def xdsl_form(text: str) -> str:
    """The generic form that xDSL gives of a text; names and order do not count."""
    context_ = pytest.importorskip("xdsl.context")
    from xdsl.dialects import get_all_dialects
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    context = context_.Context(allow_unregistered=True)
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    module.verify()
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    lines = re.sub(r"%[\w.#:]+", "%", stream.getvalue()).splitlines()
    return "\n".join("".join(sorted(line)) for line in lines)


FORMS = {"mlir": mlir_form, "xdsl": xdsl_form}
LEAST_READ = {"mlir": 0.9, "xdsl": 0.2}
"""The share of texts that a reader takes; xDSL knows few operations by their syntax."""


@cache
def as_written(text: str, reader: str) -> str | None:
    """The form that a reader gives of the text as it is; None if it refuses it."""
    form = FORMS[reader]
    form("module {}")
    try:
        return form(text)
    except Exception:  # noqa: BLE001
        return None


@pytest.mark.parametrize("reader", FORMS)
def test_others_read_most_texts_as_written(reader: str):
    forms = [as_written(text.values[0], reader) for text in chunks(TODAY)]
    read = [form for form in forms if form is not None]
    assert len(read) >= LEAST_READ[reader] * len(forms)


@pytest.mark.parametrize("text", chunks(OF_ALL_YEARS))
def test_mlir_reads_what_we_print_of_every_year(text: str):
    test_others_read_what_we_print(text, "mlir")


@pytest.mark.parametrize("reader", FORMS)
@pytest.mark.parametrize("text", chunks(TODAY))
def test_others_read_what_we_print(text: str, reader: str):
    """Where they read it as written; what they refuse says nothing about us."""
    expected, form = as_written(text, reader), FORMS[reader]
    if expected is None:
        return
    module = parse_module(text, allow_unregistered=True)
    assert form(str(module)) == expected
    again = form(module.generic())
    assert reader == "xdsl" or again == expected  # xDSL's own maps of accesses differ
