"""Devices that execute CUDA kernels: a GPU through CuPy, and the emulated device.

Comes in: PTX or machine code, packed arguments, contents of arrays.  Goes out: arrays
in a device's memory, kernels that ran.  Everything CUDA in the runtime is written once,
against `protocol`; `choice` says which device serves a call.

- `protocol`: what is asked of a device
- `strides`: how elements lie in memory
- `arguments`: arguments as bytes
- `recording`: operations that a graph repeats
- `cupy_device`: a GPU through CuPy
- `emulated_array`: arrays of the emulated device
- `emulated_streams`: their order on that device
- `fault_errors`: faults of its kernels as errors
- `emulated_device`: PTX in NumPy
- `emulated_cupy`: CuPy's functions on that device
- `choice`: which device serves a call
- `inventory`: what this machine has
"""
