"""``gpucodegen explain``: loop kinds with reasons, tiles, mapping, pictures."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gpucodegen.commands.inputs import (
    SPLIT_MARKER,
    add_input_options,
    add_json_option,
    add_passes_option,
    modules,
    reported_failures,
    write,
    write_records,
)
from gpucodegen.compiling.targets.registry import mappings
from gpucodegen.debugging.display import at_work
from gpucodegen.report import PICTURES

if TYPE_CHECKING:
    from gpucodegen.report.explanation import Explanation


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    add_passes_option(parser, "explain what these passes make of it, such as skew")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--svg", action="store_true", help="one picture of one nest")
    form.add_argument("--html", action="store_true", help="one page: text and pictures")
    add_json_option(form)
    parser.add_argument(
        "--function", default="", metavar="NAME", help="only this function"
    )
    parser.add_argument(
        "--sizes",
        default="",
        metavar="N=8,M=6",
        help="values of parameters, or one number for all of them; "
        "default: 8 in pictures, 1024 for the mapping",
    )
    parser.add_argument(
        "--target",
        choices=mappings(),
        action="append",
        help="show this mapping; may be repeated; default: both",
    )
    drawn = parser.add_argument_group("with --svg")
    drawn.add_argument("--nest", type=int, default=0, help="which nest, counted from 0")
    drawn.add_argument("--picture", choices=PICTURES, default="space")
    drawn.add_argument("--loops", default="", metavar="I,J", help="two loops to show")
    drawn.add_argument(
        "--tiles", default="4,4", metavar="H,W", help="iterations of a tile; 0,0: none"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file")


def run(options: argparse.Namespace) -> int:
    """Print or write the explanation of each chunk."""
    from gpucodegen.passes.framework.base import run_pipeline
    from gpucodegen.passes.framework.pipeline_text import parse_pipeline
    from gpucodegen.report.explanation import explain_module
    from gpucodegen.report.sizes import parse_sizes

    shown: list[Any] = []
    passes = parse_pipeline(options.passes)
    is_quick = options.svg and options.picture != "kernel"
    targets = () if is_quick else tuple(options.target or mappings())
    with reported_failures() as failures:
        sizes = parse_sizes(options.sizes)
        for module in modules(options, failures):
            with failures.reported():
                with at_work("analysing"):
                    explanation = explain_module(
                        run_pipeline(module, passes),
                        failures.text,
                        options.function,
                        sizes,
                        targets,
                    )
                shown.append(_shown(explanation, options))
                failures.note(explanation.refused.values())
    if options.json:
        write_records(shown, options, options.output)
    else:
        write(SPLIT_MARKER.join(shown), options.output)
    return failures.status


def _shown(explanation: Explanation, options: argparse.Namespace) -> Any:
    """An explanation in the requested format; a record with ``--json``."""
    if options.json:
        return explanation.record()
    if options.html:
        return explanation.html()
    if options.svg:
        return explanation.svg(
            options.nest,
            picture=options.picture,
            loops=_names(options.loops),
            tiles=_numbers(options.tiles),
        )
    return f"{explanation.text()}\n"


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    """Comma-separated integers; the drawing validates them."""
    return tuple(
        int(part) if part.isascii() and part.isdigit() else -1
        for part in text.split(",")
    )
