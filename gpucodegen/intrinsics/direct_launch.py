"""Native Python callable that checks its arrays against a record and runs a kernel.

The functions are compiled by `framework.native`; calls of the interpreter and of C are
instructions on words.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.direct_layout import (
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
    MOST_ARRAYS,
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
    WORD_BYTES,
)
from gpucodegen.intrinsics.framework.native import VOID, WORD, Code, Instruction, word


def _peek(code: Code, address: Any) -> Any:
    return code.builder.load(code.builder.inttoptr(address, WORD.as_pointer()))


def _poke(code: Code, address: Any, value: Any) -> None:
    code.builder.store(value, code.builder.inttoptr(address, WORD.as_pointer()))


def _room(code: Code) -> Any:
    slot = code.slot(ir.ArrayType(WORD, MOST_ARRAYS))
    return code.builder.ptrtoint(slot, WORD)


def _apply(code: Code, kernel: Any, count: Any, first: Any) -> None:
    """One case for each number of words, at most `MOST_ARRAYS`."""
    builder = code.builder
    after = builder.append_basic_block()
    cases = builder.switch(count, after)
    for number in range(1, MOST_ARRAYS + 1):
        block = builder.append_basic_block()
        cases.add_case(word(number), block)
        with builder.goto_block(block):
            places = (builder.add(first, word(8 * n)) for n in range(number))
            values = [_peek(code, place) for place in places]
            kind = ir.FunctionType(VOID, [WORD] * number)
            builder.call(builder.inttoptr(kernel, kind.as_pointer()), values)
            builder.branch(after)
    builder.position_at_end(after)


def _returned(name: str) -> Any:
    """``name(...)`` of words, which returns one."""
    return Instruction(lambda code, *words: code.call(name, WORD, words))


def _done(name: str) -> Any:
    """``name(...)`` of words, which returns nothing."""

    def lower(code: Code, *words: Any) -> None:
        code.call(name, VOID, words)

    return Instruction(lower)


peek = Instruction(_peek)
"""``peek(address)``: the word there."""
poke = Instruction(_poke)
"""``poke(address, value)``."""
room = Instruction(_room)
"""``room()``: the address of `MOST_ARRAYS` words of the function."""
apply = Instruction(_apply)
"""``apply(kernel, count, first)`` calls the kernel with ``count`` words at ``first``.
"""

variable = _returned("getenv")
"""``variable(name)``: the address of an environment variable's value, 0 if unset."""
leave = _returned("PyEval_SaveThread")
"""``leave()`` releases the interpreter lock; its result is the operand of `enter`."""
enter = _done("PyEval_RestoreThread")
hold = _done("Py_IncRef")
"""``hold(object)`` increments its reference count."""


def launch(keeper: int, arguments: int, count: int) -> int:
    """A ``METH_FASTCALL`` function: `DONE` if the kernel ran, else `DECLINED`.

    ``keeper``: a tuple whose first item is the record, as `bytes`.
    """
    record = peek(keeper + ITEMS) + CONTENTS
    result = peek(record + WORD_BYTES * DECLINED)
    if is_like(record, arguments, count):
        run(record, arguments)
        result = peek(record + WORD_BYTES * DONE)
    hold(result)
    return result


def is_like(record: int, arguments: int, count: int) -> int:
    """Whether these arguments satisfy the record, so that no other check is needed."""
    if count != peek(record + WORD_BYTES * ARRAYS):
        return 0
    if variable(peek(record + WORD_BYTES * VARIABLE)):
        return 0
    pairs = record + WORD_BYTES * (HEADER + peek(record + WORD_BYTES * PARAMETERS))
    facts = pairs + WORD_BYTES * PAIR * peek(record + WORD_BYTES * PAIRS)
    at = facts
    for n in range(count):
        array = peek(arguments + WORD_BYTES * n)
        if peek(array + TYPE) != peek(record + WORD_BYTES * ARRAY_TYPE):
            return 0
        if has_form(array, at) == 0:
            return 0
        at += WORD_BYTES * (FACTS + 2 * peek(at + WORD_BYTES * RANK))
    while pairs < facts:
        if overlap(arguments, pairs):
            return 0
        pairs += WORD_BYTES * PAIR
    return 1


def has_form(array: int, at: int) -> int:
    """Whether an array has the dtype, access, extents and strides of the facts."""
    rank = peek(at + WORD_BYTES * RANK)
    if peek(array + DTYPE) != peek(at + WORD_BYTES * ELEMENTS):
        return 0
    if peek(array + FLAGS) & ACCESS_FLAG != peek(at + WORD_BYTES * ACCESS):
        return 0
    if peek(array + DIMENSIONS) & INT != rank:
        return 0
    extents, strides = peek(array + SHAPE), peek(array + STRIDES)
    at += WORD_BYTES * FACTS
    for d in range(rank):
        if peek(extents + WORD_BYTES * d) != peek(at + WORD_BYTES * d):
            return 0
        if peek(strides + WORD_BYTES * d) != peek(at + WORD_BYTES * (rank + d)):
            return 0
    return 1


def overlap(arguments: int, at: int) -> int:
    """Whether the two arrays of a pair share memory."""
    one = address(arguments, peek(at + WORD_BYTES * ONE))
    other = address(arguments, peek(at + WORD_BYTES * OTHER))
    is_behind = peek(at + WORD_BYTES * LEAST) < one - other
    return is_behind and one - other < peek(at + WORD_BYTES * MOST)


def address(arguments: int, position: int) -> int:
    """The address of the elements of an argument."""
    return peek(peek(arguments + WORD_BYTES * position) + DATA)


def run(record: int, arguments: int) -> None:
    """Calls the kernel without the interpreter lock."""
    count, given = peek(record + WORD_BYTES * PARAMETERS), room()
    for p in range(count):
        position = peek(record + WORD_BYTES * (HEADER + p))
        poke(given + WORD_BYTES * p, address(arguments, position))
    thread = leave()
    apply(peek(record + WORD_BYTES * KERNEL), count, given)
    enter(thread)
