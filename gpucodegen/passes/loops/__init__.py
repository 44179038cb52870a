"""Classic restructuring of ``affine.for`` loops: one pass a file.

- `array_contraction`: Array contraction: a cell that only one iteration uses becomes
  a value of it
- `array_privatization`: Scalar expansion: what an iteration carries and keeps gets a
  cell of its own
- `carried_cells`: Loops carry values in cells of local buffers while their order
  changes
- `coalesce`: Loop coalescing: two loops over memory without gaps count as one
- `fusion`: Neighbouring nests that are parallel throughout become one, where they
  share data
- `histogram_privatization`: Updates of cells that data choose, shared by threads that
  have their own cells
- `improve_locality`: Better order of memory accesses: which loop runs innermost,
  which nests are one
- `interchange`: Interchange: perfectly nested loops in another order
- `iteration_ranges`: Loop normalisation: lower bound 0 and step 1
- `rectangular_tiling`: Rectangular tiling of every permutable band, as far as it is
  legal
- `requested_schedules`: What a caller asks of the time loops of a function: their
  tiles, or none
- `restructure`: Skewing: multiples of outer loops are added to inner ones, so that
  all permute
- `scalar_replacement`: Cells that loops load and store in every iteration are values
  that the loops carry
- `unroll`: Unroll and jam: copies of an outer loop's iterations side by side in its
  inner loops
- `wavefront`: Time tiling: wavefronts of tiles over a time loop and the space inside
  it
"""
