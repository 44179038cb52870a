"""Modules that carry a schedule in the transform dialect, as people write them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.dialects.transform import OPERATIONS, PATTERNS
from gpucodegen.schedule.transform_sequences import applied, payload

ANY = "!transform.any_op"


def module(function: str, sequence: str, more: str = "") -> str:
    """A function, and the sequence that is to run on its module."""
    return f"""
module attributes {{transform.with_named_sequence}} {{
  {function}
  {more}
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    {sequence}
    transform.yield
  }}
}}"""


PRODUCT = """
func.func @f(%A: memref<32x24xf32>, %B: memref<24x40xf32>, %C: memref<32x40xf32>) {
  linalg.matmul ins(%A, %B : memref<32x24xf32>, memref<24x40xf32>)
    outs(%C : memref<32x40xf32>)
  return
}"""
TENSORS = """
func.func @f(%A: tensor<32x24xf32>, %B: tensor<24x40xf32>, %C: tensor<32x40xf32>)
    -> tensor<32x40xf32> {
  %0 = linalg.matmul ins(%A, %B : tensor<32x24xf32>, tensor<24x40xf32>)
    outs(%C : tensor<32x40xf32>) -> tensor<32x40xf32>
  return %0 : tensor<32x40xf32>
}"""
CHAIN = """
func.func @f(%A: memref<32x24xf32>, %T: memref<32x24xf32>, %B: memref<32x24xf32>) {
  linalg.abs ins(%A : memref<32x24xf32>) outs(%T : memref<32x24xf32>)
  linalg.add ins(%T, %A : memref<32x24xf32>, memref<32x24xf32>)
    outs(%B : memref<32x24xf32>)
  return
}"""
TWO = """
func.func @f(%A: memref<16x16xf32>, %B: memref<16x16xf32>, %C: memref<16x16xf32>) {
  linalg.matmul ins(%A, %B : memref<16x16xf32>, memref<16x16xf32>)
    outs(%C : memref<16x16xf32>)
  linalg.matmul ins(%B, %A : memref<16x16xf32>, memref<16x16xf32>)
    outs(%C : memref<16x16xf32>)
  return
}"""
CONVOLUTION = """
func.func @f(%x: memref<1x10x11x3xf32>, %w: memref<3x3x3x5xf32>,
             %y: memref<1x8x9x5xf32>) {
  linalg.conv_2d_nhwc_hwcf ins(%x, %w : memref<1x10x11x3xf32>, memref<3x3x3x5xf32>)
    outs(%y : memref<1x8x9x5xf32>)
  return
}"""
MATCH = f"""
%mm = transform.structured.match ops{{["linalg.matmul"]}} in %root
  : ({ANY}) -> {ANY}"""

MODULES: dict[str, str] = {
    "tiles, and vectors": module(
        PRODUCT,
        f"""{MATCH}
        %t, %l:3 = transform.structured.tile_using_for %mm tile_sizes [8, 8, 8]
          : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})
        %f = transform.structured.match ops{{["func.func"]}} in %root
          : ({ANY}) -> {ANY}
        %v = transform.structured.vectorize_children_and_apply_patterns %f
          : ({ANY}) -> {ANY}""",
    ),
    "tiles in another order, unrolled": module(
        PRODUCT,
        f"""{MATCH}
        %t, %l:2 = transform.structured.tile_using_for %mm tile_sizes [8, 16]
          interchange = [1, 0] : ({ANY}) -> ({ANY}, {ANY}, {ANY})
        transform.loop.unroll %l#1 {{factor = 2}} : {ANY}""",
    ),
    "tiles of tiles": module(
        PRODUCT,
        f"""{MATCH}
        %t, %l:2 = transform.structured.tile_using_for %mm tile_sizes [16, 0, 12]
          : ({ANY}) -> ({ANY}, {ANY}, {ANY})
        %u, %m = transform.structured.tile_using_for %t tile_sizes [4]
          : ({ANY}) -> ({ANY}, {ANY})""",
    ),
    "blocks and threads, on tensors": module(
        TENSORS,
        f"""{MATCH}
        %t, %blocks = transform.structured.tile_using_forall %mm tile_sizes [16, 20]
          (mapping = [#gpu.block<y>, #gpu.block<x>]) : ({ANY}) -> ({ANY}, {ANY})
        %u, %threads = transform.structured.tile_using_forall %t tile_sizes [4, 4]
          (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : ({ANY}) -> ({ANY}, {ANY})
        %f = transform.structured.match ops{{["func.func"]}} in %root
          : ({ANY}) -> {ANY}
        %g = transform.gpu.map_forall_to_blocks %f generate_gpu_launch
          : ({ANY}) -> {ANY}
        %h = transform.gpu.map_nested_forall_to_threads %g block_dims = [5, 4, 1]
          : ({ANY}) -> {ANY}""",
    ),
    "an order of iterators": module(
        PRODUCT,
        f"""{MATCH}
        %t = transform.structured.interchange %mm iterator_interchange = [0, 2, 1]
          : ({ANY}) -> {ANY}
        %u, %l = transform.structured.tile_using_for %t tile_sizes [8]
          : ({ANY}) -> ({ANY}, {ANY})""",
    ),
    "a producer in its consumer's loops": module(
        CHAIN,
        f"""
        %p = transform.structured.match ops{{["linalg.abs"]}} in %root
          : ({ANY}) -> {ANY}
        %c = transform.structured.match ops{{["linalg.add"]}} in %root
          : ({ANY}) -> {ANY}
        %t, %loop = transform.structured.tile_using_for %c tile_sizes [8]
          : ({ANY}) -> ({ANY}, {ANY})
        %q, %r = transform.structured.fuse_into_containing_op %p into %loop
          : ({ANY}, {ANY}) -> ({ANY}, {ANY})""",
    ),
    "two operations, a sequence that is included": module(
        TWO,
        f"""{MATCH}
        %one, %two = transform.split_handle %mm : ({ANY}) -> ({ANY}, {ANY})
        transform.include @by_rows failures(propagate) (%one) : ({ANY}) -> ()
        %t, %l = transform.structured.tile_using_for %two tile_sizes [0, 4]
          : ({ANY}) -> ({ANY}, {ANY})""",
        f"""
  transform.named_sequence @by_rows(%op: {ANY} {{transform.consumed}}) {{
    %t, %l = transform.structured.tile_using_for %op tile_sizes [4]
      : ({ANY}) -> ({ANY}, {ANY})
    transform.yield
  }}""",
    ),
    "a convolution, with its last tile apart": module(
        CONVOLUTION,
        f"""
        %c = transform.structured.match ops{{["linalg.conv_2d_nhwc_hwcf"]}} in %root
          : ({ANY}) -> {ANY}
        %t, %l = transform.structured.tile_using_for %c tile_sizes [0, 3]
          : ({ANY}) -> ({ANY}, {ANY})
        %main, %last = transform.loop.peel %l : ({ANY}) -> ({ANY}, {ANY})""",
    ),
    "with what only simplifies": module(
        PRODUCT,
        f"""{MATCH}
        %f = transform.get_parent_op %mm {{op_name = "func.func"}} : ({ANY}) -> {ANY}
        transform.apply_patterns to %f {{
          transform.apply_patterns.canonicalization
          transform.apply_patterns.linalg.tiling_canonicalization
        }} : {ANY}
        transform.apply_cse to %f : {ANY}
        transform.annotate %mm "seen" : {ANY}
        %t, %l = transform.structured.tile_using_for %mm tile_sizes [0, 0, 6]
          : ({ANY}) -> ({ANY}, {ANY})""",
    ),
    "as it was written before": f"""
module {{
  {PRODUCT}
  transform.sequence failures(propagate) {{
  ^bb0(%root: {ANY}):
    {MATCH}
    %t, %l:2 = transform.structured.tile_using_for %mm [8, 4]
      : ({ANY}) -> ({ANY}, {ANY}, {ANY})
  }}
}}""",
}


