"""``gpucodegen opt``: parses, verifies, runs passes and prints MLIR.

A module that states a schedule in the transform dialect is scheduled first.
"""

from __future__ import annotations

import argparse
import sys

from gpucodegen.commands.inputs import (
    SPLIT_MARKER,
    add_input_options,
    add_passes_option,
    modules,
    reported_failures,
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    add_passes_option(
        parser, "passes to run, such as 'canonicalize,tile{sizes=[32,32]}'"
    )
    parser.add_argument("--generic", action="store_true", help="print the generic form")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="check the module and its memory accesses; print nothing",
    )


def run(options: argparse.Namespace) -> int:
    """Print every chunk that passes through the pipeline."""
    from gpucodegen.analysis import analyze
    from gpucodegen.passes.framework.base import run_pipeline
    from gpucodegen.passes.framework.pipeline_text import parse_pipeline
    from gpucodegen.schedule.transform_sequences import applied, has_sequence

    passes = parse_pipeline(options.passes)
    printed: list[str] = []
    with reported_failures() as failures:
        for module in modules(options, failures):
            with failures.reported():
                given = applied(module) if has_sequence(module) else module
                result = run_pipeline(given, passes)
                if options.verify:
                    analyze(result)
                printed.append(result.generic() if options.generic else str(result))
    if not options.verify:
        sys.stdout.write(SPLIT_MARKER.join(_ended(text) for text in printed))
    return failures.status


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
