"""Instructions as Python text: one table or file per kind of instruction.

- `sites`: an access as its instruction states it
- `special`: special registers
- `operands`: operands and results as Python
- `rules`: what each instruction does
- `runs`: independent products at once
- `orders`: which instructions order threads
- `program`: a function for each basic block
"""
