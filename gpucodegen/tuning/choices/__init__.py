"""What may vary in a call that is tuned, and in which order it is tried.

- `legality`: what the compiler's passes report and refuse
- `schedules`: the compiler's own knobs
- `holes`: those of a pipeline
- `order`: the points of a search
"""

from __future__ import annotations
