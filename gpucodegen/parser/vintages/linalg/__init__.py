"""linalg of 2019 to 2025.

- `outputs`: outputs that the text left to the operation
- `generic`: ``linalg.generic`` of 2019 to 2021
- `calls`: operations written like calls
- `shapes`: what is memref's and tensor's today
- `forms`: which form reads which name
"""

from __future__ import annotations
