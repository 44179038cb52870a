"""Syntax and verifier rules of ``gpu.launch`` and ``gpu.launch_func``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects import gpu as view
from gpucodegen.dialects.framework.constraints import require
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Use, Writer
from gpucodegen.dialects.gpu.syntax import (
    TOKEN,
    check_attributions,
    parse_async,
    parse_attributions,
    print_async,
    print_attributions,
)
from gpucodegen.dialects.shared.control_flow import parse_pair
from gpucodegen.ir.attributes import DenseArrayAttr, SymbolRefAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Operation,
    Region,
    Value,
    operand_segments,
    segment_sizes,
    substitute_values,
)
from gpucodegen.ir.types import I32, INDEX, Type
from gpucodegen.records import dataclass

_WORDS = ("clusters", "blocks", "threads")

# -- launch_func -----------------------------------------------------------------------


def parse_launch_func(r: Reader, state: State) -> None:
    """``async [%t] @m::@k blocks in (..) threads in (..) args(..)``."""
    start = r.start
    state.result_types, tokens = parse_async(r)
    stream = _stream(r)
    state.attributes["kernel"] = SymbolRefAttr(r.symbol_path())
    sizes = {word: _sizes(r, word) for word in _WORDS}
    ty: Type = r.type() if r.accept(":") else INDEX
    shared = _shared_memory(r)
    arguments: list[Value] = []
    if r.accept("args"):
        arguments = r.listed("(", ")", lambda: _typed(r))
    if [len(sizes[word]) for word in _WORDS] not in ([0, 3, 3], [3, 3, 3]):
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem="blocks and threads need three sizes each",
            hint="Write blocks in (%x, %y, %z) threads in (%x, %y, %z)",
        )
    state.attributes |= r.attr_dict()
    order = [*sizes["blocks"], *sizes["threads"], *sizes["clusters"]]
    values = [[r.resolve(use, ty)] for use in order]
    values += [[]] * (9 - len(values))
    groups = [_tokens(r, tokens), *values, shared, arguments, stream]
    state.operands = [value for group in groups for value in group]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


def _stream(r: Reader) -> list[Value]:
    """``<%stream : type>``, or nothing."""
    if not r.accept("<"):
        return []
    stream = _typed(r)
    r.expect(">")
    return [stream]


def _sizes(r: Reader, word: str) -> list[Use]:
    """``blocks in (%x, %y, %z)``; clusters may be missing."""
    if word == "clusters" and r.token != word:
        return []
    r.one_of((word,), f"'{word}'")
    r.one_of(("in",), "'in'")
    return r.listed("(", ")", r.use)


def _shared_memory(r: Reader) -> list[Value]:
    if r.token != "dynamic_shared_memory_size":
        return []
    r.advance()
    return [r.resolve(r.use(), I32)]


def _typed(r: Reader) -> Value:
    use = r.use()
    r.expect(":")
    return r.resolve(use, r.type())


def _tokens(r: Reader, uses: Sequence[Use]) -> list[Value]:
    return [r.resolve(use, TOKEN) for use in uses]


def print_launch_func(w: Writer, o: Operation) -> None:
    """``@m::@k blocks in (..) threads in (..) args(..)``."""
    launch = view.LaunchFunc(o)
    print_async(w, o, launch.tokens)
    _print_stream(w, launch.stream)
    w.write(f" {o.attributes['kernel']}")
    sizes = zip(_WORDS, (launch.cluster, launch.grid, launch.block), strict=True)
    for word, values in sizes:
        w.write(f" {word} in ({w.names(values)})" if values else "")
    if launch.grid and launch.grid[0].type != INDEX:
        w.write(f" : {launch.grid[0].type}")
    _print_shared_memory(w, launch.shared_size)
    if launch.arguments:
        w.write(f" args({', '.join(w.typed_names([a]) for a in launch.arguments)})")
    w.attr_dict(o, ("kernel", OPERAND_SEGMENTS))


def _print_stream(w: Writer, stream: Sequence[Value]) -> None:
    if stream:
        w.write(f" <{w.typed_names(stream)}>")


def _print_shared_memory(w: Writer, size: Sequence[Value]) -> None:
    if size:
        w.write(f" dynamic_shared_memory_size {w.names(size)}")


# -- launch ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Grid:
    """Names of block and thread indices in the body, and the grid's extents."""

    positions: list[Argument] = field(default_factory=list[Argument])
    sizes: list[Argument] = field(default_factory=list[Argument])
    values: list[Value] = field(default_factory=list[Value])


def modern_launch(state: State) -> None:
    """Add empty groups for clusters and the stream, which old text lacks."""
    sizes = state.attributes.get(OPERAND_SEGMENTS)
    match sizes:
        case DenseArrayAttr(element, (*grid, shared)) if len(grid) == 7:
            modern = (*grid, 0, 0, 0, shared, 0)
        case DenseArrayAttr(element, written) if len(written) == 11:
            modern = (*written, 0)
        case _:
            return
    state.attributes[OPERAND_SEGMENTS] = DenseArrayAttr(element, modern)


