"""The tensor dialect.

- `syntax`: what formats cannot say
- `checks`: rules of tensors made, cast and filled
- `slice_checks`: rules of parts taken out and put in
- `operations`: the table
"""

from __future__ import annotations
