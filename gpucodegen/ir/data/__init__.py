"""Constants as data: numbers, dense elements, resources.

- `float_formats`: bit layouts of all float types
- `literals`: numbers and strings as text
- `packing`: dense elements as bytes
- `elements`: constants that are no lists
- `resources`: the section of data at the end of a file
"""

from __future__ import annotations
