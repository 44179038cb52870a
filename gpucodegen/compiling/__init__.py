"""From a module to a compiled function: pipeline, lowering, artifact.

- `targets`: one record per target
- `winners`: options that tuning stored
- `stored`: the same as people read it
- `shipped`: those that installed packages bring
- `pipeline`: which passes run, in which order
- `lowering`: the passes of one function, and emission
- `artifact`: a function after all of that, as it is kept on disk
- `runnable`: calls of it
- `executable`: its kernels loaded, ready for calls
"""

from __future__ import annotations
