"""Random programs of one loop with scratch memory: a scalar, a pair and a row."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
)

SHAPES: dict[str, tuple[int, ...]] = {"s": (), "t": (2,), "A": (9,)}
INDICES = {
    "t": ["0", "1", "({}) mod 2", "({} + 1) mod 2"],
    "A": ["{}", "{} + 1", "0", "({} + 4)"],
}


@st.composite
def programs(draw: st.DrawFn) -> Scop:
    """A few statements before, in and after one loop, which may hold another."""
    numbers = itertools.count()

    def access(kind: AccessKind, names: list[str]) -> Access:
        array = draw(st.sampled_from(["s", "s", "t", "t", "A"]))
        if array == "s":
            return Access(array, kind, ())
        name = draw(st.sampled_from(names)) if names else "0"
        return Access(
            array, kind, (draw(st.sampled_from(INDICES[array])).format(name),)
        )

    def statement(names: list[str]) -> Statement:
        kinds = [AccessKind.READ] * draw(st.integers(0, 1))
        kinds += [AccessKind.WRITE] * draw(st.integers(0 if kinds else 1, 1))
        accesses = tuple(access(kind, names) for kind in kinds)
        return Statement(f"S{next(numbers)}", accesses)

    def body(names: list[str], depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        for _ in range(draw(st.integers(1, 3))):
            choices = ["statement"] * 4 + (["if", "loop"] if 0 < depth < 3 else [])
            match draw(st.sampled_from(choices)):
                case "loop":
                    name = f"i{next(numbers)}"
                    lower = draw(st.sampled_from(["0", "0", names[-1]]))
                    inner = body([*names, name], depth + 1)
                    nodes.append(Loop(name, lower, "2", body=inner))
                case "if":
                    text = draw(st.sampled_from(["{} - 1 >= 0", "1 - {} >= 0"]))
                    nodes.append(If((text.format(names[-1]),), (statement(names),)))
                case _:
                    nodes.append(statement(names))
        return tuple(nodes)

    step = draw(st.sampled_from([1, 1, 2]))
    loop = Loop("i", "0", str(3 * step), step, body(["i"], 1))
    local = draw(st.sampled_from(["", "s", "t", "st"]))
    arrays = tuple(
        Array(name, shape, fresh=name in local, forgotten=name in local)
        for name, shape in SHAPES.items()
    )
    before, after = (draw(st.sampled_from([(), None])) for _ in range(2))
    return Scop(
        arrays=arrays,
        body=(
            *(body([], 0) if before is None else ()),
            loop,
            *(body([], 0) if after is None else ()),
        ),
    )
