"""Operations as tables: their syntax, checks and traits, with typed views and builders.

- `framework`: how an operation is defined
- `shared`: what several dialects have in common
- `ranges`: how large integers may be
- `builtin`: modules, and casts between type systems
- `func`: functions, calls, returns
- `cf`: branches between blocks
- `check`: what a program expects of its values
- `scf`: loops and conditions with bounds of any kind
- `affine`: loops, conditions and accesses with affine bounds
- `arith`: arithmetic, comparisons, casts
- `index`: arithmetic of indices
- `math`: functions
- `complex`: complex numbers
- `memref`: buffers: allocation, access, views, copies
- `bufferization`: between tensors and buffers
- `tensor`: values in the shape of arrays
- `shape`: computing with shapes
- `linalg`: structured operations
- `vector`: registers
- `gpu`: launches and threads
- `nvgpu`: matrix units and copies of NVIDIA's devices
- `nvvm`: instructions of NVIDIA's devices
- `stablehlo`: what JAX prints, and `chlo` beside it
- `tosa`: operations of networks
- `ub`: values that must not be used
- `gcg`: what this compiler adds
- `verifier`: the rules of every module
"""
