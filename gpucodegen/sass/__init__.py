"""Machine code of NVIDIA's GPUs (SASS) as text: instructions, loops, what they do.

Comes in: what ``nvdisasm -c`` prints.  Goes out: the mix of the main loop.  This
package knows neither MLIR nor PTX: it needs the standard library.

- `listing`: text to instructions and loops
- `memory`: widths of accesses, bytes under way
- `mix`: kinds of instructions, and their shares
"""

from __future__ import annotations
