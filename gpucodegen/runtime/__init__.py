"""Devices, buffers, compilation, disk cache, launches and the emulator.

Source text and `KernelSpec` records come in, running kernels go out.
"""
