"""What generated code calls: one name, two faces (``cpu`` and ``cuda``).

The only place with LLVM IR or PTX.  A generated module names the intrinsics it needs in
its header, ``zeros = intrinsics.constant((12, 32), "f32", 0.0)``, and the text runs
on every face that has its target.

- `framework`: how an intrinsic is made for each compiler
- `scalars`: arithmetic of numbers
- `vector_math`: functions of vectors
- `tiles`: tiles in registers
- `cpu`: the face of the CPU
- `cuda`: the face of CUDA
- `engines`: matrix units and copy engines of a GPU
- `pool`: threads of CPU kernels
- `direct`: repeated calls in machine code
"""