def outputs(text: str, target: str) -> list[np.ndarray]:
    """The arguments after a call, and the results."""
    program = gcg.compile(text, target=target)
    arrays = arguments(program)
    result = program.f(*arrays)
    return arrays if result is None else [*arrays, result]


def arguments(program: gcg.Program) -> list[np.ndarray]:
    draws = np.random.default_rng(3)
    shapes = [p.shape for p in program.f.signature.parameters]
    return [draws.integers(-3, 4, shape).astype(np.float32) for shape in shapes]


def answer(text: str) -> list[np.ndarray]:
    """The outputs by NumPy for one product, by the interpreter for all else."""
    if PRODUCT not in text and TENSORS not in text:
        return outputs(text, "interp")
    a, b, c = arguments(gcg.compile(text))
    product = c + a @ b
    return [a, b, product] if PRODUCT in text else [a, b, c, product]


FILES = {path.stem: path for path in sorted(Path(__file__).parent.glob("sequences/*"))}
SHORT = "chapter_one", "matchers_and_actions"
STEPS: dict[str, list[str]] = {
    "bufferized": [
        'tile("matmul0_d0", sizes=(8, 8))',
    ],
    "chapter_one": [
        'tile("elemwise_binary1_d0", sizes=(8, 32))',
        'tile("elemwise_binary0_d0", sizes=(8, 32))',
        'fuse("elemwise_binary0_t2", "elemwise_binary1_t0", depth=2)',
        'tile("matmul0_d0", sizes=(8, 32))',
        'fuse("matmul0_t4", "elemwise_binary0_t2", depth=2)',
        'tile("elemwise_binary0_d0", sizes=(4, 4))',
        'tile("matmul0_d0", sizes=(4, 4))',
        'fuse("matmul0_t8", "elemwise_binary0_t6", depth=2)',
    ],
    "consumer_of_a_result": [
        'tile("add0_d0", sizes=(0, 8))',
    ],
    "filled_in_blocks_of_threads": [
        'tile("matmul0_d0", sizes=(16, 20))',
        'tile("fill0_d0", sizes=(16, 20))',
        'fuse("fill0_t2", "matmul0_t0", depth=2)',
        'tile("matmul0_d0", sizes=(0, 0, 12))',
        'tile("matmul0_d0", sizes=(4, 4))',
        'bind("fill0_t2", "block.y")',
        'bind("fill0_t3", "block.x")',
        'bind("matmul0_t7", "thread.y")',
        'bind("matmul0_t8", "thread.x")',
    ],
    "for_each_operation": [
        'tile("exp0_d0", sizes=(8,))',
        'tile("mul0_d0", sizes=(8,))',
    ],
    "loop_around": [
        'tile("matmul0_d0", sizes=(8, 16))',
        'unroll("matmul0_t1", factor=2)',
    ],
    "match_by_attributes": [
        'tile("exp0_d0", sizes=(16,))',
    ],
    "match_by_interface": [
        'tile("mul0_d0", sizes=(8, 16))',
    ],
    "matchers_and_actions": [
        'tile("matmul0_d0", sizes=(16, 16, 8))',
        'tile("elemwise_binary0_d0", sizes=(8,))',
        'tile("elemwise_binary1_d0", sizes=(8,))',
    ],
    "merged_and_jammed": [
        'unroll_and_jam("abs0_d0", factor=2)',
        'tile("matmul1_d0", sizes=(8, 8))',
        'tile("matmul0_d0", sizes=(8, 8))',
    ],
    "number_of_blocks": [
        'tile("matmul0_d0", sizes=(8, 8))',
        'bind("matmul0_t0", "block.y")',
        'bind("matmul0_t1", "block.x")',
    ],
    "padded_tiles": [
        'tile("matmul0_d0", sizes=(5, 6, 7))',
        "vectorize()",
    ],
    "pipelined_transfers": [
        'pipeline("k")',
    ],
    "producer_of_an_operand": [
        'tile("mul0_d0", sizes=(16,))',
        'tile("exp0_d0", sizes=(16,))',
        'fuse("exp0_t1", "mul0_t0", depth=1)',
    ],
    "promoted_operands": [
        'tile("matmul0_d0", sizes=(8, 16, 8))',
        'stage("A", "B")',
    ],
    "reduction_among_threads": [
        'split_reduction("matmul0_d2", parts=6, part="matmul0_t0")',
        'bind("matmul0_t0", "block.x")',
    ],
    "reduction_in_parts": [
        'split_reduction("generic0_d1", parts=8, interleaved=True, part="generic0_t0")',
        'unroll("generic0_d1", factor=2)',
    ],
    "siblings_and_handles": [
        'tile("exp0_d0", sizes=(8, 8))',
        'tile("abs0_d0", sizes=(8,))',
        'fuse("abs0_t2", "exp0_t0", depth=1)',
    ],
    "sizes_of_parameters": [
        'tile("matmul0_d0", sizes=(8, 16, 8))',
    ],
    "split_sum": [
        'split_reduction("generic0_d0", parts=4, interleaved=True, part="generic0_t0")',
    ],
    "text_of_2022": [
        'tile("matmul0_d0", sizes=(4, 4, 4))',
    ],
    "text_of_2023": [
        'tile("matmul0_d0", sizes=(4, 4, 4))',
        'peel("matmul0_t0", front=0, back=1)',
    ],
    "tile_and_fuse": [
        'tile("mul0_d0", sizes=(16, 8))',
        'tile("exp0_d0", sizes=(16, 8))',
        'fuse("exp0_t2", "mul0_t0", depth=2)',
    ],
    "tile_and_fuse_by_attributes": [
        'tile("mul0_d0", sizes=(16, 8))',
        'tile("exp0_d0", sizes=(16, 8))',
        'fuse("exp0_t2", "mul0_t0", depth=2)',
    ],
    "typed_handles": [
        'tile("matmul0_d0", sizes=(4, 8, 16))',
        'unroll("matmul0_t2", factor=4)',
    ],
    "vectorized_by_patterns": [
        'tile("matmul0_d0", sizes=(8, 16, 8))',
        "vectorize()",
    ],
}
"""The steps that each file states, without the names of tile loops."""


