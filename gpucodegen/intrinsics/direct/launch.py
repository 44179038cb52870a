"""A function for Python: a kernel on arrays that are like those of an earlier call."""

from __future__ import annotations

from gpucodegen.intrinsics.direct.layout import (
    ACCESS,
    ACCESS_FLAG,
    ARRAY_TYPE,
    ARRAYS,
    CONTENTS,
    DATA,
    DECLINED,
    DIMENSIONS,
    DONE,
    DTYPE,
    ELEMENTS,
    FACTS,
    FLAGS,
    HEADER,
    INT,
    ITEMS,
    KERNEL,
    LEAST,
    MOST,
    ONE,
    OTHER,
    PAIR,
    PAIRS,
    PARAMETERS,
    RANK,
    SHAPE,
    STRIDES,
    TYPE,
    VARIABLE,
    WORD,
)
from gpucodegen.intrinsics.direct.python import (
    apply,
    enter,
    hold,
    leave,
    peek,
    poke,
    room,
    variable,
)


def launch(keeper: int, arguments: int, count: int) -> int:
    """A ``METH_FASTCALL`` function: `DONE` if the kernel ran, else `DECLINED`.

    ``keeper``: a tuple whose first item is the record, as `bytes`.
    """
    record = peek(keeper + ITEMS) + CONTENTS
    result = peek(record + WORD * DECLINED)
    if is_like(record, arguments, count):
        run(record, arguments)
        result = peek(record + WORD * DONE)
    hold(result)
    return result


def is_like(record: int, arguments: int, count: int) -> int:
    """Whether nothing else has to be checked of these arguments."""
    if count != peek(record + WORD * ARRAYS):
        return 0
    if variable(peek(record + WORD * VARIABLE)):
        return 0
    pairs = record + WORD * (HEADER + peek(record + WORD * PARAMETERS))
    facts = pairs + WORD * PAIR * peek(record + WORD * PAIRS)
    at = facts
    for n in range(count):
        array = peek(arguments + WORD * n)
        if peek(array + TYPE) != peek(record + WORD * ARRAY_TYPE):
            return 0
        if has_form(array, at) == 0:
            return 0
        at += WORD * (FACTS + 2 * peek(at + WORD * RANK))
    while pairs < facts:
        if overlap(arguments, pairs):
            return 0
        pairs += WORD * PAIR
    return 1


def has_form(array: int, at: int) -> int:
    """Whether an array has the dtype, access, extents and strides of the facts."""
    rank = peek(at + WORD * RANK)
    if peek(array + DTYPE) != peek(at + WORD * ELEMENTS):
        return 0
    if peek(array + FLAGS) & ACCESS_FLAG != peek(at + WORD * ACCESS):
        return 0
    if peek(array + DIMENSIONS) & INT != rank:
        return 0
    extents, strides = peek(array + SHAPE), peek(array + STRIDES)
    at += WORD * FACTS
    for d in range(rank):
        if peek(extents + WORD * d) != peek(at + WORD * d):
            return 0
        if peek(strides + WORD * d) != peek(at + WORD * (rank + d)):
            return 0
    return 1


def overlap(arguments: int, at: int) -> int:
    """Whether the two arrays of a pair share memory."""
    one = address(arguments, peek(at + WORD * ONE))
    other = address(arguments, peek(at + WORD * OTHER))
    is_behind = peek(at + WORD * LEAST) < one - other
    return is_behind and one - other < peek(at + WORD * MOST)


def address(arguments: int, position: int) -> int:
    """Where the elements of an argument lie."""
    return peek(peek(arguments + WORD * position) + DATA)


def run(record: int, arguments: int) -> None:
    """Call the kernel; other threads of Python go on meanwhile."""
    count, given = peek(record + WORD * PARAMETERS), room()
    for p in range(count):
        position = peek(record + WORD * (HEADER + p))
        poke(given + WORD * p, address(arguments, position))
    thread = leave()
    apply(peek(record + WORD * KERNEL), count, given)
    enter(thread)
