"""Lanes at work: control, memory, checks, counters.

- `launch`: sizes, arguments, memory
- `lanes`: where each lane stands
- `groups`: which lanes run next
- `barriers`: all threads of a block meet
- `marks`: who touched each cell last
- `warps`: shuffles, votes, reductions
- `counting`: what a kernel did
- `accesses`: loads, stores, atomics
- `matrices`: ``ldmatrix`` and ``mma``
- `asynchronous`: what is started now and waited for later
- `batch`: blocks that run side by side
"""
