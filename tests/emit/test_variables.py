"""Loop-carried values share one variable exactly where their lifetimes allow it."""

from __future__ import annotations

from gpucodegen.emit import CPU, emit_program
from gpucodegen.parser import parse_module

HEAD = 'attributes {gcg.kernel = "cpu"}'


def body_of(text: str) -> list[str]:
    (kernel,) = emit_program(parse_module(text, "t.mlir"), CPU).kernels
    lines = kernel.source.partition("def ")[2].splitlines()[1:]
    return [line.partition("  #")[0].removeprefix("    ") for line in lines if line]


def test_an_accumulator_is_one_variable_through_nested_loops():
    text = f"""
    func.func private @k(%x: memref<4x4xf32>, %y: memref<1xf32>) {HEAD} {{
      %zero = arith.constant 0.0 : f32
      %s = affine.for %i = 0 to 4 iter_args(%acc = %zero) -> (f32) {{
        %r = affine.for %j = 0 to 4 iter_args(%inner = %acc) -> (f32) {{
          %v = affine.load %x[%i, %j] : memref<4x4xf32>
          %t = arith.addf %inner, %v : f32
          affine.yield %t : f32
        }}
        affine.yield %r : f32
      }}
      affine.store %s, %y[0] : memref<1xf32>
      return
    }}"""
    assert body_of(text) == [
        "acc = float32(0.0)",
        "for i in range(4):",
        "    for j in range(4):",
        "        v = x[i * 4 + j]",
        "        acc = acc + v",
        "y[0] = acc",
    ]


def test_an_old_value_that_is_still_read_keeps_its_variable():
    text = f"""
    func.func private @k(%x: memref<4xf32>, %y: memref<4xf32>) {HEAD} {{
      %zero = arith.constant 0.0 : f32
      %s = affine.for %i = 0 to 4 iter_args(%acc = %zero) -> (f32) {{
        %v = affine.load %x[%i] : memref<4xf32>
        %t = arith.addf %acc, %v : f32
        affine.store %acc, %y[%i] : memref<4xf32>
        affine.yield %t : f32
      }}
      return
    }}"""
    assert body_of(text) == [
        "acc = float32(0.0)",
        "for i in range(4):",
        "    v = x[i]",
        "    t = acc + v",
        "    y[i] = acc",
        "    acc = t",
    ]


def test_an_initial_value_from_outside_the_outer_loop_is_copied():
    text = f"""
    func.func private @k(%x: memref<4xf32>) {HEAD} {{
      %first = affine.load %x[0] : memref<4xf32>
      affine.for %i = 0 to 4 {{
        %s = affine.for %j = 0 to 4 iter_args(%acc = %first) -> (f32) {{
          %t = arith.addf %acc, %acc : f32
          affine.yield %t : f32
        }}
        affine.store %s, %x[%i] : memref<4xf32>
      }}
      return
    }}"""
    assert body_of(text) == [
        "first = x[0]",
        "for i in range(4):",
        "    acc = first",
        "    for j in range(4):",
        "        acc = acc + acc",
        "    x[i] = acc",
    ]


def test_swapped_values_are_assigned_at_once():
    text = f"""
    func.func private @k(%x: memref<2xf32>) {HEAD} {{
      %a0 = affine.load %x[0] : memref<2xf32>
      %b0 = affine.load %x[1] : memref<2xf32>
      %r:2 = affine.for %i = 0 to 3 iter_args(%a = %a0, %b = %b0) -> (f32, f32) {{
        affine.yield %b, %a : f32, f32
      }}
      affine.store %r#0, %x[0] : memref<2xf32>
      affine.store %r#1, %x[1] : memref<2xf32>
      return
    }}"""
    assert "    a, b = b, a" in body_of(text)


def test_a_value_used_in_a_while_loop_is_not_overwritten_by_its_results():
    text = f"""
    func.func private @k(%x: memref<4xi32>) {HEAD} {{
      %one = arith.constant 1 : i32
      %first = affine.load %x[0] : memref<4xi32>
      %s = affine.for %i = 0 to 4 iter_args(%acc = %first) -> (i32) {{
        %w = scf.while (%b = %one) : (i32) -> i32 {{
          %go = arith.cmpi slt, %b, %acc : i32
          scf.condition(%go) %b : i32
        }} do {{
        ^bb0(%b: i32):
          %n = arith.addi %b, %acc : i32
          scf.yield %n : i32
        }}
        affine.yield %w : i32
      }}
      affine.store %s, %x[1] : memref<4xi32>
      return
    }}"""
    lines = body_of(text)
    assert "        w = b" in lines
    assert "    acc = w" in lines


def test_an_index_used_once_is_printed_where_it_is_used():
    text = f"""
    func.func private @k(%x: memref<?x8xf32>, %n: index) {HEAD} {{
      affine.for %i = 0 to %n {{
        %r = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%i)
        %c = affine.apply affine_map<(d0) -> (d0 mod 4)>(%i)
        %v = memref.load %x[%r, %c] : memref<?x8xf32>
        memref.store %v, %x[%c, %r] : memref<?x8xf32>
      }}
      return
    }}"""
    assert body_of(text) == [
        "for i in range(n):",
        "    r = i // 4",
        "    c = i % 4",
        "    v = x[r * 8 + c]",
        "    x[c * 8 + r] = v",
    ]
