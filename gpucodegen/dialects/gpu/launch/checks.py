"""Rules of launches: sizes, tokens, the body's arguments."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import gpu as view
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.gpu.attributions import check_attributions
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.segments import operand_segments


def check_launch_func(o: Operation) -> None:
    """Three grid and three block sizes; a path of module and kernel."""
    launch = view.LaunchFunc(o)
    if len(launch.grid) != 3 or len(launch.block) != 3:
        raise errors.WrongOperandCount(
            o.location,
            operation=o.name,
            expected="three grid and three block sizes as",
            actual=len(launch.grid) + len(launch.block),
        )
    if len(launch.kernel) != 2:
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem="the kernel must be named by module and function",
            hint="Write @module::@kernel",
        )
    _check_tokens(o, len(launch.tokens))
    _check_sizes(o, len(launch.cluster))
    types = {v.type for v in (*launch.grid, *launch.block, *launch.cluster)}
    require(
        len(types) == 1,
        o,
        f"sizes of types {', '.join(sorted(map(str, types)))}",
        "Use one type for all sizes",
    )


def _check_tokens(o: Operation, count: int) -> None:
    require(
        not count or o.results,
        o,
        "waits for tokens but gives none",
        "Write async, and name the token that comes out",
    )


def _check_sizes(o: Operation, clusters: int) -> None:
    require(
        clusters in (0, 3),
        o,
        f"{clusters} cluster sizes",
        "Write three or none",
    )


def check_launch(o: Operation) -> None:
    """The body has an argument for each position, size and buffer."""
    groups = operand_segments(o, 12)
    tokens, *_ = groups
    clusters = sum(map(len, groups[7:10]))
    _check_tokens(o, len(tokens))
    _check_sizes(o, clusters)
    arguments = o.regions[0].blocks[0].arguments
    count = 18 if clusters else 12
    require(
        len(arguments) >= count,
        o,
        f"the body has {len(arguments)} arguments",
        f"Give it {count} positions and sizes before the buffers",
    )
    check_attributions(o, count)