def test_sequences_state_these_steps() -> None:
    found = {
        name: [
            re.sub(r", names=\(.*\)\)$", ")", str(step))
            for step in payload(gcg.parse(path.read_text("utf-8")))[1]["f"]
        ]
        for name, path in FILES.items()
    }
    assert found == STEPS


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in SHORT else pytest.mark.slow) for n in FILES],
)
def test_sequences_in_the_forms_of_the_dialects_documentation(
    name: str, target: str
) -> None:
    text = FILES[name].read_text("utf-8")
    parsed = gcg.parse(text)
    assert str(gcg.parse(str(parsed))) == str(parsed)
    assert str(gcg.parse(parsed.generic())) == str(parsed)
    plain, stated = payload(parsed)
    assert len(stated["f"]) >= 1
    expected, found = outputs(str(plain), "interp"), outputs(text, target)
    assert len(expected) == len(found)
    assert all(map(np.array_equal, expected, found))


def test_every_operation_is_in_a_sequence() -> None:
    texts = [*MODULES.values(), *(p.read_text("utf-8") for p in FILES.values())]
    seen = {op.name for text in texts for op in gcg.parse(text).walk()}
    listed = {op.name for op in OPERATIONS}
    assert {n for n in listed - seen if ".apply_patterns." not in n} == set()


