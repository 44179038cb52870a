"""Devices that execute CUDA kernels: a GPU through CuPy, and the emulated device.

Comes in: PTX or machine code, packed arguments, contents of arrays.  Goes out: arrays
in a device's memory, kernels that ran.  Everything CUDA in the runtime is written once,
against `protocol`; `choice` says which device serves a call.
"""
