"""Characters to tokens, numbers and strings.

- `strings`: literals in quotes
- `lexer`: text to words
- `numbers`: numbers at their types
"""

from __future__ import annotations
