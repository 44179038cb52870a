// ----- shape.const_shape shape.get_extent
() -> index
%s = shape.const_shape [2, 3] : tensor<2xindex>
%one = arith.constant 1 : index
%r = shape.get_extent %s, %one : tensor<2xindex>, index -> index

// ----- shape.const_size shape.size_to_index
() -> index
%s = shape.const_size 10
%r = shape.size_to_index %s : !shape.size

// ----- shape.index_to_size
(%n: index) -> index
%s = shape.index_to_size %n
%r = shape.size_to_index %s : !shape.size

// ----- shape.add shape.mul shape.div shape.max shape.min
(%m: index, %n: index) -> index
%r = $op %m, %n : index, index -> index

// ----- shape.concat shape.any shape.meet
(%t: tensor<2x3xf32>) -> index
%s = shape.shape_of %t : tensor<2x3xf32> -> !shape.shape
%u = $op %s, %s : !shape.shape, !shape.shape -> !shape.shape
%z = shape.num_elements %u : !shape.shape -> !shape.size
%r = shape.size_to_index %z : !shape.size

// ----- shape.broadcast
() -> tensor<2xindex>
%s = shape.const_shape [2, 1] : tensor<2xindex>
%u = shape.const_shape [3] : tensor<1xindex>
%r = shape.broadcast %s, %u : tensor<2xindex>, tensor<1xindex> -> tensor<2xindex>

// ----- shape.rank shape.num_elements
(%t: tensor<2x?xf32>) -> index
%s = shape.shape_of %t : tensor<2x?xf32> -> tensor<2xindex>
%r = $op %s : tensor<2xindex> -> index

// ----- shape.to_extent_tensor shape.shape_of
(%t: tensor<2x?xf32>) -> tensor<2xindex>
%s = shape.shape_of %t : tensor<2x?xf32> -> !shape.shape
%r = shape.to_extent_tensor %s : !shape.shape -> tensor<2xindex>

// ----- shape.dim
(%t: tensor<2x?xf32>) -> index
%one = arith.constant 1 : index
%r = shape.dim %t, %one : tensor<2x?xf32>, index -> index

// ----- shape.shape_eq shape.is_broadcastable
(%t: tensor<2xindex>) -> i1
%r = $op %t, %t : tensor<2xindex>, tensor<2xindex>

// ----- shape.cstr_broadcastable shape.cstr_eq shape.assuming shape.assuming_yield
(%t: tensor<2xindex>, %x: f32) -> f32
%w = shape.cstr_eq %t, %t : tensor<2xindex>, tensor<2xindex>
%v = shape.cstr_broadcastable %t, %t : tensor<2xindex>, tensor<2xindex>
%r = shape.assuming %w -> f32 {
  shape.assuming_yield %x : f32
}

// ----- shape.const_witness shape.cstr_require shape.assuming_all
(%x: f32) -> f32
%yes = arith.constant true
%a = shape.const_witness true
%b = shape.cstr_require %yes, "it holds"
%w = shape.assuming_all %a, %b
%r = shape.assuming %w -> f32 {
  shape.assuming_yield %x : f32
}

// ----- shape.from_extents shape.from_extent_tensor
(%n: index) -> tensor<2xindex>
%s = shape.from_extents %n, %n : index, index
%t = shape.to_extent_tensor %s : !shape.shape -> tensor<2xindex>
%u = shape.from_extent_tensor %t : tensor<2xindex>
%r = shape.to_extent_tensor %u : !shape.shape -> tensor<2xindex>

// ----- shape.split_at
(%n: index) -> index
%s = shape.from_extents %n, %n, %n : index, index, index
%one = arith.constant 1 : index
%a, %b = "shape.split_at"(%s, %one) : (!shape.shape, index) -> (!shape.shape, !shape.shape)
%z = shape.rank %b : !shape.shape -> !shape.size
%r = shape.size_to_index %z : !shape.size

// ----- shape.reduce shape.yield
(%t: tensor<3xindex>) -> index
%one = arith.constant 1 : index
%r = shape.reduce(%t, %one) : tensor<3xindex> -> index {
^bb0(%i: index, %n: index, %p: index):
  %q = arith.muli %n, %p : index
  shape.yield %q : index
}

// ----- shape.value_as_shape
(%t: tensor<2xindex>) -> tensor<2xindex>
%r = shape.value_as_shape %t : tensor<2xindex> -> tensor<2xindex>

// ----- shape.with_shape shape.value_of
(%t: tensor<4xf32>) -> tensor<4xf32>
%s = shape.shape_of %t : tensor<4xf32> -> !shape.shape
%v = shape.with_shape %t, %s : tensor<4xf32>, !shape.shape
%r = shape.value_of %v : tensor<4xf32>

// ----- shape.debug_print
(%t: tensor<4xf32>)
%s = shape.shape_of %t : tensor<4xf32> -> !shape.shape
%u = "shape.debug_print"(%s) : (!shape.shape) -> !shape.shape

// ----- shape.function_library shape.func shape.return
module attributes {shape.lib = [@lib]} {
  shape.function_library @lib {
    shape.func @same(%arg: !shape.value_shape) -> !shape.shape {
      %0 = shape.shape_of %arg : !shape.value_shape -> !shape.shape
      shape.return %0 : !shape.shape
    }
  } mapping {test.op = @same}
  func.func @f(%x: f32) -> f32 { return %x : f32 }
}
