"""Calls of compiled functions: one plan for each form of arguments.

A *plan* is a record that never changes.  It has guards: the form of the arguments, the
distances at which arrays would overlap, and the environment.  It has an action: one
launch, where the host emitter states that the function is no more than that, or the
host program.  And it says how an argument becomes a word: the address of an array, or
a number.  All ways to call are made from it: the next call of its form, `bind`, the
entry in machine code, and the ready-made kernels.

The rooms, in the order in which a call passes through them:

`function`
    Machine code tries the call, then the plan of its form, then a first call begins.
`specializations`
    The function is compiled for what is known of the arguments, or was before.
`form`
    The key of a plan: types, element types, extents, strides and access of the
    arguments, and the target that the environment asks for.
`signature`
    A first call: every argument is checked, and becomes a buffer or a number.
`overlaps`
    Arrays that share memory, one of which is written, are refused.
`plan`
    What a first call taught.  Later calls of the form become words, whose distances
    are compared, and run; `bind` keeps the words.
`addresses`
    How an array becomes a word; `gpucodegen.runtime.host.arguments` says it of numbers.
`streams`
    The stream that a caller names.
`foreign`
    Arrays of PyTorch and JAX, results where the caller wants them, and calls on
    contiguous copies.
`named`
    Names of arguments: keywords, and what `inspect.signature` tells.
`launch`
    The action of one launch: results are made, the kernel runs, and what it noted is
    looked at.  As a function of words, and as one of arrays that machine code checks
    (`gpucodegen.intrinsics.direct_launch`).
`interpreted`
    Calls that the interpreter makes; they keep no plan.

On disk there is one record of a compiled function (`gpucodegen.compiling.lowering`),
and the launch is part of it.  Its key holds all that decides over it: the text, the
function, the target, what calls tell of the arguments, options, host and versions.
What a text says of the arguments of its functions is kept with the text
(`gpucodegen.program_text`).  So a later process makes the same plan in the same way,
and needs no parser for it.
"""

from __future__ import annotations
