"""scf as written from 2019 to 2022 becomes today's."""

from __future__ import annotations

import pytest

from gpucodegen import errors
from gpucodegen.parser import parse_module

INSERT = "tensor.parallel_insert_slice"
THREADS = """
func.func @f(%n: index, %t: tensor<?xf32>, %s: tensor<1xf32>) -> tensor<?xf32> {{
  %r = scf.foreach_thread (%i) in (%n){outputs} -> (tensor<?xf32>) {{
    scf.foreach_thread.perform_concurrently {{
      {insert} %s into {target}[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>
    }}
  }}{attributes}
  return %r : tensor<?xf32>
}}
"""
TODAY = """
    %r = scf.forall (%i) in (%n) shared_outs({target} = %t) -> (tensor<?xf32>) {{
      scf.forall.in_parallel {{
        {insert} %s into {target}[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>
      }}
    }}"""


@pytest.mark.parametrize("insert", [INSERT, "scf.foreach_thread.parallel_insert_slice"])
def test_threads_without_outputs(insert: str):
    old = THREADS.format(outputs="", insert=insert, target="%t", attributes="")
    text = str(parse_module(old))
    assert TODAY.format(target="%t_0", insert=INSERT) in text
    assert str(parse_module(text)) == text


def test_threads_with_outputs():
    mapping = " {mapping = [#gpu.thread<x>]}"
    outputs = " shared_outs(%o = %t)"
    old = THREADS.format(
        outputs=outputs, insert=INSERT, target="%o", attributes=mapping
    )
    text = str(parse_module(old))
    assert TODAY.format(target="%o", insert=INSERT) + mapping in text
    assert str(parse_module(text)) == text


def test_threads_need_an_insertion_per_result():
    old = THREADS.format(outputs="", insert=INSERT, target="%t", attributes="")
    with pytest.raises(errors.OperandMismatch, match="1 results for 0 insertions"):
        parse_module(old.replace("tensor.parallel", "// "))


LOOP = """
func.func @f(%a: index, %f: f32) {
  %0 = "scf.parallel"(%a, %a, %a, %f) ( {
  ^bb0(%i: index):
    "scf.reduce"(%f) ( {
    ^bb0(%l: f32, %r: f32):
      "scf.reduce.return"(%l) : (f32) -> ()
    }) : (f32) -> ()
    "scf.yield"() : () -> ()
  }) {operand_segment_sizes = dense<1> : vector<4xi32>}
    : (index, index, index, f32) -> f32
  return
}
"""


def test_generic_parallel_loop_of_before_2023():
    text = str(parse_module(LOOP))
    assert "%0 = scf.parallel (%i) = (%a) to (%a) step (%a) init (%f) -> f32 {" in text
    assert "scf.reduce(%f : f32) {" in text
    assert "scf.yield" not in text
    assert str(parse_module(text)) == text
