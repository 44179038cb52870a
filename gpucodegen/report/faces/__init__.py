"""What is explained, as a reader and as a machine take it.

- `nest_text`: a nest in words
- `kernel_text`: a mapping in words
- `records`: both as plain values, for JSON
"""

from __future__ import annotations
