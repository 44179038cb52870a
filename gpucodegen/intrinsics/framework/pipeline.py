"""Compiler pipeline for generated kernels: the passes of Numba that they need.

Numba also looks for constructs that generated text never has: closures, array
expressions, ``with`` blocks, lists of literals, branches on None; each of these passes
walks the whole kernel.  `KernelCompiler` omits them. `ValueNames` renames variables web
by web, so that each web has its own type.  Definitions that reach a common use are one
web, as in register allocators, found by reaching definitions:

    x = a; f(x); x = b; g(x)           =>    x = a; f(x); x.1 = b; g(x.1)
    x = a; while ...: x = h(x)         =>    unchanged

Numba's SSA splits webs as well, walks the kernel twice for each variable, and joins the
parts again by copies; types need webs only. `KnownCalls`, `KnownTypes` and `KnownCode`
cache overload resolution: Numba rates all candidates of a function at each call, and a
kernel adds two integers hundreds of times.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from numba.core import ir, typed_passes, types, typing, untyped_passes
from numba.core.base import BaseContext
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.cpu import CPUTargetOptions
from numba.core.datamodel import models, registry
from numba.core.descriptors import TargetDescriptor
from numba.core.ir_utils import (
    build_definitions,
    replace_vars_inner,
    replace_vars_stmt,
)
from numba.core.lowering import Lower
from numba.core.transforms import canonicalize_cfg

from gpucodegen.records import dataclass


class KnownCalls(types.Function):
    """A function of a typing context that does not change while it lives."""

    def __init__(self, template: Any) -> None:
        super().__init__(template)
        self._known: dict[tuple[Any, ...], Any] = {}

    def augment(self, other: Any) -> KnownCalls | None:
        """Merges two functions with the same key."""
        if not isinstance(other, types.Function):
            return None
        if other.typing_key != self.typing_key:
            return None
        return KnownCalls(self.templates + other.templates)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature for arguments; calls with keywords are not cached."""
        if kws:
            return self._resolved(context, args, kws)
        if args not in self._known:
            self._known[args] = self._resolved(context, args, kws)
        return self._known[args]

    def _resolved(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature, or an error whose text is the same each time.

        Numba indents the text by a depth that it does not reduce after a failure.
        """
        depth = self._depth
        try:
            return super().get_call_type(context, args, kws)
        finally:
            self._depth = depth


registry.register_default(KnownCalls)(models.OpaqueModel)
"""Code that Numba compiles into a kernel may hold a function in a variable."""


def known(value: Any) -> Any:
    """The cached wrapper of a function; anything else is returned as it is."""
    return KnownCalls(value.templates) if type(value) is types.Function else value


class KnownTypes(typing.BaseContext):
    """Types of calls; each function is resolved once per argument types."""

    def __init__(self) -> None:
        self._conversions: dict[tuple[Any, Any], Any] = {}
        super().__init__()

    def insert_global(self, gv: Any, gty: Any) -> None:
        super().insert_global(gv, known(gty))

    def resolve_value_type(self, val: Any) -> Any:
        """The type of a Python object; Numba asks for a function's type last.

        Before, it makes an error with a text in colours.
        """
        if isinstance(val, type):
            return super().resolve_value_type(val)
        found = self._lookup_global(val)
        return super().resolve_value_type(val) if found is None else found

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a call; conversions, such as ``int32(x)``, are cached.

        Numba makes the template of a conversion anew for each call.
        """
        if kws or not isinstance(func, types.NumberClass):
            return super().resolve_function_type(func, args, kws)
        key = func, tuple(args)
        if key not in self._conversions:
            found = super().resolve_function_type(func, args, kws)
            self._conversions[key] = found
        return self._conversions[key]


class KnownCode(BaseContext):
    """Implementations of calls, looked up once for each `variant` of the context."""

    def __init__(self, typing_context: Any, target: str) -> None:
        self._made: dict[tuple[Any, Any], Any] = {}
        self._made_with: dict[Hashable, dict[tuple[Any, Any], Any]] = {}
        super().__init__(typing_context, target)

    def subtarget(self, **options: Any) -> Any:
        """A context with other flags, which implementations may request."""
        made = super().subtarget(**options)
        made._made = self._made_with.setdefault(made.variant, {})  # noqa: SLF001 - ours
        return made

    @property
    def variant(self) -> Hashable:
        """The facts of the context that implementations may depend on."""
        return frozenset(self.fastmath.flags if self.fastmath else ())

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """The implementation of a call, looked up once for built-in functions."""
        if not isinstance(fn, KnownCalls):
            return super().get_function(fn, sig, _firstcall)
        if (fn, sig) not in self._made:
            self._made[fn, sig] = super().get_function(fn, sig, _firstcall)
        return self._made[fn, sig]

    def cast(self, builder: Any, val: Any, fromty: Any, toty: Any) -> Any:
        """A conversion; a literal is converted from its type."""
        is_number = isinstance(fromty, types.IntegerLiteral)
        given = fromty.literal_type if is_number else fromty
        return super().cast(builder, val, given, toty)


class Target(TargetDescriptor):
    """One context of each kind; both live as long as the process."""

    options = CPUTargetOptions

    def __init__(self, name: str, typing_context: Any, code: type[KnownCode]) -> None:
        super().__init__(name)
        self._typing_context = typing_context
        self._target_context = code(typing_context, name)

    @property
    def typing_context(self) -> Any:
        return self._typing_context

    @property
    def target_context(self) -> Any:
        return self._target_context


Blocks = Mapping[int, Any]


@register_pass(mutates_CFG=True, analysis_only=False)
class ValueNames(FunctionPass):
    """Renames variables with several assignments, web by web."""

    _name = "value_names"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> Any:
        """Rewrites the blocks in place; returns whether a name changed."""
        code = state.func_ir
        code.blocks = canonicalize_cfg(code.blocks)
        reused = _assigned_again(code.blocks)
        if reused:
            _rename(code.blocks, _webs(code.blocks, reused))
        code._definitions = build_definitions(code.blocks)  # noqa: SLF001
        return bool(reused)


@dataclass(slots=True)
class _Block:
    """The reused names in a block; sets of definitions are bit sets."""

    exposed: set[str] = field(default_factory=set[str])
    """Names that it reads before it assigns them."""
    last: dict[str, int] = field(default_factory=dict[str, int])
    """The last definition of each name that it assigns."""
    reaching: int = 0
    """Definitions that reach its beginning."""


@dataclass(frozen=True, slots=True)
class _Webs:
    """The definitions of reused names, numbered in textual order."""

    parent: list[int]
    blocks: dict[int, _Block]
    of_name: dict[str, int]
    """The set of all definitions of each name."""

    def root(self, definition: int) -> int:
        """The first definition of a web."""
        while self.parent[definition] != definition:
            definition = self.parent[definition]
        return definition

    def join(self, definitions: int) -> None:
        """Merges a set of definitions into one web."""
        first, *others = sorted({self.root(each) for each in _members(definitions)})
        for each in others:
            self.parent[each] = first

    def leaving(self, label: int) -> int:
        """The definitions that reach the end of a block."""
        block = self.blocks[label]
        killed = sum(self.of_name[name] for name in block.last)
        return block.reaching & ~killed | sum(1 << each for each in block.last.values())

    def at_entry(self, label: int) -> Iterator[tuple[str, int]]:
        """The names that a block reads from others, and the definitions of each."""
        block = self.blocks[label]
        for name in block.exposed:
            reaching = block.reaching & self.of_name[name]
            if reaching:
                yield name, reaching


def _members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _assigned_again(blocks: Blocks) -> set[str]:
    """Variables with more than one assignment."""
    counts = Counter(
        _assigned(statement) for block in blocks.values() for statement in block.body
    )
    return {name for name, count in counts.items() if name and count > 1}


def _assigned(statement: Any) -> str:
    """The variable that a statement assigns, or an empty text."""
    return statement.target.name if isinstance(statement, ir.Assign) else ""


def _webs(blocks: Blocks, reused: set[str]) -> _Webs:
    """The definitions of ``reused``, merged where they reach a common use."""
    webs = _Webs([], {}, defaultdict(int))
    for label, block in sorted(blocks.items()):
        webs.blocks[label] = _summary(block, reused, webs)
    _propagate(blocks, webs)
    for label in blocks:
        for _, definitions in webs.at_entry(label):
            webs.join(definitions)
    return webs


def _summary(block: Any, reused: set[str], webs: _Webs) -> _Block:
    """Numbers the definitions of a block, and finds its live-in names."""
    made = _Block()
    for statement in block.body:
        taken = reused.intersection(_read(statement))
        made.exposed.update(name for name in taken if name not in made.last)
        name, number = _assigned(statement), len(webs.parent)
        if name in reused:
            webs.parent.append(number)
            webs.of_name[name] |= 1 << number
            made.last[name] = number
    return made


def _propagate(blocks: Blocks, webs: _Webs) -> None:
    """Reaching definitions: in(b) = union of out(p) over the predecessors p of b.

    out(b) is in(b) without the definitions of names that b assigns, and b's last ones.
    """
    left = sorted(blocks, reverse=True)
    while left:
        label = left.pop()
        out = webs.leaving(label)
        for target in blocks[label].terminator.get_targets():
            following = webs.blocks[target]
            if out & ~following.reaching:
                following.reaching |= out
                left.append(target)


def _read(statement: Any) -> Iterator[str]:
    """The variables that a statement reads."""
    if not isinstance(statement, ir.Assign):
        yield from (each.name for each in statement.list_vars())
    elif isinstance(statement.value, ir.Var):
        yield statement.value.name
    elif isinstance(statement.value, ir.Inst):
        yield from (each.name for each in statement.value.list_vars())


def _rename(blocks: Blocks, webs: _Webs) -> None:
    """Gives each web of a name but the first a new name."""
    new: dict[int, Any] = {}
    number = 0
    for label, block in sorted(blocks.items()):
        renamed = _Renamed(block, webs, new)
        for name, definitions in webs.at_entry(label):
            renamed.use(name, next(_members(definitions)))
        for statement in block.body:
            renamed.replace_in(statement)
            name = _assigned(statement)
            if name in webs.of_name:
                renamed.use(name, number)
                statement.target = renamed.names.get(name, statement.target)
                number += 1


@dataclass(frozen=True, slots=True)
class _Renamed:
    """The current names of reused variables at a place of a block."""

    block: Any
    webs: _Webs
    new: dict[int, Any]
    """The variables of webs with new names."""
    names: dict[str, Any] = field(default_factory=dict[str, Any])

    def use(self, name: str, definition: int) -> None:
        """Binds a name to the web of a definition, for the following statements."""
        root = self.webs.root(definition)
        if root == next(_members(self.webs.of_name[name])):
            self.names.pop(name, None)
            return
        if root not in self.new:
            self.new[root] = self.block.scope.redefine(name, self.block.loc)
        self.names[name] = self.new[root]

    def replace_in(self, statement: Any) -> None:
        """Replace the names that a statement reads."""
        if all(name not in self.names for name in _read(statement)):
            return
        if isinstance(statement, ir.Assign):
            statement.value = replace_vars_inner(statement.value, self.names)
        else:
            replace_vars_stmt(statement, self.names)


class _Lower(Lower):
    """Numba's lowering, without reading a function's source for its first line."""

    def _compute_def_location(self) -> Any:
        return self.func_ir.loc

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """A binary operation, whose operands no pass marks as static.

        Numba first tries implementations for static operands: four errors, in colours.
        """
        context, given = self.context, self.fndesc.calltypes[expr]
        operands = zip((expr.lhs.name, expr.rhs.name), given.args, strict=True)
        values = [
            context.cast(self.builder, self.loadvar(name), self.typeof(name), wanted)
            for name, wanted in operands
        ]
        function = context.typing_context.resolve_value_type(op)
        exact = function.get_call_type(context.typing_context, given.args, {})
        result = context.get_function(function, exact)(self.builder, values)
        return context.cast(self.builder, result, given.return_type, resty)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(typed_passes.BaseNativeLowering):
    """The last pass: typed code becomes LLVM IR."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        return _Lower


PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    ValueNames,
    typed_passes.NopythonTypeInference,
    KernelLowering,
    typed_passes.NoPythonBackend,
)


class KernelCompiler(CompilerBase):
    """Numba's compiler without the passes that only hand-written programs need."""

    def define_pipelines(self) -> list[Any]:
        return [pipeline("kernel", PASSES)]


def pipeline(name: str, passes: Sequence[Any]) -> PassManager:
    """The manager of some passes, in order."""
    manager = PassManager(name)
    for each in passes:
        manager.add_pass(each, each.name())
    manager.finalize()
    return manager
