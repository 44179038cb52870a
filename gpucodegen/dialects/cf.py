"""The cf dialect: branches between blocks, switches and assertions.

`reverse_postorder` orders blocks so that each follows its dominators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import always, op, terminator
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import DenseArrayAttr, DenseElementsAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Label,
    Operation,
    Successor,
    segment_sizes,
    split,
)
from gpucodegen.ir.types import I1, I32, IntegerType, VectorType


def case_values(op: Operation) -> tuple[int, ...]:
    """The numbers of a ``cf.switch``, one for each target but the default.

    >>> from gpucodegen.ir.operation import Label, Successor
    >>> case_values(Operation("cf.switch", successors=(Successor(Label("end")),)))
    ()
    """
    value = op.attributes.get("case_values")
    if not isinstance(value, DenseElementsAttr):
        return ()
    count = len(op.successors) - 1
    values = value.values * count if value.is_splat else value.values
    return tuple(int(str(v)) for v in values)


def labelled(blocks: Sequence[Block]) -> dict[Label, Block]:
    """The blocks that branches may name."""
    return {b.label: b for b in blocks if b.label is not None}


def targets(block: Block, labels: Mapping[Label, Block]) -> Iterable[Block]:
    """The blocks to which the terminator of a block may branch."""
    for branch in block.operations[-1:]:
        for successor in branch.successors:
            target = labels.get(successor.label)
            if target is not None:
                yield target


def reverse_postorder(blocks: Sequence[Block]) -> list[Block]:
    """The blocks reachable from the first one, each behind all its dominators.

    >>> from gpucodegen.ir.operation import Operation, Successor
    >>> last, middle = Label("last"), Label("middle")
    >>> def jump(to: Label) -> tuple[Operation, ...]:
    ...     return (Operation("cf.br", successors=(Successor(to),)),)
    >>> blocks = [Block((), jump(middle)), Block((), (), last)]
    >>> blocks.append(Block((), jump(last), middle))
    >>> [blocks.index(block) for block in reverse_postorder(blocks)]
    [0, 2, 1]
    """
    labels = labelled(blocks)
    seen: set[Block] = {blocks[0]}
    postorder: list[Block] = []
    stack = [(blocks[0], iter(targets(blocks[0], labels)))]
    while stack:
        block, following = stack[-1]
        target = next((t for t in following if t not in seen), None)
        if target is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(targets(target, labels))))
    return postorder[::-1]


def _adapt_br(state: State) -> None:
    """Generic form lists the operands of the successor among those of the operation."""
    if state.successors and state.operands:
        state.successors[0] = Successor(
            state.successors[0].label, tuple(state.operands)
        )
        state.operands = []


def _flatten_br(o: Operation) -> Operation:
    (target,) = o.successors
    return o.with_(operands=target.operands, successors=(Successor(target.label),))


def _adapt_segments(state: State) -> None:
    sizes = state.attributes.pop(OPERAND_SEGMENTS, None)
    if not isinstance(sizes, DenseArrayAttr):
        return
    counts = [int(size) for size in sizes.values]
    if state.name == "cf.switch":
        cases = state.attributes.pop("case_operand_segments", None)
        has_cases = isinstance(cases, DenseArrayAttr)
        counts = [*counts[:2], *(int(n) for n in cases.values)] if has_cases else counts
    if sum(counts) != len(state.operands) or len(counts) != 1 + len(state.successors):
        return
    first, *passed = split(state.operands, counts)
    state.operands = list(first)
    state.successors = [
        Successor(s.label, values)
        for s, values in zip(state.successors, passed, strict=False)
    ]


def _flatten_cond(o: Operation) -> Operation:
    passed = [s.operands for s in o.successors]
    return o.with_(
        operands=(*o.operands, *(v for group in passed for v in group)),
        successors=tuple(Successor(s.label) for s in o.successors),
        attributes={
            **o.attributes,
            OPERAND_SEGMENTS: segment_sizes([o.operands, *passed]),
        },
    )


def _flatten_switch(o: Operation) -> Operation:
    passed = [s.operands for s in o.successors]
    cases = [v for group in passed[1:] for v in group]
    return o.with_(
        operands=(*o.operands, *passed[0], *cases),
        successors=tuple(Successor(s.label) for s in o.successors),
        attributes={
            **o.attributes,
            OPERAND_SEGMENTS: segment_sizes([o.operands, passed[0], cases]),
            "case_operand_segments": DenseArrayAttr(I32, tuple(map(len, passed[1:]))),
        },
    )


# -- switch ----------------------------------------------------------------------------


def _parse_switch(r: Reader, state: State) -> None:
    """``%flag : i32, [default: ^bb0, 1: ^bb1]``."""
    flag: Use = r.use()
    r.expect(":")
    ty = r.type()
    state.operands = [r.resolve(flag, ty)]
    r.expect(",")
    values: list[int] = []

    def case() -> None:
        if not state.successors:
            if r.keyword("'default'") != "default":
                raise r.unexpected("'default'")
        else:
            values.append(r.integer())
        r.expect(":")
        state.successors.append(r.successor())

    r.listed("[", "]", case)
    state.attributes |= r.attr_dict()
    if values:
        shape = VectorType((len(values),), ty)
        state.attributes["case_values"] = DenseElementsAttr(tuple(values), shape, ty)


def _print_switch(w: Writer, o: Operation) -> None:
    flag = o.operands[0]
    w.write(f" {w.name(flag)} : {flag.type}, [")
    cases = case_values(o)
    labels = ["default", *map(str, cases)]
    for i, (label, successor) in enumerate(zip(labels, o.successors, strict=True)):
        w.write(f"{', ' if i else ''}{label}: {w.successor(successor)}")
    w.write("]")
    w.attr_dict(o, ("case_values",))


def _check_switch(o: Operation) -> None:
    cases, flag = case_values(o), o.operands[0].type
    if len(cases) != len(o.successors) - 1:
        raise errors.WrongSuccessorCount.at(
            o, expected=len(cases) + 1, actual=len(o.successors)
        )
    limit = 1 << flag.width if isinstance(flag, IntegerType) else None
    for case in cases:
        if limit is not None and not -limit // 2 <= case < limit:
            raise errors.OutOfRange.at(o, what="case", value=case, limit=limit)


def _check_weights(o: Operation) -> None:
    weights = o.attributes.get("branch_weights")
    values = weights.values if isinstance(weights, DenseArrayAttr) else (1, 1)
    if len(values) != 2 or not any(values):
        raise errors.WrongAttribute.at(
            o,
            problem=f"weights {list(values)} for two targets",
            hint="Give each target a weight, one of them above zero",
        )


OPERATIONS = (
    terminator(
        "cf.br",
        "",
        "$dest attr-dict",
        successors="dest",
        adapt=_adapt_br,
        flatten=_flatten_br,
    ),
    terminator(
        "cf.cond_br",
        "condition:bool",
        "$condition (`weights` `(` $branch_weights^ `)`)?"
        " `,` $trueDest `,` $falseDest attr-dict",
        infer={"condition": always(I1)},
        attributes={"branch_weights": kinds.optional(kinds.integers(I32))},
        successors="trueDest falseDest",
        checks=[_check_weights],
        adapt=_adapt_segments,
        flatten=_flatten_cond,
    ),
    terminator(
        "cf.switch",
        "flag",
        (_parse_switch, _print_switch),
        attributes={"case_values": kinds.OPTIONAL},
        types={"flag": constraints.INTEGER},
        successors=None,
        checks=[_check_switch],
        adapt=_adapt_segments,
        flatten=_flatten_switch,
    ),
    op(
        "cf.assert",
        "arg:bool",
        "$arg `,` $msg attr-dict",
        infer={"arg": always(I1)},
        attributes={"msg": kinds.STRING},
    ),
)
