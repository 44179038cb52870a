"""Lanes at work: control, memory, checks, counters.

- `launch`: sizes, arguments, memory
- `lanes`: where each lane stands
- `groups`: which lanes run next
- `barriers`: threads of a block meet
- `order`: what orders accesses, and which accesses nothing orders
- `barriers`: threads of a block that meet
- `warps`: shuffles, votes, reductions
- `counting`: what a kernel did
- `spaces`: memory, and who may touch it
- `printing`: what kernels say
- `matrices`: ``ldmatrix`` and ``mma``
- `asynchronous`: what is started now and waited for later
- `batch`: blocks that run side by side
"""
