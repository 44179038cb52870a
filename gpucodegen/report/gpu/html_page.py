"""A GPU report as an HTML page, with the pictures of ``explain``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import print_symbol
from gpucodegen.options import Options
from gpucodegen.report.calls import Call
from gpucodegen.report.explanation import explain_module
from gpucodegen.report.gpu import text
from gpucodegen.report.gpu.model import FunctionReport, KernelReport, LimitFacts
from gpucodegen.report.page import PagePart, page
from gpucodegen.report.pictures.drawing import kernel_pictures
from gpucodegen.report.pictures.svg import Element, printable
from gpucodegen.report.plots.picture import tuning_pictures
from gpucodegen.report.sizes import Sizes
from gpucodegen.report.wording import equations
from gpucodegen.tiling.machine.gpu.devices import GpuDevice

BAR = 320
"""Pixels of the longest bar in a wide window."""
NARROW = 25
"""Percent of a narrow window's width that it takes there."""


def html(
    architecture: str,
    device: GpuDevice,
    functions: Sequence[FunctionReport],
    module: Module,
    source: str,
    options: Options,
    call: Call | None,
) -> str:
    """The text of the page."""
    names = ", ".join(print_symbol(function.name) for function in functions)
    about = _paragraphs([text.heading(architecture, device)])
    parts = [PagePart(2, "estimates and counts", blocks=[about])]
    for function in functions:
        pictures = _pictures(function, module, source, options, call)
        parts += _function(function, pictures)
    return page(f"What limits {names}", parts, source.split("\n") if source else ())


def _function(function: FunctionReport, drawn: Sequence[Element]) -> Iterator[PagePart]:
    given = equations(function.sizes)
    title = f"{print_symbol(function.name)}{f' for {given}' if given else ''}"
    total = list(text.total_lines(function))
    yield PagePart(2, title, blocks=[_paragraphs(total)] if total else [])
    if function.tuned:
        shown = "\n".join(map(str, function.tuned))
        yield PagePart(3, "tuned", shown, tuning_pictures(function.tuned))
    for kernel in function.kernels:
        yield PagePart(3, f"kernel {kernel.name}", blocks=list(_kernel(kernel)))
    if function.transfers:
        shown = _preformatted("transfers", text.transfer_lines(function.transfers))
        yield PagePart(3, "transfers", blocks=[shown])
    if drawn:
        yield PagePart(3, "who writes what", pictures=drawn)


def _pictures(
    function: FunctionReport,
    module: Module,
    source: str,
    options: Options,
    call: Call | None,
) -> Sequence[Element]:
    """The written cells of each kernel; none where nests are not affine."""
    sizes = Sizes(dict(function.sizes))
    try:
        shown = function.name, sizes, ["cuda"], options, call
        found = explain_module(module, source, *shown)
    except errors.Error:
        return ()
    mappings = [m for shown in found.functions for m in shown.mappings]
    return [picture for m in mappings for picture in kernel_pictures(m)]


def _kernel(kernel: KernelReport) -> Iterator[Element]:
    shown = text.limit_lines(kernel.limits)
    yield _paragraphs([x for x in shown if not x.startswith(text.CLOCKS)])
    yield _bars(kernel.limits)
    yield _preformatted("launch", text.launch_lines(kernel.launch))
    yield _table(list(text.access_cells(kernel.accesses)))
    yield _preformatted("a warp's trip of a loop", text.loop_lines(kernel))
    yield _preformatted("executed", text.execution_lines(kernel.execution))


def _paragraphs(lines: Sequence[str]) -> Element:
    """Lines as paragraphs; the first of several is emphasised."""
    block = Element("div")
    for number, line in enumerate(lines):
        paragraph = ET.SubElement(block, "p")
        is_plain = number or len(lines) == 1
        target = paragraph if is_plain else ET.SubElement(paragraph, "strong")
        target.text = printable(line)
    return block


def _bars(limits: LimitFacts) -> Element:
    """A bar for the clocks of each unit."""
    table = Element("table", {"class": "bars"})
    ET.SubElement(table, "caption").text = "estimated clocks of each unit"
    most = max(limits.clocks.values())
    for unit, count in sorted(limits.clocks.items(), key=lambda item: -item[1]):
        row = ET.SubElement(table, "tr")
        ET.SubElement(row, "th").text = unit
        part = count / most
        cell = ET.SubElement(row, "td")
        binds = " binding" if unit == limits.binding else ""
        style = f"width: min({BAR * part:.0f}px, {NARROW * part:.1f}vw)"
        ET.SubElement(cell, "div", {"class": f"bar{binds}", "style": style})
        ET.SubElement(row, "td").text = f"{text.clocks(count)}, {part:.0%}"
    return table


def _preformatted(title: str, lines: Iterator[str]) -> Element:
    block = Element("pre")
    block.text = printable("\n".join([title, *(f"  {line}" for line in lines)]))
    return block


def _table(rows: Sequence[Sequence[str]]) -> Element:
    table = Element("table", {"class": "accesses"})
    for number, cells in enumerate(rows):
        row = ET.SubElement(table, "tr")
        for cell in cells:
            ET.SubElement(row, "td" if number else "th").text = printable(cell)
    return table