def test_patterns_are_read_with_their_options() -> None:
    names = "\n".join(f"transform.apply_patterns.{name} a = 1" for name in PATTERNS)
    sequence = f"transform.apply_patterns to %root {{ {names} }} : {ANY}"
    parsed = gcg.parse(module(PRODUCT, sequence))
    assert str(gcg.parse(str(parsed))) == str(parsed)
    assert str(parsed).count(" a = 1") == len(PATTERNS)


QUICK = "tiles, and vectors", "blocks and threads, on tensors", "tiles of tiles"
EACH = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
    for name in MODULES
]


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("name", EACH)
def test_a_module_runs_as_its_sequence_says(name: str, target: str) -> None:
    text = MODULES[name]
    expected, found = answer(text), outputs(text, target)
    assert len(expected) == len(found)
    assert all(map(np.array_equal, expected, found))
    stated = payload(gcg.parse(text))[1]["f"]
    assert len(stated) >= 1


@pytest.mark.parametrize("name", EACH)
def test_a_module_is_printed_and_scheduled_by_opt(name: str) -> None:
    parsed = gcg.parse(MODULES[name])
    assert str(gcg.parse(str(parsed))) == str(parsed)
    assert str(gcg.parse(parsed.generic())) == str(parsed)
    assert "transform." not in str(applied(parsed))


def test_mappings_of_dimensions_of_one_element_are_left_out() -> None:
    text = module(
        CONVOLUTION,
        f"""
        %c = transform.structured.match ops{{["linalg.conv_2d_nhwc_hwcf"]}} in %root
          : ({ANY}) -> {ANY}
        %t, %l = transform.structured.tile_using_forall %c tile_sizes [1, 4, 3]
          (mapping = [#gpu.block<z>, #gpu.block<y>, #gpu.block<x>])
          : ({ANY}) -> ({ANY}, {ANY})
        %g = transform.gpu.map_forall_to_blocks %root generate_gpu_launch
          : ({ANY}) -> {ANY}""",
    )
    stated = str(payload(gcg.parse(text))[1]["f"])
    assert '"block.y"' in stated
    assert '"block.x"' in stated
    assert '"block.z"' not in stated


def test_mapped_loops_are_blocks_and_threads_of_a_gpu() -> None:
    text = MODULES["blocks and threads, on tensors"]
    source = gcg.compile(text, target="sim").source("f")
    assert "(2, 2, 1), (5, 4, 1)" in source


