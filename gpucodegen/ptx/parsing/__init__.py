"""PTX text in memory: statements, instructions, kernels.

- `text`: statements
- `constants`: numbers
- `entries`: kernels, registers, variables
- `parser`: a whole module
- `calls`: functions put in place of calls
"""
