"""How operations are defined: syntax, constraints, kinds of attributes, printing.

- `syntax`: what an operation may ask of the parser and the printer
- `kinds`: how an attribute is read, written and recognised
- `constraints`: sets of operand and result types
- `assembly_elements`: parts of a declarative format
- `assembly`: such a format, read in both directions
- `signatures`: signatures of functions
- `definition`: one entry of a dialect's table
- `declare`: short forms for writing entries
- `operands`: how checks speak of operands
- `rules`: short forms for writing checks
- `registry`: all operations by name
- `printing`: operations to text
"""

from __future__ import annotations
