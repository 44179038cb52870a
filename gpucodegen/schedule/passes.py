"""Steps of a schedule as passes of a target, and passes as steps.

A target's passes are of three kinds: the *mapping* to kernels, which always runs;
*automatic* passes that choose by a model of the machine, each of which is a step of its
own; and others that no schedule decides. A schedule runs the automatic passes that it
names, in the target's order, and its other steps where they stand between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from itertools import chain
from typing import Any, cast

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.framework.base import ModulePass, option_text
from gpucodegen.passes.framework.pipeline_text import parse_pipeline, pass_class
from gpucodegen.passes.loops.requested_schedules import APART, TOGETHER, is_asked
from gpucodegen.passes.nests.bindings import BLOCKS, CPU_THREAD, PLACES, THREADS
from gpucodegen.records import dataclass
from gpucodegen.schedule.plan_values import numbers_of
from gpucodegen.schedule.steps import Schedule, Step, Value
from gpucodegen.tiling.machine.plan_space import Choice, Words, point_of_words

MAP_KERNEL, TIME_TILE, IMPROVE = "map_kernel", "time_tile", "improve_locality"
BIND = "bind"
PASS_NAMES = {
    "stage": "promote",
    "pipeline": "overlap-transfers",
    TIME_TILE: "wavefront",
}
"""Passes of steps with another name."""
LOOP_STEPS = {
    **dict.fromkeys(("tile", "interchange", "distribute", "peel"), "loop"),
    **dict.fromkeys(("split_index_set", "normalize_loops", "unroll"), "loop"),
    **dict.fromkeys(("unroll_and_jam", "pipeline", "split_reduction"), "loop"),
    **dict.fromkeys(("skew", "restructure"), ""),
    "fuse": "loops",
    "stage": "arrays",
    BIND: "loop",
}
"""Steps that users request, and the option of the pass that takes their names."""
AUTOMATIC = (
    *("join_tiles", "mem2reg", "isolate_contractions", "atomic_updates", "privatize"),
    *("fuse_rows", "fuse_elementwise", IMPROVE, "contract_arrays"),
    *("expose_parallelism", TIME_TILE, "carry_stores", "privatize_reductions"),
    "vectorize",
)
"""Steps that the targets take by themselves where no schedule is given."""
MAPPINGS = frozenset({"map-cpu", "map-gpu"})
_SYNONYMS = {
    **dict.fromkeys(("reorder", "permute", "swap"), "interchange"),
    **dict.fromkeys(("promote", "cache_read", "cache_write", "stage_mem"), "stage"),
    **dict.fromkeys(("software_pipeline", "overlap_transfers"), "pipeline"),
    **dict.fromkeys(("split", "block", "strip_mine"), "tile"),
    **dict.fromkeys(("wavefront", "temporal_tile"), TIME_TILE),
    **dict.fromkeys(("fission", "loop_distribution"), "distribute"),
    **dict.fromkeys(("rfactor", "split_k", "tile_reduction"), "split_reduction"),
    "compute_at": "fuse",
    "unroll_jam": "unroll_and_jam",
    "replace": MAP_KERNEL,
}
"""Steps by the words of other compilers."""


def check(step: Step) -> None:
    """Raise InvalidOption for a step, a name or a parameter that does not exist."""
    known = (*LOOP_STEPS, *AUTOMATIC, MAP_KERNEL)
    if step.name not in known:
        every = f"Steps: {', '.join(known)}"
        hint = errors.did_you_mean(step.name, known, every, synonyms=_SYNONYMS)
        raise _invalid(step, hint.rstrip("?."))
    if step.name == MAP_KERNEL:
        if len(step.of) != 2:
            raise _invalid(step, "Give a kernel and the kind of its plan")
        _check_numbers(step)
        return
    if step.name == TIME_TILE:
        parameters = ["tiled", "steps", "width"]
        _check_numbers(step)
    elif step.name == IMPROVE:
        parameters = [name for name in step.values if is_asked(name)]
        _check_orders(step)
    elif step.name in AUTOMATIC:
        parameters = []
    else:
        names = {LOOP_STEPS[step.name], "function"}
        if step.name == BIND and (len(step.of) != 2 or step.of[1] not in PLACES):
            raise _invalid(step, f"Give a loop, and one of {', '.join(PLACES)}")
        options = [one.name for one in fields(pass_class(_pass_name(step)))]
        parameters = [name for name in options if name not in names]
        if len(step.of) > 1 and LOOP_STEPS[step.name] == "loop" and step.name != BIND:
            raise _invalid(step, "It takes the name of one loop")
    for name in step.values:
        if name not in parameters:
            every = f"Parameters: {', '.join(parameters) or 'none'}"
            hint = errors.did_you_mean(name, parameters, every)
            raise _invalid(step, hint.rstrip("?."))


def _check_numbers(step: Step) -> None:
    """Refuse fields of plans that hold anything but numbers and booleans."""
    for name, value in step.parameters:
        entries = value if isinstance(value, tuple) else (value,)
        if not entries or not all(isinstance(entry, int) for entry in entries):
            raise _invalid(step, f"Give {name} as a number, a boolean, or several")


def _check_orders(step: Step) -> None:
    for name, value in step.parameters:
        try:
            numbers_of(name, value)
        except TypeError:
            hint = f"Give {name} as positions of loops, or as a boolean"
            raise _invalid(step, hint) from None


def _invalid(step: Step, hint: str) -> errors.InvalidOption:
    return errors.InvalidOption(name="schedule", value=str(step), hint=hint)


def _pass_name(step: Step) -> str:
    return PASS_NAMES.get(step.name, step.name.replace("_", "-"))


def loop_pass(step: Step, function: str) -> ModulePass:
    """The pass of a step that users request, on one function.

    Raises InvalidOption, InvalidPassOption.
    """
    check(step)
    options: dict[str, Value] = {
        name: _pass_value(value) for name, value in step.parameters
    }
    names = LOOP_STEPS[step.name]
    if step.of and names:
        options[names] = step.of[0] if names == "loop" else step.of
    if step.name == BIND:
        options["to"] = step.of[1]
    text = ",".join(f"{name}={option_text(value)}" for name, value in options.items())
    (made,) = parse_pipeline(
        f"{_pass_name(step)}{{{text}}}" if text else _pass_name(step)
    )
    if any(one.name == "function" for one in fields(made)):
        made = replace(made, **cast("dict[str, Any]", {"function": function}))
    return made


def _pass_value(value: Value) -> Value:
    return value if not isinstance(value, tuple) else tuple(map(_pass_value, value))


# -- the passes of a schedule ----------------------------------------------------------


@dataclass(slots=True)
class _Merged:
    """The steps that are still to come, and the passes made so far."""

    steps: list[Step]
    function: str

    def passes(self, defaults: Sequence[ModulePass]) -> Iterator[ModulePass]:
        stated = [step for step in self.steps if step.name == MAP_KERNEL]
        self.steps = [step for step in self.steps if step.name != MAP_KERNEL]
        scheduled = {_step_name(pass_) for pass_ in defaults}
        for pass_ in defaults:
            name = _step_name(pass_)
            if pass_.name in MAPPINGS:
                _check_places(self.steps, pass_.name)
                yield from self._until(AUTOMATIC)
                yield _with_plan(pass_, stated)
            elif name not in AUTOMATIC:
                yield pass_
            elif any(step.name == name for step in self.steps):
                yield from self._until((name,))
                own = self._taken(name)
                yield _with_plan(pass_, own)
        for step in self.steps:
            if step.name not in AUTOMATIC:
                raise _invalid(step, "It changes loops, so it comes before vectorize()")
            if step.name not in scheduled:
                given = ", ".join(n for n in AUTOMATIC if n in scheduled)
                raise _invalid(
                    step, f"The target has, with these options, the steps {given}"
                )
            order = ", ".join(n for n in AUTOMATIC if n in scheduled)
            raise _invalid(step, f"These steps come once, in this order: {order}")

    def _until(self, names: Sequence[str]) -> Iterator[ModulePass]:
        """Passes of the steps before the next one of these names."""
        while self.steps and self.steps[0].name not in names:
            step = self.steps.pop(0)
            if step.name in AUTOMATIC:
                self.steps.insert(0, step)
                raise _invalid(
                    step,
                    f"Steps that the compiler takes by itself come in the order "
                    f"{', '.join(AUTOMATIC)}",
                )
            yield loop_pass(step, self.function)

    def _taken(self, name: str) -> list[Step]:
        """The steps of one name that follow each other here."""
        found: list[Step] = []
        while self.steps and self.steps[0].name == name:
            found.append(self.steps.pop(0))
        return found


def _check_places(steps: Sequence[Step], mapping: str) -> None:
    """Refuse bindings to what the target of a mapping does not have."""
    for step in steps:
        is_cpu = step.name == BIND and step.of[1] == CPU_THREAD
        if step.name == BIND and is_cpu != (mapping == "map-cpu"):
            places = [CPU_THREAD] if mapping == "map-cpu" else [*BLOCKS, *THREADS]
            raise _invalid(step, f"The target has {', '.join(places)}")


def fitting(given: Schedule, *, on_gpu: bool) -> Schedule:
    """The steps of a schedule for several targets that one of them has."""
    places = {*BLOCKS, *THREADS} if on_gpu else {CPU_THREAD}
    return Schedule(
        tuple(
            step
            for step in given
            if (step.name != BIND or step.of[1] in places)
            and (step.name != "vectorize" or not on_gpu)
        )
    )


def scheduled(
    defaults: Sequence[ModulePass], given: Schedule, function: str
) -> list[ModulePass]:
    """The passes of a schedule, given those that a target runs without one.

    Raises InvalidOption.
    """
    for step in given:
        check(step)
    return list(_Merged(list(given), function).passes(defaults))


def _step_name(pass_: ModulePass) -> str:
    own = {passed: step for step, passed in PASS_NAMES.items()}
    return own.get(pass_.name, pass_.name.replace("-", "_"))


def _with_plan(pass_: ModulePass, steps: Sequence[Step]) -> ModulePass:
    """The pass with the plan fields that steps state."""
    plan = [item for step in steps for pair in _plan(step).items() for item in pair]
    if not plan:
        return pass_
    return replace(pass_, **cast("dict[str, Any]", {"plan": tuple(plan)}))


def _plan(step: Step) -> Mapping[str, int]:
    """The fields of a plan that a step states."""
    words = cast("Words", step.values)
    match step.name, step.of:
        case "improve_locality", _:
            pairs = (numbers_of(name, value).items() for name, value in step.parameters)
            return dict(chain.from_iterable(pairs))
        case "time_tile", (loop,):
            return point_of_words(loop, words)
        case "map_kernel", (kernel, "register_tile"):
            return {f"{kernel}.{name}": cast("int", n) for name, n in words.items()}
        case "map_kernel", (kernel, kind):
            point = point_of_words(kind, words)
            return {f"{kernel}.{name}": number for name, number in point.items()}
        case _:
            return {}


REGISTER_TILE = "register_tile"
"""The kind of the plans of products on CPUs."""


# -- the schedule of passes ------------------------------------------------------------


def step_of(pass_: ModulePass, choices: Sequence[Choice]) -> list[Step]:
    """The steps that state a pass and the plans that it chose."""
    name = _step_name(pass_)
    if pass_.name in MAPPINGS:
        return [_kernel_step(choice) for choice in choices]
    if name == TIME_TILE:
        return [Step(name, (one.kind,), tuple(one.words.items())) for one in choices]
    if name == IMPROVE:
        return [Step(name, (), tuple(_choices(pass_)))]
    if name not in LOOP_STEPS:
        return [Step(name)] if name in AUTOMATIC else []
    given = {
        one.name: getattr(pass_, one.name)
        for one in fields(pass_)
        if one.default is MISSING or getattr(pass_, one.name) != one.default
    }
    given.pop("function", None)
    named = given.pop(LOOP_STEPS[name], ())
    of = (named,) if isinstance(named, str) else tuple(named)
    if name == BIND:
        of = (*of, given.pop("to"))
    return [Step(name, of, tuple(given.items()))]


def _kernel_step(choice: Choice) -> Step:
    kernel, kind = choice.kernel, choice.kind
    if kind in PLACES:
        return Step(BIND, (kernel, kind))
    if not kernel:
        kernel, kind = kind, REGISTER_TILE
    return Step(MAP_KERNEL, (kernel, kind), tuple(choice.words.items()))


def _choices(pass_: ModulePass) -> Iterator[tuple[str, Value]]:
    plan: tuple[int | str, ...] = getattr(pass_, "plan", ())
    for name, number in zip(plan[::2], plan[1::2], strict=True):
        value: Value = int(number)
        if str(name).startswith("order"):
            value = tuple(int(digit) - 1 for digit in str(number))
        elif number in (APART, TOGETHER):
            value = number == TOGETHER
        yield str(name), value


def recorded(
    passes: Sequence[ModulePass],
    modules: Sequence[Module],
    defaults: Sequence[ModulePass],
) -> Schedule:
    """The schedule of passes that ran; ``modules``: before and after each of them.

    A pass that left its module as it was is no step. ``defaults``: the passes of the
    target.
    """
    names = {pass_.name for pass_ in defaults}
    names |= {_pass_name(Step(name)) for name in LOOP_STEPS}
    steps: list[Step] = []
    for pass_, before, after in zip(passes, modules, modules[1:], strict=False):
        if pass_.name in names and before.operation is not after.operation:
            made = step_of(pass_, pass_.choices(before))
            steps += [step for step in made if step.name != BIND or step not in steps]
    return Schedule(tuple(steps))
