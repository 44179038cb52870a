"""The subcommands: ``configure(parser)`` and ``run(options)`` each.

- `inputs`: input files, whole or split, and output as text or JSON
- `opt`: parse, verify, run passes, print
- `deps`: exact dependences
- `explain`: loops, tiles, mapping, pictures
- `report`: what limits the kernels on a GPU
- `emit`: the generated Python source
- `run`: one function on arrays from files
- `tune`: legal schedules timed, the best one stored
- `tuned`: what is stored: shown, exported, imported, drawn
- `bench`: the benchmark tables of a clone
- `about`: this machine, the cache, the passes
- `shipping`: kernels and problems that go elsewhere
"""
