"""Devices, buffers, compilation, disk cache and launches.

Source text and `KernelSpec` records come in, running kernels go out.

- `machine`: what the processor is
- `storage`: files that outlive the process
- `threads`: threads of CPU kernels
- `devices`: a GPU, or the emulated device
- `library`: what programs print and check
- `host`: what host programs call
- `cpu`: kernels of the CPU
- `cuda`: kernels of CUDA
"""
