func.func @f1(%s: !shape.shape, %t: tensor<?xindex>, %z: !shape.size, %i: index, %v: !shape.value_shape, %x: tensor<4x?xf32>, %u: tensor<*xf32>, %w: !shape.witness, %c: i1) {
  %0 = shape.const_shape [] : !shape.shape
  %1 = shape.const_shape [1, 2, 3] : !shape.shape
  %2 = shape.const_shape [4, 5] : tensor<2xindex>
  %3 = shape.const_size 10
  %4 = shape.const_witness true
  %5 = shape.add %z, %i : !shape.size, index -> !shape.size
  %6 = shape.add %i, %i : index, index -> index
  %7 = shape.mul %z, %z : !shape.size, !shape.size -> !shape.size
  %8 = shape.div %i, %i {foo} : index, index -> index
  %9 = shape.broadcast %s, %t : !shape.shape, tensor<?xindex> -> !shape.shape
  %10 = shape.broadcast %t, %t, %t : tensor<?xindex>, tensor<?xindex>, tensor<?xindex> -> tensor<?xindex>
  %11 = shape.broadcast %s, %s <{error = "abc"}> : !shape.shape, !shape.shape -> !shape.shape
  %12 = shape.shape_eq %s, %t : !shape.shape, tensor<?xindex>
  %13 = shape.shape_eq %s, %s, %s : !shape.shape, !shape.shape, !shape.shape
  %14 = shape.from_extents %i, %z : index, !shape.size
  %15 = shape.from_extents
  return
}
func.func @f2(%s: !shape.shape, %t: tensor<?xindex>, %z: !shape.size, %i: index, %v: !shape.value_shape, %x: tensor<4x?xf32>, %u: tensor<*xf32>, %w: !shape.witness, %c: i1) {
  %0 = shape.from_extents %i, %z : index, !shape.size
  %1 = shape.from_extent_tensor %t : tensor<?xindex>
  %2 = shape.is_broadcastable %s, %t : !shape.shape, tensor<?xindex>
  %3 = shape.rank %s : !shape.shape -> !shape.size
  %4 = shape.rank %t : tensor<?xindex> -> index
  %5 = shape.to_extent_tensor %s : !shape.shape -> tensor<3xindex>
  %6 = shape.to_extent_tensor %t : tensor<?xindex> -> tensor<?xindex>
  %7 = shape.dim %x, %i : tensor<4x?xf32>, index -> index
  %8 = shape.dim %u, %z : tensor<*xf32>, !shape.size -> !shape.size
  %9 = shape.get_extent %s, %z : !shape.shape, !shape.size -> !shape.size
  %10 = shape.get_extent %t, %i : tensor<?xindex>, index -> index
  %11 = shape.index_to_size %i
  %12 = shape.size_to_index %z : !shape.size
  %13 = shape.max %s, %s : !shape.shape, !shape.shape -> !shape.shape
  %14 = shape.min %z, %z : !shape.size, !shape.size -> !shape.size
  %15 = shape.meet %s, %s, error = "reason" : !shape.shape, !shape.shape -> !shape.shape
  %16 = shape.meet %z, %i : !shape.size, index -> !shape.size
  %17 = shape.num_elements %s : !shape.shape -> !shape.size
  %18 = shape.num_elements %t : tensor<?xindex> -> index
  %19 = shape.shape_of %x : tensor<4x?xf32> -> tensor<2xindex>
  %20 = shape.shape_of %u : tensor<*xf32> -> tensor<?xindex>
  %21 = shape.shape_of %v : !shape.value_shape -> !shape.shape
  %22 = shape.shape_of %x : tensor<4x?xf32> -> !shape.shape
  %23 = shape.value_of %v : tensor<4xf32>
  %24 = shape.value_as_shape %v : !shape.value_shape -> !shape.shape
  %25 = shape.value_as_shape %t : tensor<?xindex> -> tensor<?xindex>
  %26 = shape.with_shape %v, %s : !shape.value_shape, !shape.shape
  %27 = shape.with_shape %x, %t : tensor<4x?xf32>, tensor<?xindex>
  %28 = "shape.debug_print"(%s) : (!shape.shape) -> !shape.shape
  %29:2 = "shape.split_at"(%s, %i) : (!shape.shape, index) -> (!shape.shape, !shape.shape)
  %30 = shape.concat %s, %t : !shape.shape, tensor<?xindex> -> !shape.shape
  %31 = shape.any %s, %t : !shape.shape, tensor<?xindex> -> !shape.shape
  %32 = shape.cstr_broadcastable %s, %t : !shape.shape, tensor<?xindex>
  %33 = shape.cstr_eq %s, %s {foo} : !shape.shape, !shape.shape
  %34 = shape.cstr_require %c, "message"
  %35 = shape.assuming_all %w, %32, %33
  %36 = shape.assuming %w -> (tensor<4x?xf32>) {
    shape.assuming_yield %x : tensor<4x?xf32>
  }
  shape.assuming %w {
  }
  %37:2 = shape.assuming %w -> (index, i1) {
    shape.assuming_yield %i, %c : index, i1
  } {foo}
  return
}
func.func @f3(%shape: !shape.shape, %init: !shape.size) -> !shape.size {
  %num_elements = shape.reduce(%shape, %init) : !shape.shape -> !shape.size {
  ^bb0(%index: index, %dim: !shape.size, %acc: !shape.size):
    %updated_acc = shape.mul %acc, %dim : !shape.size, !shape.size -> !shape.size
    shape.yield %updated_acc : !shape.size
  }
  return %num_elements : !shape.size
}
func.func @f4(%shape: tensor<?xindex>, %init: index) -> index {
  %num_elements, %x = shape.reduce(%shape, %init, %init) : tensor<?xindex> -> (index, index) {
  ^bb0(%index: index, %dim: index, %acc: index, %acc2: index):
    shape.yield %acc, %dim : index, index
  } {foo}
  return %num_elements : index
}
module @library attributes {shape.lib = [@shape_lib]} {
  shape.function_library @shape_lib {
    shape.func @same_result_shape(%arg: !shape.value_shape) -> !shape.shape {
      %0 = shape.shape_of %arg : !shape.value_shape -> !shape.shape
      shape.return %0 : !shape.shape
    }
    shape.func @two(%arg: !shape.value_shape {foo.bar}, %b: i1) -> (!shape.shape, i1) attributes {x = 1} {
      %0 = shape.shape_of %arg : !shape.value_shape -> !shape.shape
      shape.return %0, %b : !shape.shape, i1
    }
  } mapping {test.same_operand_result_type = @same_result_shape}
  func.func @f() {
    return
  }
}
shape.function_library @shape_lib attributes {foo} {
  shape.func private @ext(!shape.value_shape) -> !shape.shape
} mapping {}
func.func @f5(%arg: tensor<?xf32>) {
  %0 = shape.shape_of %arg : tensor<?xf32> -> !shape.shape
  %1 = shape.const_shape [1, 2] : !shape.shape
  %2 = shape.num_elements %0 : !shape.shape -> !shape.size
  %3 = shape.broadcast %0, %1 : !shape.shape, !shape.shape -> !shape.shape
  return
}
