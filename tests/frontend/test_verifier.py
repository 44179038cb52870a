"""What the verifier must let pass, and that no odd operation makes it fail itself."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from gpucodegen import errors
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.parser import parse_module, split_input

TEXT = Path(__file__).with_name("unusual.mlir").read_text()
UNUSUAL = [chunk.lstrip("\n") for _, chunk in split_input(TEXT)]
OPERATIONS = [
    op for dialect in registry.DIALECTS for op in registry.operations(dialect).values()
]


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.UnregisteredOperationKept")
@pytest.mark.cases("chunk", UNUSUAL, ids=lambda c: c.partition("\n")[0][3:])
def test_unusual_program_is_valid(chunk: str):
    printed = str(parse_module(chunk, allow_unregistered=True))
    assert str(parse_module(printed, allow_unregistered=True)) == printed


# -- generic text that says anything ---------------------------------------------------

BODIES = [
    "",
    "({})",
    "({ ^bb0: })",
    '({ ^bb0(%x: i32): "foo.end"(%x) : (i32) -> () }, {})',
]
VALUES = ["%i: index", "%m: memref<4x?xf32>", "%t: tensor<4xf32>", "%f: f32"]


def program(op: Op, body: str, operands: int, results: int) -> str:
    used = [VALUES[i % len(VALUES)].split(": ") for i in range(operands)]
    types = ", ".join(["f32"] * results)
    head = f"%r:{results} = " if results else ""
    return (
        f"func.func @f({', '.join(VALUES)}) {{\n"
        f'  {head}"{op.name}"({", ".join(name for name, _ in used)}) {body}'
        f" : ({', '.join(ty for _, ty in used)}) -> ({types})\n  return\n}}"
    )


def is_refused_without_place(text: str) -> bool:
    try:
        str(parse_module(text, allow_unregistered=True))
    except errors.Error as error:
        return error.place is None
    return False


@pytest.mark.cases("op", OPERATIONS, ids=lambda op: op.name, parts=3)
@pytest.mark.sampled(20)
def test_nonsense_is_refused_with_a_place(op: Op):
    for body, operands, results in product(BODIES, (0, 2, 5), (0, 1)):
        text = program(op, body, operands, results)
        assert not is_refused_without_place(text), text
