"""gpu.warp_execute_on_lane_0: one thread computes, all of a warp share the results."""

from __future__ import annotations

from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.vector.types import extents
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I64, INDEX, Type, VectorType, element_type


def parse_warp(r: Reader, state: State) -> None:
    """``(%lane)[32] args(%v : type) -> (types) { .. }``."""
    r.expect("(")
    lane = r.use()
    r.expect(")")
    r.expect("[")
    state.attributes["warp_size"] = IntegerAttr(r.integer(), I64)
    r.expect("]")
    state.operands = [r.resolve(lane, INDEX)]
    if r.token == "args":
        r.advance()
        r.expect("(")
        start = r.start
        uses = r.uses()
        types = r.types() if r.accept(":") else []
        state.operands += r.resolve_all(uses, types, start)
        r.expect(")")
    state.result_types = r.arrow_types()
    terminator = "" if state.result_types else _end(state)
    state.regions = [r.region(terminator=terminator)]
    state.attributes |= r.attr_dict()


def _end(state: State) -> str:
    return f"{state.name.partition('.')[0]}.yield"


def print_warp(w: Writer, o: Operation) -> None:
    """``(%lane)[32] args(%v : type) -> (types) { .. }``."""
    lane, *arguments = o.operands
    size = getattr(o.attributes["warp_size"], "value", 0)
    w.write(f"({w.name(lane)})[{size}]")
    if arguments:
        w.write(f" args({w.typed_names(arguments)})")
    if o.results:
        w.write(f" -> ({', '.join(str(v.type) for v in o.results)})")
    w.write(" ")
    end = "" if o.results else "gpu.yield"
    w.region(o.regions[0], arguments=True, elide=end)
    w.attr_dict(o, ("warp_size",))


def check_warp(o: Operation) -> None:
    """Arguments and results are what is inside, or the part of one lane of it."""
    block = o.body
    size = getattr(o.attributes["warp_size"], "value", 0)
    outer = (*o.operands[1:], *o.results)
    inner = (*block.arguments, *block.operations[-1].operands)
    require(
        len(block.arguments) == len(o.operands) - 1 and len(inner) == len(outer),
        o,
        f"{len(outer)} arguments and results, but {len(inner)} inside",
        "Write one block argument per argument and yield one value per result",
    )
    for whole, part in zip(inner, outer, strict=True):
        require(
            _is_distributed(whole.type, part.type, size),
            o,
            f"{part.type} is no part of one of {size} lanes of {whole.type}",
            "Use the same type, or a vector whose extents divide the whole's",
        )


def _is_distributed(whole: Type, part: Type, lanes: int) -> bool:
    if whole == part:
        return True
    if not isinstance(whole, VectorType) or not isinstance(part, VectorType):
        return False
    if element_type(whole) != element_type(part) or len(whole.shape) != len(part.shape):
        return False
    factor = 1
    for (all_, _), (own, _) in zip(extents(whole), extents(part), strict=True):
        if all_ % own:
            return False
        factor *= all_ // own
    return factor == lanes
