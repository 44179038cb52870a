"""What the analysis knows of a call: its callee, as if it stood there."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Access, statements
from gpucodegen.tiling.proof.dependences import dependences
from gpucodegen.tiling.proof.liveness import loop_verdicts


def lifted(module: Module, name: str):
    return lift_function(module.functions[name], Surroundings.of(module)).scop


def kinds(text: str, name: str = "f") -> str:
    verdicts = loop_verdicts(model(lifted(gcg.parse(text), name)))
    return ", ".join(f"{v.loop.name} {v.kind.value}" for v in verdicts)


def accesses(text: str, name: str = "f") -> list[Access]:
    scop = lifted(gcg.parse(text), name)
    return [access for s in statements(scop.body) for access in s.accesses]


def around(call: str, callees: str) -> str:
    """A function whose loop makes one call."""
    return f"""
    func.func @f(%A: memref<8x8xf32>, %B: memref<8x8xf32>) {{
      affine.for %i = 0 to 4 {{
        {call}
      }}
      return
    }}
    {callees}"""


ROW = """
func.func @row(%A: memref<8x8xf32>, %r: index) {
  affine.for %j = 0 to 8 step 2 {
    %x = affine.load %A[%r, %j] : memref<8x8xf32>
    affine.store %x, %A[%r, %j + 1] : memref<8x8xf32>
  }
  return
}"""
ON_ROW = "func.call @row(%A, %i) : (memref<8x8xf32>, index) -> ()"


def test_rows_of_a_callee_are_apart():
    assert kinds(around(ON_ROW, ROW)) == "i parallel"


def test_the_index_is_that_of_the_call():
    other = """%h = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%i)
    func.call @row(%A, %h) : (memref<8x8xf32>, index) -> ()"""
    assert kinds(around(other, ROW)) == "i sequential"


def test_distances_are_exact():
    two = """func.call @row(%A, %i) : (memref<8x8xf32>, index) -> ()
    %n = affine.apply affine_map<(d0) -> (d0 + 3)>(%i)
    func.call @row(%A, %n) : (memref<8x8xf32>, index) -> ()"""
    built = model(lifted(gcg.parse(around(two, ROW)), "f"))
    carried = {str(d.distance[0]) for d in dependences(built) if d.carrier}
    assert carried == {"[3, 3]"}


def test_calls_of_calls_are_followed():
    twice = """
    func.func @twice(%A: memref<8x8xf32>, %r: index) {
      %s = affine.apply affine_map<(d0) -> (d0 * 2)>(%r)
      func.call @row(%A, %s) : (memref<8x8xf32>, index) -> ()
      return
    }"""
    call = "func.call @twice(%A, %i) : (memref<8x8xf32>, index) -> ()"
    found = accesses(around(call, ROW + twice))
    assert [a.indices[0] for a in found] == ["2*i", "2*i"]


def test_two_calls_of_one_function_are_told_apart():
    two = ON_ROW + "\nfunc.call @row(%B, %i) : (memref<8x8xf32>, index) -> ()"
    assert [a.array for a in accesses(around(two, ROW))] == ["A", "A", "B", "B"]


BRANCHES = """
func.func @search(%A: memref<8x8xf32>, %r: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^bb1(%c0 : index)
^bb1(%j: index):
  %v = memref.load %A[%r, %j] : memref<8x8xf32>
  %p = arith.cmpf oeq, %v, %v : f32
  %n = arith.addi %j, %c1 : index
  cf.cond_br %p, ^bb1(%n : index), ^bb2
^bb2:
  memref.store %v, %A[%r, %j] : memref<8x8xf32>
  return
}"""


def test_of_several_blocks_the_row_is_known_and_the_column_is_not():
    call = "func.call @search(%A, %i) : (memref<8x8xf32>, index) -> ()"
    text = around(call, BRANCHES)
    assert kinds(text) == "i parallel"
    assert {a.indices for a in accesses(text)} == {("i", None)}
    assert not any(a.must for a in accesses(text))


def test_recursion_touches_everything():
    again = """
    func.func @again(%A: memref<8x8xf32>, %r: index) {
      %x = affine.load %A[%r, 0] : memref<8x8xf32>
      func.call @again(%A, %r) : (memref<8x8xf32>, index) -> ()
      return
    }"""
    call = "func.call @again(%A, %i) : (memref<8x8xf32>, index) -> ()"
    assert kinds(around(call, again)) == "i sequential"


def test_a_function_without_a_body_may_do_anything():
    text = around(
        "func.call @g(%A) : (memref<8x8xf32>) -> ()",
        "func.func private @g(memref<8x8xf32>)",
    )
    assert kinds(text) == "i sequential"
    assert {a.array for a in accesses(text)} == {"A", "outside"}


def test_buffers_of_the_callee_are_its_own():
    own = """
    func.func @own(%A: memref<8x8xf32>, %r: index) {
      %t = memref.alloc() : memref<8xf32>
      %x = affine.load %A[%r, 0] : memref<8x8xf32>
      affine.store %x, %t[0] : memref<8xf32>
      %s = affine.for %j = 0 to 8 iter_args(%c = %x) -> (f32) {
        %y = affine.load %t[0] : memref<8xf32>
        %z = arith.addf %y, %c : f32
        affine.yield %z : f32
      }
      affine.store %s, %A[%r, 1] : memref<8x8xf32>
      memref.dealloc %t : memref<8xf32>
      return
    }"""
    call = "func.call @own(%A, %i) : (memref<8x8xf32>, index) -> ()"
    text = around(call, own)
    assert {a.array for a in accesses(text)} == {"A"}
    assert kinds(text) == "i parallel"


def test_a_returned_argument_is_that_argument():
    same = """
    func.func @same(%A: memref<8x8xf32>) -> memref<8x8xf32> {
      return %A : memref<8x8xf32>
    }"""
    body = """%x = affine.load %A[%i, 0] : memref<8x8xf32>
    %C = func.call @same(%A) : (memref<8x8xf32>) -> memref<8x8xf32>
    affine.store %x, %C[%i + 1, 0] : memref<8x8xf32>"""
    assert kinds(around(body, same)) == "i sequential"


def test_a_function_returns_one_of_two_buffers():
    either = """
    func.func @either(%A: memref<8x8xf32>, %r: index) -> memref<8x8xf32> {
      %own = memref.alloc() : memref<8x8xf32>
      %c = arith.cmpi slt, %r, %r : index
      cf.cond_br %c, ^given, ^fresh
    ^given:
      return %A : memref<8x8xf32>
    ^fresh:
      return %own : memref<8x8xf32>
    }"""
    body = """%x = affine.load %{}[%i, 0] : memref<8x8xf32>
    %C = func.call @either(%A, %i) : (memref<8x8xf32>, index) -> memref<8x8xf32>
    affine.store %x, %C[%i, 0] : memref<8x8xf32>"""
    assert kinds(around(body.format("A"), either)) == "i sequential"
    assert kinds(around(body.format("B"), either)) == "i sequential"
    once = body.replace("affine.store %x, %C", "%y = affine.load %C", 1)
    assert kinds(around(once.format("A"), either)) == "i parallel"


def test_globals_of_one_name_are_one_buffer():
    bump = """
    memref.global @g : memref<8xf32> = uninitialized
    func.func @bump(%A: memref<8x8xf32>, %r: index) {
      %x = affine.load %A[%r, 0] : memref<8x8xf32>
      %g = memref.get_global @g : memref<8xf32>
      affine.store %x, %g[0] : memref<8xf32>
      return
    }"""
    call = "func.call @bump(%A, %i) : (memref<8x8xf32>, index) -> ()"
    assert kinds(around(call, bump)) == "i sequential"


def test_a_returned_number_is_known():
    next_one = """
    func.func @next(%r: index) -> index {
      %s = affine.apply affine_map<(d0) -> (d0 + 1)>(%r)
      return %s : index
    }"""
    body = """%n = func.call @next(%i) : (index) -> index
    %x = memref.load %A[%n, %n] : memref<8x8xf32>
    memref.store %x, %B[%n, %n] : memref<8x8xf32>"""
    text = around(body, next_one)
    assert kinds(text) == "i parallel"
    assert {a.indices for a in accesses(text)} == {("i + 1", "i + 1")}


@pytest.mark.slow
def test_calls_that_call_twice_each_are_not_followed_for_ever():
    callees = "\n".join(
        f"""func.func @f{n}(%A: memref<8x8xf32>, %i: index) {{
          func.call @f{n + 1}(%A, %i) : (memref<8x8xf32>, index) -> ()
          func.call @f{n + 1}(%A, %i) : (memref<8x8xf32>, index) -> ()
          return
        }}"""
        for n in range(30)
    )
    last = "func.func private @f30(memref<8x8xf32>, index)"
    call = "func.call @f0(%A, %i) : (memref<8x8xf32>, index) -> ()"
    assert kinds(around(call, callees + last)) == "i sequential"
