"""Classic restructuring of ``affine.for`` loops: one pass a file.

Every pass proves its own legality by asking `gpucodegen.tiling` and refuses with a
reason and, where there is one, a witness.  How a loop is named: `naming`.

- `framework`: loops named, asked for legality, replaced
- `iterations`: unrolled, peeled, split, coalesced
- `order`: interchange, fusion, distribution, skewing
- `tiling`: tiles and wavefronts of tiles
- `restructuring`: whole nests scheduled anew
- `cells`: memory as values, values as memory
- `scatter`: updates of cells that data choose, in parallel
"""
