"""Calls of a compiled function: stage arguments, run the host program, convert results.

It imports nothing that compiles, so exported packages include it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from gpucodegen import errors
from gpucodegen.compiling.artifact import Artifact
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Runnable:
    """A loaded artifact of one function; ``host`` takes ``runtime`` first."""

    name: str
    artifact: Artifact
    host: Callable[..., Any]
    runtime: Any

    def launcher(
        self, arguments: Sequence[Any], values: Sequence[Any], *, graph: bool = False
    ) -> Callable[[], Any]:
        """A callable without arguments that runs and converts the results.

        ``graph``: device operations are captured now and replayed as one graph.
        """
        runtime = self.runtime.for_call(values)
        to_device, from_device = runtime.transfers(
            values, self.artifact.written, self.artifact.overwritten
        )
        run = partial(self.run, runtime, arguments)
        if graph:
            run = self._recorded(runtime, arguments, to_device())

        def launch() -> Any:
            result = run(to_device())
            from_device()
            return result

        return launch

    def run(self, runtime: Any, arguments: Sequence[Any], values: Sequence[Any]) -> Any:
        """One call on values that kernels can access in place."""
        result = self._result(runtime, values)
        return self._returned(runtime, result, arguments, values)

    def _recorded(
        self, runtime: Any, arguments: Sequence[Any], values: Sequence[Any]
    ) -> Callable[[Sequence[Any]], Any]:
        """A recorded graph for these values; each replay returns new arrays."""
        recorder, finish = runtime.recording()
        kept = self._result(recorder, values)
        replay = finish()
        own = {id(value) for value in values}

        def fresh(one: Any) -> Any:
            return one if id(one) in own else runtime.copied(one)

        def run(_: Sequence[Any]) -> Any:
            replay()
            several = isinstance(kept, tuple)
            parts = cast("tuple[Any, ...]", kept) if several else (kept,)
            made = tuple(map(fresh, parts))
            result = made if several else made[0]
            return self._returned(runtime, result, arguments, values)

        vars(run)["constants"] = recorder  # which the graph reads
        return run

    def _result(self, runtime: Any, values: Sequence[Any]) -> Any:
        try:
            return self.host(runtime, *values)
        except RecursionError as problem:
            from sys import getrecursionlimit

            depth = getrecursionlimit()
            raise errors.CallsTooDeep(function=self.name, depth=depth) from problem

    def _returned(
        self,
        runtime: Any,
        result: Any,
        arguments: Sequence[Any],
        values: Sequence[Any],
    ) -> Any:
        """Convert results to the caller's array types."""
        if result is None:
            return None

        def converted(one: Any, unsigned: str) -> Any:
            for value, argument in zip(values, arguments, strict=True):
                if one is value and hasattr(value, "pointer"):
                    return argument  # an argument that returns is the argument
            return runtime.result(one, unsigned)

        kinds = self.artifact.unsigned
        if isinstance(result, tuple):
            return tuple(map(converted, cast("tuple[Any, ...]", result), kinds))
        return converted(result, kinds[0])
