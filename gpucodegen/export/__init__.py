"""Packages of generated kernels that run without this one.

- `package`: what is written, and where
- `variants`: a function as it is compiled for certain arguments, as files
- `texts`: the files that are the same in every package but for names
- `support`: the modules of this package that travel along
- `example`: stored calls, made again
- `launcher`: calls there: one variant fits, and runs
- `without_devices`: what a package for the CPU knows of devices
- `stored_ptx`: where a package for GPUs takes its kernels from
- `files`: kernels as PTX, machine code or objects, and how they are called
"""

from __future__ import annotations
