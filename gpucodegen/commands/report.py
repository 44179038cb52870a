"""``gpucodegen report``: what limits the kernels of a program on a GPU, without one.

Each function is called once on generated arguments. The emulated device executes a
sample of each launch and counts; registers and the disassembly come from CUDA's own
tools if the extra ``report`` is installed.
"""

from __future__ import annotations

import argparse
from typing import Any

from gpucodegen.commands.inputs import (
    SPLIT_MARKER,
    add_input_options,
    add_json_option,
    add_schedule_option,
    given_schedules,
    modules,
    reported_failures,
    write,
    write_records,
)
from gpucodegen.debugging.display import at_work
from gpucodegen.tiling.machine.gpu.devices import DEVICES, MULTIPROCESSORS


def configure(parser: argparse.ArgumentParser) -> None:
    add_input_options(parser)
    parser.add_argument(
        "--arch",
        default="sm_90a",
        metavar="ARCH",
        help=f"architecture of the kernels: {', '.join(MULTIPROCESSORS)};"
        " default: %(default)s",
    )
    parser.add_argument(
        "--device",
        default="",
        metavar="NAME",
        help=f"model that estimates are for: {', '.join(DEVICES)};"
        " default: the first one of the architecture",
    )
    parser.add_argument(
        "--entry", default="", metavar="NAME", help="only this function"
    )
    parser.add_argument(
        "--sizes",
        default="",
        metavar="N=8,M=6",
        help="open extents and index arguments, or one number for all of them; default:"
        " 1024, 128 or 32 for arrays of at most 2, 3 and more dimensions",
    )
    add_schedule_option(parser)
    form = parser.add_mutually_exclusive_group()
    add_json_option(form)
    form.add_argument("--html", action="store_true", help="one page with pictures")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file")


def run(options: argparse.Namespace) -> int:
    """Print or write the report of each chunk."""
    from gpucodegen.report.gpu.report import report_module
    from gpucodegen.report.sizes import parse_sizes

    shown: list[Any] = []
    form = "record" if options.json else "html" if options.html else "text"
    with reported_failures() as failures:
        sizes = parse_sizes(options.sizes)
        for module in modules(options, failures):
            with failures.reported():
                with at_work("measuring kernels"):
                    found = report_module(
                        module,
                        failures.text,
                        options.arch,
                        options.device,
                        options.entry,
                        sizes,
                        {"schedule": given_schedules(options)},
                    )
                shown.append(getattr(found, form)())
                failures.note(found.refused.values())
    if options.json:
        write_records(shown, options, options.output)
    else:
        write(SPLIT_MARKER.join(f"{text}\n" for text in shown), options.output)
    return failures.status
