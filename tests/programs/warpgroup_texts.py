"""Products by tensor copies, mbarriers and warpgroups, written as text of nvgpu."""

from __future__ import annotations

from dataclasses import dataclass

SIZES = {"f16": 2, "bf16": 2, "f32": 4, "i8": 1, "f8E4M3FN": 1}
ZERO = "nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>"


def tensor_map(rows: int, columns: int, element: str, span: int) -> str:
    return (
        f"!nvgpu.tensormap.descriptor<tensor = memref<{rows}x{columns}x{element}, 3>,"
        f" swizzle = swizzle_{span}b, l2promo = none, oob = zero, interleave = none>"
    )


def barriers(count: int) -> str:
    return f"!{ZERO}, num_barriers = {count}>"


@dataclass(frozen=True)
class Product:
    """C = A B: a warp copies steps of K into a ring of stages, a warpgroup multiplies.

    ``span``: of the swizzles; a step has so many bytes of K.  ``by_columns``: B lies as
    K by N, else as N by K.  ``m``, ``n`` and ``k`` may be ragged.
    """

    m: int = 64
    n: int = 64
    k: int = 256
    stages: int = 3
    factor: str = "f16"
    total: str = "f32"
    span: int = 128
    tile_m: int = 64
    tile_n: int = 64
    by_columns: bool = True

    @property
    def step(self) -> int:
        return self.span // SIZES[self.factor]

    @property
    def steps(self) -> int:
        return -(-self.k // self.step)

    @property
    def text(self) -> str:
        f, ring = self.factor, self.stages
        rows_b, columns_b = (self.step, self.tile_n)
        if not self.by_columns:
            rows_b, columns_b = columns_b, rows_b
        box_b = rows_b, min(columns_b, self.span // SIZES[f])
        ta = tensor_map(self.tile_m, self.step, f, self.span)
        tb = tensor_map(*box_b, f, self.span)
        bar = barriers(ring)
        sa = f"memref<{ring}x{self.tile_m}x{self.step}x{f}, 3>"
        sb = f"memref<{ring}x{rows_b}x{columns_b}x{f}, 3>"
        one_a = (
            f"memref<{self.tile_m}x{self.step}x{f},"
            f" strided<[{self.step}, 1], offset: ?>, 3>"
        )
        one_b = (
            f"memref<{rows_b}x{columns_b}x{f}, strided<[{columns_b}, 1], offset: ?>, 3>"
        )
        factor = "!nvgpu.warpgroup.descriptor<tensor = memref<{}x{}x{}, 3>>"
        da = factor.format(self.tile_m, self.step, f)
        db = factor.format(rows_b, columns_b, f)
        acc = (
            "!nvgpu.warpgroup.accumulator<fragmented ="
            f" vector<{self.tile_m}x{self.tile_n}x{self.total}>>"
        )
        a = f"memref<{self.m}x{self.k}x{f}>"
        shape_b = f"{self.k}x{self.n}" if self.by_columns else f"{self.n}x{self.k}"
        b = f"memref<{shape_b}x{f}>"
        grid = -(-self.m // self.tile_m), -(-self.n // self.tile_n)
        c = f"memref<{grid[0] * self.tile_m}x{grid[1] * self.tile_n}x{self.total}>"
        bytes_ = (self.tile_m + self.tile_n) * self.span
        parts = -(-columns_b // box_b[1])
        loads = "".join(self._load_b(n, box_b, sb, tb, bar) for n in range(parts))
        place_b = f"%vb = memref.subview %sb[%s, 0, 0] [1, {rows_b}, {columns_b}]"
        return f"""
func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %threads = arith.constant 256 : index
  %steps = arith.constant {self.steps} : index
  %stages = arith.constant {ring} : index
  %rows = arith.constant {grid[0]} : index
  %columns = arith.constant {grid[1]} : index
  %bm = arith.constant {self.tile_m} : index
  %bn = arith.constant {self.tile_n} : index
  %bk = arith.constant {self.step} : index
  %box0 = arith.constant {box_b[0]} : index
  %box1 = arith.constant {box_b[1]} : index
  %ua = memref.cast %a : {a} to memref<*x{f}>
  %ub = memref.cast %b : {b} to memref<*x{f}>
  %ma = nvgpu.tma.create.descriptor %ua box[%bm, %bk] : memref<*x{f}> -> {ta}
  %mb = nvgpu.tma.create.descriptor %ub box[%box0, %box1] : memref<*x{f}> -> {tb}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %columns, %gy = %rows, %gz = %c1)
             threads(%tx, %ty, %tz) in (%ex = %threads, %ey = %c1, %ez = %c1)
             workgroup(%sa : {sa}, %sb : {sb}) {{
    %two = arith.constant 2 : index
    %bytes = arith.constant {bytes_} : index
    %ticks = arith.constant 10000000 : index
    %first = arith.cmpi eq, %tx, %c0 : index
    %row = arith.muli %by, %bm : index
    %column = arith.muli %bx, %bn : index
    %full = nvgpu.mbarrier.create -> {bar}
    %empty = nvgpu.mbarrier.create -> {bar}
    scf.if %first {{
      scf.for %s = %c0 to %stages step %c1 {{
        nvgpu.mbarrier.init %full[%s], %c1 : {bar}
        nvgpu.mbarrier.init %empty[%s], %c128 : {bar}
      }}
    }}
    gpu.barrier
    %consumes = arith.cmpi ult, %tx, %c128 : index
    %produces = arith.cmpi eq, %tx, %c128 : index
    scf.if %produces {{
      scf.for %k = %c0 to %steps step %c1 {{
        %s = arith.remui %k, %stages : index
        %round = arith.divui %k, %stages : index
        %turn = arith.remui %round, %two : index
        %p = arith.cmpi eq, %turn, %c0 : index
        nvgpu.mbarrier.try_wait.parity %empty[%s], %p, %ticks : {bar}
        nvgpu.mbarrier.arrive.expect_tx %full[%s], %bytes : {bar}
        %x = arith.muli %k, %bk : index
        %va = memref.subview %sa[%s, 0, 0] [1, {self.tile_m}, {self.step}] [1, 1, 1] :
          {sa} to {one_a}
        nvgpu.tma.async.load %ma[%x, %row], %full[%s] to %va : {ta}, {bar} -> {one_a}
        {loads}
      }}
    }}
    scf.if %consumes {{
      %z = nvgpu.warpgroup.mma.init.accumulator -> {acc}
      %d = scf.for %k = %c0 to %steps step %c1 iter_args(%sum = %z) -> ({acc}) {{
        %s = arith.remui %k, %stages : index
        %round = arith.divui %k, %stages : index
        %turn = arith.remui %round, %two : index
        %p = arith.cmpi eq, %turn, %c1 : index
        nvgpu.mbarrier.try_wait.parity %full[%s], %p, %ticks : {bar}
        %va = memref.subview %sa[%s, 0, 0] [1, {self.tile_m}, {self.step}] [1, 1, 1] :
          {sa} to {one_a}
        {place_b} [1, 1, 1] : {sb} to {one_b}
        %da = nvgpu.warpgroup.generate.descriptor %va, %ma : {one_a}, {ta} -> {da}
        %db = nvgpu.warpgroup.generate.descriptor %vb, %mb : {one_b}, {tb} -> {db}
        %n = nvgpu.warpgroup.mma %da, %db, %sum{" transposeB" * self.by_columns}
          : {da}, {db}, {acc} -> {acc}
        %t = nvgpu.mbarrier.arrive %empty[%s] : {bar} -> !nvgpu.mbarrier.token
        scf.yield %n : {acc}
      }}
      %out = memref.subview %c[%row, %column] [{self.tile_m}, {self.tile_n}] [1, 1] :
        {c} to {self._out(grid[1])}
      nvgpu.warpgroup.mma.store %d, %out : {acc} to {self._out(grid[1])}
    }}
    gpu.terminator
  }}
  return
}}"""

    def _out(self, columns: int) -> str:
        return (
            f"memref<{self.tile_m}x{self.tile_n}x{self.total},"
            f" strided<[{columns * self.tile_n}, 1], offset: ?>>"
        )

    def _load_b(
        self, n: int, box: tuple[int, int], ring: str, tb: str, bar: str
    ) -> str:
        """The nth box of B's step: they lie one behind the other."""
        rows, columns = box
        whole = self.step * self.tile_n
        part = (
            f"memref<{rows}x{columns}x{self.factor},"
            f" strided<[{columns}, 1], offset: ?>, 3>"
        )
        at = ["%column", "%x"] if self.by_columns else ["%x", "%column"]
        return f"""
        %start{n} = arith.constant {n * columns} : index
        %inner{n} = arith.addi {at[0]}, %start{n} : index
        %whole{n} = arith.constant {whole} : index
        %ring{n} = arith.muli %s, %whole{n} : index
        %before{n} = arith.constant {n * rows * columns} : index
        %place{n} = arith.addi %ring{n}, %before{n} : index
        %part{n} = memref.reinterpret_cast %sb to offset: [%place{n}],
          sizes: [{rows}, {columns}], strides: [{columns}, 1] : {ring} to {part}
        nvgpu.tma.async.load %mb[%inner{n}, {at[1]}], %full[%s] to %part{n}
          : {tb}, {bar} -> {part}"""


def tile_by_store() -> str:
    """A block reads a box, doubles it in shared memory and stores it by a copy."""
    box = tensor_map(32, 32, "f32", 128).replace("swizzle_128b", "none")
    bar, memory = barriers(1), "memref<60x64xf32>"
    return f"""
func.func @f(%a: {memory}, %b: {memory}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %n = arith.constant 64 : index
  %ua = memref.cast %a : {memory} to memref<*xf32>
  %ub = memref.cast %b : {memory} to memref<*xf32>
  %ma = nvgpu.tma.create.descriptor %ua box[%c32, %c32] : memref<*xf32> -> {box}
  %mb = nvgpu.tma.create.descriptor %ub box[%c32, %c32] : memref<*xf32> -> {box}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c2, %gz = %c1)
             threads(%tx, %ty, %tz) in (%ex = %n, %ey = %c1, %ez = %c1)
             workgroup(%s : memref<32x32xf32, 3>) {{
    %bytes = arith.constant 4096 : index
    %ticks = arith.constant 1000 : index
    %even = arith.constant false
    %first = arith.cmpi eq, %tx, %c0 : index
    %x = arith.muli %bx, %c32 : index
    %y = arith.muli %by, %c32 : index
    %g = nvgpu.mbarrier.create -> {bar}
    nvgpu.mbarrier.init %g[%c0], %c1, predicate = %first : {bar}
    gpu.barrier
    nvgpu.mbarrier.arrive.expect_tx %g[%c0], %bytes, predicate = %first : {bar}
    nvgpu.tma.async.load %ma[%x, %y], %g[%c0] to %s, predicate = %first
      : {box}, {bar} -> memref<32x32xf32, 3>
    nvgpu.mbarrier.try_wait.parity %g[%c0], %even, %ticks : {bar}
    %column = arith.remui %tx, %c32 : index
    %row = arith.divui %tx, %c32 : index
    scf.for %i = %row to %c32 step %c2 {{
      %v = memref.load %s[%i, %column] : memref<32x32xf32, 3>
      %w = arith.addf %v, %v : f32
      memref.store %w, %s[%i, %column] : memref<32x32xf32, 3>
    }}
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>}}
    gpu.barrier
    nvgpu.tma.async.store %s to %mb[%x, %y], predicate = %first
      : memref<32x32xf32, 3> -> {box}
    scf.if %first {{
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
    }}
    gpu.terminator
  }}
  return
}}"""
