"""What the compiler tells of itself, on standard error and in a trace.

- `levels`: how much: a ladder, in a context or by the environment
- `spans`: what took how long, as a table and as a trace file
- `notebook`: what notebooks show
- `terminal`: colours, and that work goes on
- `settings`: every setting: its variable, its option and its flag
- `version`: the number of this release
"""

from __future__ import annotations
