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

import gpucodegen as gcg
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


@pytest.mark.slow
@pytest.mark.parametrize("reader", FORMS)
def test_others_read_most_texts_as_written(reader: str):
    forms = [as_written(text.values[0], reader) for text in chunks(TODAY)]
    read = [form for form in forms if form is not None]
    assert len(read) >= LEAST_READ[reader] * len(forms)


@pytest.mark.slow
@pytest.mark.cases("text", chunks(OF_ALL_YEARS))
def test_mlir_reads_what_we_print_of_every_year(text: str):
    test_others_read_what_we_print(text, "mlir")


@pytest.mark.slow
@pytest.mark.cases("reader", FORMS, parts=4)
@pytest.mark.cases("text", chunks(TODAY))
def test_others_read_what_we_print(text: str, reader: str):
    """Where they read it as written; what they refuse says nothing about us."""
    expected, form = as_written(text, reader), FORMS[reader]
    if expected is None:
        return
    module = parse_module(text, allow_unregistered=True)
    assert form(str(module)) == expected
    again = form(module.generic())
    assert reader == "xdsl" or again == expected  # xDSL's own maps of accesses differ


PRODUCT = """func.func @f(%a: memref<64x80x{0}>, %b: memref<80x64x{0}>,
    %c: memref<64x64x{1}>) {{
  linalg.matmul ins(%a, %b : memref<64x80x{0}>, memref<80x64x{0}>)
    outs(%c : memref<64x64x{1}>)
  return
}}"""
ROWS = """func.func @f(%x: memref<64x4096xf32>, %y: memref<64xf32>) {
  linalg.reduce ins(%x : memref<64x4096xf32>) outs(%y : memref<64xf32>)
    dimensions = [1] (%a: f32, %b: f32) {
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}"""
MAPPED = {
    "transfers": (ROOT / "examples" / "dma_matmul.mlir").read_text("utf-8"),
    "product f32": PRODUCT.format("f32", "f32"),
    "product f16": PRODUCT.format("f16", "f16"),
    "product bf16": PRODUCT.format("bf16", "f32"),
    "product i8": PRODUCT.format("i8", "i32"),
    "rows": ROWS,
}


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_mlir_takes_every_stage_of_a_kernel(name: str):
    """All that is printed is MLIR, but for checks of the arguments, which are ours."""
    ir = pytest.importorskip("iree.compiler.ir")
    program = gcg.compile(MAPPED[name], target="sim")
    stages = program.stages(program.names[0])
    assert "gpu.launch_func" in stages[-1][1]
    for after, text in dict(zip([t for _, t in stages], stages, strict=True)).values():
        assert set(re.findall(r'"(gcg\.\w+)"\(', text)) <= {"gcg.refuse"}
        with ir.Context() as context:
            context.allow_unregistered_dialects = "gcg.refuse" in text
            try:
                ir.Module.parse(text).operation.verify()
            except ir.MLIRError as refused:
                pytest.fail(f"after {after}: {refused}")
