"""All mutations, compiled kernels first."""

from __future__ import annotations

from tests.ptx.mutations.bulk import BULK
from tests.ptx.mutations.compiled import COMPILED
from tests.ptx.mutations.edits import Mutation
from tests.ptx.mutations.engines import ENGINES
from tests.ptx.mutations.threads import THREADS

MUTATIONS = [Mutation(*row) for row in [*COMPILED, *BULK, *THREADS, *ENGINES]]
