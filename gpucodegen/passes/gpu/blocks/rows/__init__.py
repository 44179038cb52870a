"""Loops over a row, dealt out to the members of a team.

- `fuse_rows`: neighbours over the same rows as one nest
- `team`: threads that walk a program together
- `free_reductions`: loops whose terms may be combined in any order
- `kept_elements`: what a member has of a row from one loop to the next
- `early_loads`: those of a straight program before its stores
- `side_by_side`: neighbouring iterations of one member, accesses as vectors
- `deal`: the iterations of each member
- `reduce`: totals of all members
- `prefixes`: totals of the members before each one
- `scans`: loops that store what they have combined so far
- `argminmax`: the best of all members, and where it is
"""

from __future__ import annotations