WRONG: dict[str, tuple[str, str]] = {
    "transform.structured.hoist_pad": (
        f"%p = transform.structured.hoist_pad %mm by 1 loops : ({ANY}) -> {ANY}",
        "unknown operation",
    ),
    "more sizes than dimensions": (
        f"""%t, %l:4 = transform.structured.tile_using_for %mm tile_sizes [4, 4, 4, 4]
          : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY}, {ANY})""",
        "one size for each dimension",
    ),
    "an order of fewer loops": (
        f"""%t, %l:2 = transform.structured.tile_using_for %mm tile_sizes [4, 4]
          interchange = [0] : ({ANY}) -> ({ANY}, {ANY}, {ANY})""",
        "an interchange of the loops over tiles",
    ),
    "the loop around what is not tiled": (
        f"""%l = transform.get_parent_op %mm {{op_name = "scf.for"}}
          : ({ANY}) -> {ANY}""",
        "has been tiled",
    ),
    "the producer of an argument": (
        f"%p = transform.get_producer_of_operand %mm[0] : ({ANY}) -> {ANY}",
        "no result of an operation",
    ),
    "a pass that does more than simplify": (
        f"""%p = transform.apply_registered_pass "affine-loop-tile" to %root
          : ({ANY}) -> {ANY}""",
        "Passes that simplify",
    ),
    "an unknown interface": (
        f"""%p = transform.structured.match interface{{FunctionOpInterface}} in %root
          : ({ANY}) -> {ANY}""",
        "one of the interfaces",
    ),
    "a size of no parameter": (
        f"""%t, %l = transform.structured.tile_using_for %mm tile_sizes [%root]
          : ({ANY}, {ANY}) -> ({ANY}, {ANY})""",
        "one constant number",
    ),
    "an operand that is not there": (
        f"%p = transform.get_producer_of_operand %mm[7] : ({ANY}) -> {ANY}",
        "one number below 3",
    ),
    "a matcher outside of a matcher": (
        f'transform.match.operation_name %mm ["linalg.exp"] : {ANY}',
        "in a sequence that transform.foreach_match names",
    ),
    "siblings of several loops": (
        f"""%t, %l = transform.structured.tile_using_forall %mm tile_sizes [4, 4]
          : ({ANY}) -> ({ANY}, {ANY})
        %s = transform.loop.fuse_sibling %l into %l : ({ANY}, {ANY}) -> {ANY}""",
        "one loop each",
    ),
    "a sequence that runs itself": (
        f"""transform.include @__transform_main failures(propagate) (%mm)
          : ({ANY}) -> ()""",
        "run itself",
    ),
    "a sequence of other handles": (
        "transform.include @__transform_main failures(propagate) () : () -> ()",
        "the 0 handles given",
    ),
    "promotion of an operand that is not there": (
        f"""%t, %l = transform.structured.tile_using_for %mm tile_sizes [4]
          : ({ANY}) -> ({ANY}, {ANY})
        %p = transform.structured.promote %t {{operands_to_promote = [5]}}
          : ({ANY}) -> {ANY}""",
        "below 3",
    ),
    "promotion without tiles": (
        f"%p = transform.structured.promote %mm : ({ANY}) -> {ANY}",
        "Tile an operation",
    ),
    "warps": (
        f"""%t, %l = transform.structured.tile_using_forall %mm tile_sizes [4]
          (mapping = [#gpu.warp<x>]) : ({ANY}) -> ({ANY}, {ANY})""",
        "#gpu.block<x>",
    ),
    "too few results": (
        f"""%t, %l = transform.structured.tile_using_for %mm tile_sizes [4, 4]
          : ({ANY}) -> ({ANY}, {ANY})""",
        "make 2 loops",
    ),
    "an order of other loops": (
        f"""%t = transform.structured.interchange %mm iterator_interchange = [1, 0]
          : ({ANY}) -> {ANY}""",
        "an order of 3 loops",
    ),
    "threads along a sum": (
        f"""%t, %l = transform.structured.tile_using_forall %mm tile_sizes [0, 0, 4]
          (mapping = [#gpu.thread<x>]) : ({ANY}) -> ({ANY}, {ANY})
        %g = transform.gpu.map_nested_forall_to_threads %root block_dims = [6, 1, 1]
          : ({ANY}) -> {ANY}""",
        "carries a dependence",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_step_does_is_refused(case: str) -> None:
    sequence, expected = WRONG[case]
    with pytest.raises(gcg.Error, match=expected):
        gcg.compile(module(PRODUCT, MATCH + "\n" + sequence), target="sim").source("f")
