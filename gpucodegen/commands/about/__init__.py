"""Commands about what is here.

- `cache`: what is kept on disk
- `completion`: of commands in a shell
- `doctor`: what was found on this machine
- `passes`: what `gpucodegen opt -p` knows
"""

from __future__ import annotations
