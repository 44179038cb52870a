"""``gpucodegen opt``: parses, verifies, runs passes and prints MLIR."""

from __future__ import annotations

import argparse
import sys

from gpucodegen.commands.inputs import (
    SPLIT_MARKER,
    Failures,
    add_input_options,
    modules,
    printed_warnings,
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    parser.add_argument(
        "-p",
        "--passes",
        default="",
        metavar="PIPELINE",
        help="passes to run, such as 'canonicalize,tile{sizes=[32,32]}'",
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

    failures = Failures()
    passes = parse_pipeline(options.passes)
    printed: list[str] = []
    with printed_warnings():
        for module in modules(options, failures):
            with failures.reported():
                result = run_pipeline(module, passes)
                if options.verify:
                    analyze(result)
                printed.append(result.generic() if options.generic else str(result))
    if not options.verify:
        sys.stdout.write(SPLIT_MARKER.join(_ended(text) for text in printed))
    return failures.status


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
