"""Updates of cells that data choose, such as a histogram's, made parallel.

| module | what it is |
|---|---|
| `scatters` | which updates may come in any order |
| `atomic_updates` | on a GPU: each update is atomic |
| `partial_updates` | on a CPU: each thread has cells of its own, added up behind |
"""
