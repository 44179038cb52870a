"""Commands that write what goes elsewhere.

- `export`: kernels that stand alone
- `repro`: a script that shows a problem
"""

from __future__ import annotations
