"""What limits the kernels of a function on a GPU, found without one.

Comes in: MLIR, an architecture, sizes.  Goes out: a `report.GpuReport`.

    function -> launches on made-up arguments -> facts of each kernel -> limits -> text

- `arguments`: made-up arguments of the asked sizes
- `measuring`: an emulated device that executes a sample of each launch
- `machine_code`: registers, spills and the main loop, where the tools are there
- `model`: what is reported of a kernel
- `accesses`: costs of accesses, from the text and as executed
- `counting`: executed counters as work for the units of a device
- `building`: all of it for one kernel
- `limits`: what limits a kernel, in words
- `text`: a report as lines
- `tables`: the same as a page of HTML
- `report`: the face of this package
"""

from __future__ import annotations
