"""A function of a program, compiled once for each kind of arguments.

A repeated call with arrays of the same form runs in machine code; a call of a known
form follows its plan; a first call is checked in full, compiled and planned.
Executables are kept by target, known facts of the arguments, and architecture.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.calls.copies import on_copies, warn
from gpucodegen.calls.foreign_calls import as_given, has_narrow_results, put, taken
from gpucodegen.calls.launch import Entry, Form, form_of, no_fast_path
from gpucodegen.calls.overlaps import checked_apart
from gpucodegen.calls.plan import Plan, current, device_of, place_of, plan_of
from gpucodegen.calls.signature import Shown, Signature, in_order
from gpucodegen.compiling.executable import Executable, Specialization, build
from gpucodegen.compiling.targets import registry
from gpucodegen.compiling.tuned_schedules import final_options
from gpucodegen.debugging.display import folded
from gpucodegen.debugging.levels import tell
from gpucodegen.options import Options
from gpucodegen.program_text import Source
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import Known
from gpucodegen.runtime.host.generated_code import deferred_garbage_collection

if TYPE_CHECKING:
    from gpucodegen.dialects.func import Function as FunctionView


MAX_SPECIALIZATIONS = 64
"""Number of specializations before dynamic extents are used."""

Variant = tuple[tuple[Known | None, ...], Executable]
"""Known facts of the arguments, and the executable for them."""


@dataclass(slots=True)
class Specializations:
    """The executables of one function; ``options`` are those of its program."""

    source: Source
    name: str
    options: Options
    signature: Signature
    made: dict[tuple[Specialization, str], Executable] = field(
        default_factory=dict[tuple[Specialization, str], Executable]
    )
    _without: set[Specialization] = field(default_factory=set[Specialization])
    """Specializations whose strides no kernel supports."""

    def key(
        self, target: str, known: tuple[Known | None, ...] | None
    ) -> Specialization:
        """The compilation key for arguments of which these facts are known.

        None stands for arrays as devices allocate them.
        """
        if known is None:
            known = self.signature.allocated(registry.find(target).widest)
        elif not self.options.specialize:
            known = tuple(at and at.without_shape() for at in known)
        return target, known

    def executable(
        self,
        target: str,
        known: tuple[Known | None, ...] | None = None,
        arch: str | None = None,
    ) -> Executable:
        """The executable for a target, compiled if necessary.

        A stored schedule that does not compile is left out. ``arch``: of the kernels;
        None is that of the options, or else of the current device.
        """
        key = self.key(target, known)
        if registry.find(target).interprets:
            raise errors.NothingCompiled(target=target)
        settled = registry.find(target).settled(self.options)
        asked = settled if arch is None else replace(settled, arch=arch)
        if (key, asked.arch) not in self.made and not self._has_room():
            key = target, (None,) * len(self.signature.parameters)
        place = key, asked.arch
        if place not in self.made:
            with showing(self.source), deferred_garbage_collection():
                chosen = final_options(self.source, self.name, key, asked)
                if chosen is not asked:
                    sizes = chosen.tile_sizes or chosen.register_tile or chosen.plan
                    tell(1, f"{self.name} for {target}: tuned sizes {sizes}")
                try:
                    made = build(self.source, self.name, key, chosen)
                except errors.Error:
                    if chosen is asked:
                        raise
                    plain = replace(asked, tuned=False)
                    made = build(self.source, self.name, key, plain)
                    what = "what is stored does not compile"
                    tell(1, f"{self.name} for {target}: {what}")
            self.made[place] = made
        return self.made[place]

    def _has_room(self) -> bool:
        return len(self.made) < MAX_SPECIALIZATIONS

    def for_strides(
        self, target: str, values: Sequence[Any], arch: str
    ) -> tuple[tuple[Known | None, ...], Sequence[int]]:
        """The known facts of these values, and the arguments that must be copied.

        Copies are needed for tensors that are not row-major, and for memrefs that are
        passed on as memrefs of another layout, so that no kernel supports their
        strides.
        """
        signature = self.signature
        known = signature.known(values, registry.find(target).widest)
        places = signature.strided(values)
        if not places:
            return known, ()
        key, plain = (target, known), signature.row_major(known)
        holds_tensors = any(signature.parameters[n].is_value for n in places)
        if holds_tensors or key in self._without:
            return plain, places
        reason = "one kernel serves all shapes"
        is_known = (key, arch) in self.made
        if self.options.specialize and (is_known or self._has_room()):
            try:
                self.executable(target, known, arch)
            except errors.Error as problem:
                reason = problem.message
            else:
                return known, ()
        self.executable(target, plain, arch)
        self._without.add(key)
        for n in places:
            warn(self.name, signature.parameters[n].name, values[n].strides, reason)
        return plain, places

    def variants(self, target: str) -> list[Variant]:
        """Known facts of arguments and the executable for each, most specific first.

        They cover arguments of earlier calls, arrays as devices allocate them, and any
        arguments. Kernels use the common feature set, unless the options name an
        architecture.
        """
        wanted = [key for key, _ in self.made if key[0] == target]
        wanted.append(self.key(target, None))
        wanted.append((target, (None,) * len(self.signature.parameters)))
        ordered = sorted(dict.fromkeys(wanted), key=_told, reverse=True)
        arch = self.options.arch
        return [(known, self.executable(target, known, arch)) for _, known in ordered]


@contextmanager
def showing(source: Source) -> Generator[None]:
    """Attach the program's source lines to errors."""
    try:
        yield
    except errors.Error as error:
        source.show_in(error)
        raise


