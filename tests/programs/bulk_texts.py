"""Programs whose transfers are rows: products, streams of tiles, odd uses of tags."""

from __future__ import annotations

from collections.abc import Sequence

MATMUL = """func.func @f(%A: memref<{m}x{k}x{t}>, %B: memref<{k}x{n}x{t}>,
    %C: memref<{m}x{n}x{t}>) {{
  affine.for %i = 0 to {m} {{ affine.for %j = 0 to {n} {{ affine.for %k = 0 to {k} {{
    %a = affine.load %A[%i, %k] : memref<{m}x{k}x{t}>
    %b = affine.load %B[%k, %j] : memref<{k}x{n}x{t}>
    %c = affine.load %C[%i, %j] : memref<{m}x{n}x{t}>
    %p = arith.mulf %a, %b : {t}
    %s = arith.addf %c, %p : {t}
    affine.store %s, %C[%i, %j] : memref<{m}x{n}x{t}>
  }} }} }}
  return
}}"""
"""To be tiled and promoted: each tile of A, B and C becomes transfers."""

ROUND = """func.func @f(%x: memref<{n}x{t}>, %y: memref<{n}x{t}>) {{
  %w = arith.constant {w} : index
  affine.for %b = 0 to {blocks} {{
    %fast = memref.alloc() : memref<{w}x{t}, 2>
    %in = memref.alloc() : memref<i32>
    %out = memref.alloc() : memref<2xi32>
    affine.for %k = 0 to {trips} {{
      affine.dma_start %x[%b * {part} + %k * {w}], %fast[0], %in[], %w
          : memref<{n}x{t}>, memref<{w}x{t}, 2>, memref<i32>
      affine.dma_wait %in[], %w : memref<i32>
      affine.for %i = 0 to {w} {{
        %v = affine.load %fast[%i] : memref<{w}x{t}, 2>
        %d = arith.addf %v, %v : {t}
        affine.store %d, %fast[%i] : memref<{w}x{t}, 2>
      }}
      affine.dma_start %fast[0], %y[%b * {part} + %k * {w}], %out[%k mod 2], %w
          : memref<{w}x{t}, 2>, memref<{n}x{t}>, memref<2xi32>
      affine.dma_wait %out[%k mod 2], %w : memref<2xi32>
    }}
  }}
  return
}}"""


def doubled(w: int, blocks: int = 3, trips: int = 4, t: str = "f32") -> str:
    """y = x + x, a tile of ``w`` at a time, which is changed where it lies."""
    part = w * trips
    return ROUND.format(
        w=w, t=t, n=part * blocks, blocks=blocks, trips=trips, part=part
    )


KERNEL = """func.func @f(%x: memref<64x32xf32>, %y: memref<8x32xf32>) {{
  %w = arith.constant {count} : index
  %row = arith.constant 32 : index
  affine.for %b = 0 to 8 {{
    %fast = memref.alloc() : memref<{slots}x32xf32, 2>
    %tag = memref.alloc() : memref<{cells}xi32>
    affine.for %i = 0 to 32 {{
      %zero = arith.constant 0.0 : f32
      affine.store %zero, %y[%b, %i] : memref<8x32xf32>
    }}
{body}
  }}
  return
}}"""
"""Each block sums rows of x up into a row of y; the body says how they come."""


def start(row: str, slot: str, cell: str) -> str:
    """A row of x, from the block's first one on, into a slot."""
    ends = f"%x[%b * 8 + {row}, 0], %fast[{slot}, 0], %tag[{cell}], %w"
    types = "memref<64x32xf32>, memref<{slots}x32xf32, 2>, memref<{cells}xi32>"
    return f"affine.dma_start {ends} : {types}"


def wait(cell: str) -> str:
    """For a cell of the tag."""
    return f"affine.dma_wait %tag[{cell}], %w : memref<{{cells}}xi32>"


def add(slot: str) -> str:
    """A slot to the block's row of y."""
    return f"""affine.for %i = 0 to 32 {{{{
      %v = affine.load %fast[{slot}, %i] : memref<{{slots}}x32xf32, 2>
      %o = affine.load %y[%b, %i] : memref<8x32xf32>
      %s = arith.addf %v, %o : f32
      affine.store %s, %y[%b, %i] : memref<8x32xf32>
    }}}}"""


DOUBLE = """affine.for %i = 0 to 32 {{
      %v = affine.load %fast[0, %i] : memref<{slots}x32xf32, 2>
      %d = arith.addf %v, %v : f32
      affine.store %d, %fast[0, %i] : memref<{slots}x32xf32, 2>
    }}"""
"""The first slot, where it lies."""


def loop(*body: str, first: int = 0, end: str = "8", step: int = 1) -> str:
    """The body for each row."""
    head = f"affine.for %k = {first} to {end} step {step}"
    return "\n".join([f"{head} {{{{", *body, "}}"])


def kernel(*body: str, slots: int = 1, cells: int = 1, count: int = 32) -> str:
    """A program of such lines."""
    lines = "\n".join(body).format(slots=slots, cells=cells)
    return KERNEL.format(body=lines, slots=slots, cells=cells, count=count)


