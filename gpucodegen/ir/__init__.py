"""MLIR in memory: types, attributes, affine values, locations and operations.

No knowledge of single operations lives here; that is ``gpucodegen.dialects``.

- `bases`: what types and attributes derive from
- `affine`: expressions, maps, sets
- `types`: types of values
- `data`: numbers as bytes and text
- `attributes`: compile-time constants on operations
- `constants`: those that are no lists
- `locations`: where operations come from
- `location_text`: locations as MLIR writes them
- `operation`: operations, blocks, regions, values
- `segments`: groups of an operand list
- `naming`: names of values and blocks in print
- `recursion`: room for deep nesting
"""