def _told(key: Specialization) -> int:
    """Number of facts known of the arguments.

    >>> _told(("cpu", (Known((8, 8)), None)))
    1
    """
    return sum(bool(fact) for known in key[1] for fact in known or ())


MAX_FORMS = 256
"""Number of call forms whose plans are cached."""


@dataclass(slots=True)
class Function:
    """One function of a program; compiled per target and argument types."""

    source: Source
    name: str
    options: Options
    _last: Executable | None = None
    _entry: Entry = no_fast_path
    _plans: dict[Form, Plan] = field(default_factory=dict["Form", "Plan"])
    _signature: Signature | None = None
    _specializations: Specializations | None = None
    __signature__ = Shown()

    def __repr__(self) -> str:
        count = len(self.specializations.made)
        for_target = f"for {self.options.target!r}, compiled {count} times"
        return f"<Function {self.signature} {for_target}>"

    def _repr_html_(self) -> str:
        """Signature and last generated source, for notebooks."""
        source = self._last.source if self._last is not None else "not compiled yet"
        return folded(repr(self), source, is_open=False)

    @property
    def view(self) -> FunctionView:
        """The function in its module."""
        from gpucodegen.dialects.func import Function as FunctionView

        return FunctionView(self.source.module.functions[self.name])

    @property
    def signature(self) -> Signature:
        """Names and types of the arguments."""
        if self._signature is None:
            results = self.source.results.get(self.name, ())
            arguments = self.source.defined[self.name]
            self._signature = Signature(self.name, arguments, results)
        return self._signature

    @property
    def specializations(self) -> Specializations:
        """The executables compiled for the arguments of calls."""
        if self._specializations is None:
            self._specializations = Specializations(
                self.source, self.name, self.options, self.signature
            )
        return self._specializations

    @property
    def __name__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without compiled code; another process compiles or reads its cache."""
        return Function, (self.source, self.name, self.options)

    def __call__(
        self, *arguments: Any, out: Any = None, stream: object = None, **named: Any
    ) -> Any:
        """Compile if these argument types are new, check, run, return the results.

        Arguments may be passed by their MLIR names, which `inspect.signature` shows.
        Results are arrays of the arguments' library, such as PyTorch or JAX. ``out``:
        the array that the result is copied to, or a tuple of arrays.

        ``stream``: a stream of CuPy or PyTorch, or its pointer, on which the device
        works; the default is the current stream of CuPy, or of the emulated device.

        `KeyboardInterrupt` may leave written arrays incomplete; it takes effect between
        chunks of parallel loops, and after a kernel of one thread.
        """
        try:
            if named:
                arguments = in_order(self.signature, arguments, named)
            if stream is None and out is None:
                done = self._entry(*arguments)
                if done is not NotImplemented:
                    return done
            done = self._repeated(arguments, stream)
            if done is NotImplemented:
                done = self._first(form_of(arguments), arguments, stream)()
            done = as_given(done, self.signature, arguments)
            return done if out is None else put(done, out, self.signature)
        except errors.LaunchError as error:
            self.source.show_in(error)
            raise

    def _repeated(self, arguments: tuple[Any, ...], stream: object) -> Any:
        """A call of a known form, or of foreign arrays; NotImplemented for others."""
        plan = self._plans.get(form_of(arguments))
        if plan is not None and plan.runtime is None and self._is_elsewhere(plan):
            plan = None
        words = plan.take(arguments) if plan is not None else None
        if plan is None or words is None:
            others = taken(arguments, self.signature)
            if others is None:
                return NotImplemented
            stream = (others.stream or None) if stream is None else stream
            return others.made(lambda: self(*others.memory, stream=stream))
        self._last, self._entry = plan.executable, plan.entry
        if stream is None:
            return plan.run(arguments, words)
        return plan.on(stream, arguments, words)

    def _is_elsewhere(self, plan: Plan) -> bool:
        """Whether arguments would now be copied to a device of another architecture."""
        made = plan.executable
        now = registry.find(made.target).settled_arch(self.options)
        return now != made.options.arch

    def bind(
        self, *arguments: Any, stream: object = None, graph: bool = False
    ) -> Callable[[], Any]:
        """Check the arguments once; the returned callable only runs.

        ``stream``: as for a call. ``graph``: device operations are captured now as a
        CUDA graph, and each call replays it, which pays for a function of several
        launches. The function must not depend on results of the device: a branch on an
        element, for example, raises NotRecordable.

        >>> import gpucodegen as gcg, numpy as np
        >>> from gpucodegen.runtime.devices import emulated_cupy as xp
        >>> steps = gcg.compile('''
        ... func.func @steps(%a: memref<8xf32>, %n: index) {
        ...   affine.for %t = 0 to %n { affine.for %i = 0 to 8 {
        ...     %v = affine.load %a[%i] : memref<8xf32>
        ...     %w = arith.addf %v, %v : f32
        ...     affine.store %w, %a[%i] : memref<8xf32>
        ...   } }
        ...   return
        ... }
        ... ''', target="cuda").steps
        >>> a = xp.asarray(np.ones(8, np.float32))
        >>> replay = steps.bind(a, 3, graph=True)
        >>> replay(), replay(), a.get().tolist()[:2]
        (None, None, [64.0, 64.0])
        """
        others = taken(arguments, self.signature)
        if others is None:
            call = self._first(form_of(arguments), arguments, stream, graph=graph)
            if not has_narrow_results(self.signature):
                return call
            return lambda: as_given(call(), self.signature, arguments)
        held = others.memory
        stream = (others.stream or None) if stream is None else stream
        run = others.made(lambda: self._first(form_of(held), held, stream, graph=graph))
        return lambda: others.made(run)

    def again(self, *arguments: Any) -> Entry:
        """A fast repetition of a previous call with other arrays and a new last one.

        The repeated call takes all arrays but the last one, which it allocates and
        returns. It returns `NotImplemented` if an array has another element type,
        extent or stride, and always if the call is more than one launch on arrays.

        >>> import gpucodegen as gcg, numpy as np
        >>> twice = gcg.compile('''
        ... func.func @twice(%a: memref<8xf32>, %b: memref<8xf32>) {
        ...   affine.for %i = 0 to 8 {
        ...     %v = affine.load %a[%i] : memref<8xf32>
        ...     %w = arith.addf %v, %v : f32
        ...     affine.store %w, %b[%i] : memref<8xf32>
        ...   }
        ...   return
        ... }
        ... ''', target="cpu").twice
        >>> first = np.ones(8, np.float32), np.empty(8, np.float32)
        >>> twice(*first)
        >>> repeated = twice.again(*first)
        >>> repeated(np.arange(8, dtype=np.float32))[3], repeated(np.arange(8))
        (np.float32(6.0), NotImplemented)
        """
        plan = self._plans.get(form_of(arguments))
        if plan is None:
            return no_fast_path
        return plan.making_last(arguments, self.signature.parameters[-1].dtype)

    def _first(
        self,
        form: Form,
        arguments: tuple[Any, ...],
        stream: object = None,
        *,
        graph: bool = False,
    ) -> Callable[[], Any]:
        """A fully checked call; later calls of its form follow its plan."""
        signature, target = self.signature, self._target(arguments)
        record = registry.find(target)
        if record.interprets or record.sanitizes(self.options):
            return self._interpreted(arguments, stream, graph=graph)
        values = signature.convert(arguments)
        arch = record.settled_arch(self.options, values)
        made = self.specializations
        known, copied = made.for_strides(target, values, arch)
        executable = made.executable(target, known, arch)
        self._last, self._entry = executable, no_fast_path
        signature.refuse_read_only(values, executable.artifact.written)
        refuses = self.options.alias == "refuse"
        apart = checked_apart(executable, signature, values, copied) if refuses else ()
        if copied:
            return on_copies(partial(self._noting, stream), arguments, copied)
        runtime = executable.runtime.for_call(values)
        place = place_of(runtime, target, stream)
        if graph:
            device_of(runtime, target, "graph")
        with current(place):
            plan = plan_of(executable, signature, arguments, values, apart)
            words = plan.take(arguments) if plan is not None else None
            if graph or plan is None or words is None:
                call = executable.launcher(arguments, values, graph=graph)
                return call if place is None else place.of(call)
        if len(self._plans) >= MAX_FORMS:
            self._plans.clear()
        self._plans[form], self._entry = plan, plan.entry
        return plan.bound(arguments, words, place)

    def _noting(
        self, stream: object, arguments: tuple[Any, ...]
    ) -> tuple[Any, Sequence[bool]]:
        """A call that records which arguments were written."""
        done = self(*arguments, stream=stream)
        assert self._last is not None
        return done, self._last.artifact.written

    def _interpreted(
        self, arguments: tuple[Any, ...], stream: object, *, graph: bool
    ) -> Callable[[], Any]:
        """A call of the interpreter, which has no plans or streams."""
        from gpucodegen.calls.interpreted import launcher

        if graph or stream is not None:
            option = "graph" if graph else "stream"
            raise errors.NoStreams(target="interp", option=option)
        return launcher(self.source.module, self.signature, self.options, arguments)

    def executable(
        self,
        target: str = "",
        known: tuple[Known | None, ...] | None = None,
        arch: str | None = None,
    ) -> Executable:
        """The executable for these arguments, else the last one, or the generic one.

        The generic version assumes arrays as devices allocate them. ``arch``: of the
        kernels; None is that of the options, or else of the current device.
        """
        if not target and self._last is not None:
            return self._last
        made = self.specializations.executable(target or self._target(()), known, arch)
        self._last, self._entry = made, no_fast_path
        return made

    def variants(self, target: str) -> list[Variant]:
        """Known facts of arguments and the executable for each, most specific first.

        They cover arguments of earlier calls, arrays as devices allocate them, and any
        arguments. Kernels use the common feature set, unless the options name an
        architecture.
        """
        return self.specializations.variants(target)

    def converted(self, arguments: tuple[Any, ...]) -> list[Any]:
        """Arguments of any library as buffers and numbers."""
        others = taken(arguments, self.signature)
        memory = arguments if others is None else others.memory
        return self.signature.convert(memory)

    def compiled_for(
        self, arguments: tuple[Any, ...]
    ) -> tuple[Executable, Sequence[int]]:
        """The executable of a call, and the arguments that the call copies."""
        values, target = self.converted(arguments), self._target(arguments)
        arch = registry.find(target).settled_arch(self.options, values)
        known, copied = self.specializations.for_strides(target, values, arch)
        return self.specializations.executable(target, known, arch), copied

    def key_for(self, arguments: tuple[Any, ...], target: str = "") -> Specialization:
        """Target and argument types of a first call with these arguments.

        ``target`` replaces the call's own.
        """
        target = target or self._target(arguments)
        widest = registry.find(target).widest
        known = self.signature.known(self.converted(arguments), widest)
        return self.specializations.key(target, known)

    def _target(self, arguments: tuple[Any, ...]) -> str:
        name = os.environ.get("GPUCODEGEN_TARGET") or self.options.target
        target = registry.chosen(name, map(_is_on_gpu, arguments))
        if arguments:
            target.require()
        return target.name


def _is_on_gpu(argument: object) -> bool:
    from gpucodegen.runtime.host.buffers import offers

    return offers(argument, "__cuda_array_interface__")