def ring(stages: int) -> Sequence[str]:
    """Rows in a ring of slots, with conditional starts."""
    ahead = stages - 1
    slot = f"%k mod {stages}"
    later = f"(%k + {ahead}) mod {stages}"
    condition = f"affine.if affine_set<(d0) : ({7 - ahead} - d0 >= 0)>(%k) {{{{"
    first = loop(start("%k", slot, slot), end=str(ahead))
    body = wait(slot), condition, start(f"%k + {ahead}", later, later), "}}", add(slot)
    return first, loop(*body)


USES: dict[str, str] = {
    "one after the other": kernel(loop(start("%k", "0", "0"), wait("0"), add("0"))),
    "ring of 2": kernel(*ring(2), slots=2, cells=2),
    "ring of 3": kernel(*ring(3), slots=3, cells=3),
    "ring of 4": kernel(*ring(4), slots=4, cells=4),
    "changed in place": kernel(
        loop(start("%k", "0", "0"), wait("0"), DOUBLE, add("0"))
    ),
    "a tag of two dimensions, whole rows at once": kernel(
        loop(
            start("%k", "0", "0"), wait("0"), *(add(str(n)) for n in range(4)), step=4
        ),
        slots=4,
        count=128,
    ),
}
"""By what is odd about them; each is y[b] = the sum of rows 8 b to 8 b + 7 of x."""
UNPROVEN: dict[str, str] = {
    "two of one cell": kernel(
        loop(
            *(start(f"%k + {n}", str(n), "0") for n in (0, 1)),
            *(wait("0"), add("0"), add("1")),
            step=2,
        ),
        slots=2,
    ),
    "a wait for each of one cell": kernel(
        loop(
            *(start(f"%k + {n}", str(n), "0") for n in (0, 1)),
            *(wait("0"), wait("0"), add("0"), add("1")),
            step=2,
        ),
        slots=2,
    ),
}
"""The same, of more than one transfer of a cell at a time: no proof takes them."""
LAUNCHED = """func.func @f(%x: memref<64x32xf32>, %y: memref<8x32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c8, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1)
             workgroup(%fast : memref<2x32xf32, 3>) {
    %tag = memref.alloca() : memref<2xi32>
    %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%bx)
    memref.dma_start %x[%row, %c0], %fast[%c0, %c0], %c32, %tag[%c0]
        : memref<64x32xf32>, memref<2x32xf32, 3>, memref<2xi32>
    %z = arith.constant 0.0 : f32
    %s = affine.for %k = 0 to 8 iter_args(%acc = %z) -> (f32) {
      %slot = affine.apply affine_map<(d0) -> (d0 mod 2)>(%k)
      %other = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2)>(%k)
      memref.dma_wait %tag[%slot], %c32 : memref<2xi32>
      affine.if affine_set<(d0) : (6 - d0 >= 0)>(%k) {
        %next = affine.apply affine_map<(d0, d1) -> (d0 * 8 + d1 + 1)>(%bx, %k)
        memref.dma_start %x[%next, %c0], %fast[%other, %c0], %c32, %tag[%other]
            : memref<64x32xf32>, memref<2x32xf32, 3>, memref<2xi32>
      }
      %v = memref.load %fast[%slot, %tx] : memref<2x32xf32, 3>
      %n = arith.addf %acc, %v : f32
      affine.yield %n : f32
    }
    memref.store %s, %y[%bx, %tx] : memref<8x32xf32>
    gpu.terminator
  }
  return
}"""
"""The same as a launch, with transfers that its blocks start by themselves."""


SENT = """func.func @f(%x: memref<{n}xf32>, %y: memref<{n}xf32>) {{
  %w = arith.constant 32 : index
  affine.for %b = 0 to 2 {{
    %fast = memref.alloc() : memref<3x32xf32, 2>
    %tag = memref.alloc() : memref<3xi32>
    affine.for %k = 0 to 6 {{
      affine.if affine_set<(d0) : (d0 - 3 >= 0)>(%k) {{
        affine.dma_wait %tag[%k mod 3], %w : memref<3xi32>
      }}
      affine.for %i = 0 to 32 {{
        %v = affine.load %x[%b * 192 + %k * 32 + %i] : memref<{n}xf32>
        %d = arith.addf %v, %v : f32
        affine.store %d, %fast[%k mod 3, %i] : memref<3x32xf32, 2>
      }}
      affine.dma_start %fast[%k mod 3, 0], %y[%b * 192 + %k * 32 + {shift}],
          %tag[%k mod 3], %w
          : memref<3x32xf32, 2>, memref<{n}xf32>, memref<3xi32>
    }}
    affine.for %k = 0 to 3 {{
      affine.dma_wait %tag[%k], %w : memref<3xi32>
    }}
  }}
  return
}}"""


def sent(shift: int = 0) -> str:
    """y = x + x in two blocks of six tiles, of which three are on their way out.

    ``shift``: elements by which y lies behind its start.
    """
    return SENT.format(n=384 + shift, shift=shift)
