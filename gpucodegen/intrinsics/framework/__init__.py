"""How an intrinsic is made for each compiler.

- `features`: what the host's processor offers
- `elements`: how each element is stored and carried
- `vector_type`: the type of register tiles
- `value_names`: values that never meet get names of their own
- `known_calls`: calls that are typed once
- `contexts`: what both targets have in common
- `pipeline`: the compiler's passes
- `lowering`: an intrinsic's type and code for both targets
- `native`: functions of words as machine code
- `faces`: the names that every face has
"""

from __future__ import annotations
