"""What a call needs of the interpreter and of C, as instructions on words."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.direct.layout import MOST_ARRAYS
from gpucodegen.intrinsics.framework.native import VOID, WORD, Code, Instruction, word


def _peek(code: Code, address: Any) -> Any:
    return code.builder.load(code.builder.inttoptr(address, WORD.as_pointer()))


def _poke(code: Code, address: Any, value: Any) -> None:
    code.builder.store(value, code.builder.inttoptr(address, WORD.as_pointer()))


def _room(code: Code) -> Any:
    slot = code.slot(ir.ArrayType(WORD, MOST_ARRAYS))
    return code.builder.ptrtoint(slot, WORD)


def _apply(code: Code, kernel: Any, count: Any, first: Any) -> None:
    """One case for each number of words; there are not more than `MOST_ARRAYS`."""
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
"""``apply(kernel, count, first)``: the function on so many words, which lie there."""

variable = _returned("getenv")
"""``variable(name)`` of the environment: where its value is, 0 if it is not set."""
leave = _returned("PyEval_SaveThread")
"""``leave()``: let other threads use the interpreter; what `enter` takes."""
enter = _done("PyEval_RestoreThread")
hold = _done("Py_IncRef")
"""``hold(object)``: it has one more owner."""
