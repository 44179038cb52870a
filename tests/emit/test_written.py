"""Which memrefs a kernel writes: their contents travel back from a device."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.emit.copy_plan import written_in

STORES = {
    "affine.store": "affine.store %x, %b[%i] : memref<8xf32>",
    "memref.store": "memref.store %x, %b[%i] : memref<8xf32>",
    "memref.copy": "memref.copy %a, %b : memref<8xf32> to memref<8xf32>",
    "memref.atomic_rmw": "%old = memref.atomic_rmw addf %x, %b[%i]"
    " : (f32, memref<8xf32>) -> f32",
    "affine.vector_store": "affine.vector_store %v, %b[%i]"
    " : memref<8xf32>, vector<4xf32>",
    "vector.store": "vector.store %v, %b[%i] : memref<8xf32>, vector<4xf32>",
    "vector.transfer_write": "vector.transfer_write %v, %b[%i] {in_bounds = [true]}"
    " : vector<4xf32>, memref<8xf32>",
    "vector.maskedstore": "vector.maskedstore %b[%i], %m, %v"
    " : memref<8xf32>, vector<4xi1>, vector<4xf32>",
}


@pytest.mark.cases("name", STORES)
def test_each_store_writes(name: str) -> None:
    module = gcg.parse(
        f"""
        func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %x: f32, %v: vector<4xf32>,
                     %m: vector<4xi1>) {{
          affine.for %i = 0 to 4 {{
            {STORES[name]}
          }}
          return
        }}"""
    )
    function = module.functions["f"]
    assert any(op.name == name for op in function.walk())
    a, b, *_ = function.regions[0].blocks[0].arguments
    written = written_in(list(function.regions[0].blocks[0].operations))
    assert b in written
    assert a not in written


def test_a_masked_store_alone_travels_back_from_the_device() -> None:

    text = """
    gpu.module @m { gpu.func @k(%a: memref<8xf32>, %v: f32) kernel {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %m = vector.create_mask %c3 : vector<4xi1>
      %x = vector.broadcast %v : f32 to vector<4xf32>
      vector.maskedstore %a[%c0], %m, %x : memref<8xf32>, vector<4xi1>, vector<4xf32>
      gpu.return
    } }
    func.func @f(%a: memref<8xf32>, %v: f32) {
      %one = arith.constant 1 : index
      gpu.launch_func @m::@k blocks in (%one, %one, %one)
          threads in (%one, %one, %one) args(%a : memref<8xf32>, %v : f32)
      return
    }"""
    array = np.zeros(8, "f4")
    gcg.compile(text, target="sim").f(array, 2.0)
    assert array.tolist() == [2, 2, 2, 0, 0, 0, 0, 0]