def parse_launch(r: Reader, state: State) -> None:
    """``blocks(%bx, ..) in (%gx = %n, ..) threads(..) in (..) { .. }``."""
    state.result_types, uses = parse_async(r)
    tokens = _tokens(r, uses)
    stream = _stream(r)
    grids = {word: _parse_grid(r, word) for word in _WORDS}
    clusters, blocks, threads = (grids[word] for word in _WORDS)
    shared = _shared_memory(r)
    for word in ("module", "function"):
        if r.token == word:
            r.advance()
            state.attributes[word] = _in_parentheses(r)
    extra, outer = _old_arguments(r)
    arguments = [
        *(*blocks.positions, *threads.positions, *blocks.sizes, *threads.sizes),
        *(*clusters.positions, *clusters.sizes),
        *parse_attributions(r, state),
    ]
    region = r.region([*arguments, *extra], terminator="gpu.terminator")
    state.regions = [_without_old_arguments(region, len(arguments), outer)]
    state.attributes |= r.attr_dict()
    sizes = [[v] for v in (*blocks.values, *threads.values, *clusters.values)]
    groups = [tokens, *sizes, *([[]] * (9 - len(sizes))), shared, stream]
    state.operands = [value for group in groups for value in group]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


def _in_parentheses(r: Reader) -> SymbolRefAttr:
    r.expect("(")
    path = r.symbol_path()
    r.expect(")")
    return SymbolRefAttr(path)


def _parse_grid(r: Reader, word: str) -> _Grid:
    """``blocks(%bx, %by, %bz) in (%gx = %n, ..)``; clusters may be missing."""
    grid = _Grid()
    if word == "clusters" and r.token != word:
        return grid
    r.one_of((word,), f"'{word}'")
    names = r.listed("(", ")", r.use)
    grid.positions = [r.argument(name, INDEX) for name in names]
    r.one_of(("in",), "'in'")
    for name, size in r.listed("(", ")", lambda: parse_pair(r)):
        value = r.resolve(size, INDEX)
        grid.sizes.append(r.argument(name, value.type))
        grid.values.append(value)
    return grid


def _old_arguments(r: Reader) -> tuple[list[Argument], list[Value]]:
    """``args(%k = %x, ..) : types`` of 2019: renamed outer values."""
    if r.token != "args":
        return [], []
    r.advance()
    pairs = r.listed("(", ")", lambda: parse_pair(r))
    types = r.separated(r.type) if r.accept(":") else []
    values = r.resolve_all([use for _, use in pairs], types, r.start)
    names = [
        r.argument(name, v.type) for (name, _), v in zip(pairs, values, strict=True)
    ]
    return names, values


def _without_old_arguments(
    region: Region, count: int, values: Sequence[Value]
) -> Region:
    """Replace arguments that stand for outer values; update terminators of 2019."""
    blocks = [_renewed_end(block) for block in region.blocks]
    first = blocks[0]
    outer = dict(zip(first.arguments[count:], values, strict=True))
    blocks[0] = Block(first.arguments[:count], first.operations, first.label)
    holder = Operation("gpu.launch", regions=(Region(tuple(blocks)),))
    return substitute_values(holder, outer).regions[0]


def _renewed_end(block: Block) -> Block:
    """Replace the ``gpu.return`` that ended a launch body in 2019."""
    return block.with_operations(
        op.with_(name="gpu.terminator") if op.name == "gpu.return" else op
        for op in block.operations
    )


def print_launch(w: Writer, o: Operation) -> None:
    """``blocks(%bx, ..) in (%gx = %n, ..) threads(..) in (..) { .. }``."""
    tokens, *groups, shared, stream = operand_segments(o, 12)
    print_async(w, o, tokens)
    _print_stream(w, stream)
    blocks, threads, clusters = (groups[k : k + 3] for k in (0, 3, 6))
    names = [w.name(a) for a in o.regions[0].blocks[0].arguments]
    if any(clusters):
        _print_grid(w, "clusters", names[12:15], names[15:18], clusters)
    _print_grid(w, "blocks", names[0:3], names[6:9], blocks)
    _print_grid(w, "threads", names[3:6], names[9:12], threads)
    _print_shared_memory(w, shared)
    for word in ("module", "function"):
        if word in o.attributes:
            w.write(f" {word}({o.attributes[word]})")
    start = 18 if any(clusters) else 12
    print_attributions(w, o, o.regions[0].blocks[0].arguments[start:])
    w.write(" ")
    w.region(o.regions[0])
    hidden = ("module", "function", "workgroup_attributions")
    w.attr_dict(o, (OPERAND_SEGMENTS, *hidden))


def _print_grid(
    w: Writer,
    word: str,
    positions: Sequence[str],
    sizes: Sequence[str],
    values: Sequence[Sequence[Value]],
) -> None:
    pairs = zip(sizes, (w.names(v) for v in values), strict=True)
    assigned = ", ".join(f"{name} = {value}" for name, value in pairs)
    w.write(f" {word}({', '.join(positions)}) in ({assigned})")


def check_launch_func(o: Operation) -> None:
    """Three grid and three block sizes; a path of module and kernel."""
    launch = view.LaunchFunc(o)
    if len(launch.grid) != 3 or len(launch.block) != 3:
        raise errors.WrongOperandCount.at(
            o,
            expected="three grid and three block sizes as",
            actual=len(launch.grid) + len(launch.block),
        )
    if len(launch.kernel) != 2:
        raise errors.WrongAttribute.at(
            o,
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
