"""CPU kernels: compiled by Numba, cached as object files, called with raw addresses.

`compile_cpu` returns a function of addresses and numbers.  `outlined` extracts the
parallel loops of a kernel into functions of a range and of the variables used, which
the thread pool calls:

    for i in prange(n): ...    =>    if parallel_for(kernel_0, n, (a, b)): return

A kernel with an interrupted loop returns, for later code may need the whole loop.
Loops that differ only in the names of variables, as those of a model's layers, become
one function, so that the time to compile grows with the distinct ones.
`keep` and `load` store object files, so a later process runs kernels without Numba,
whose import takes longer than loading a hundred kernels.
"""

from __future__ import annotations

import ast
import ctypes
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from types import ModuleType
from typing import Any

from gpucodegen.debugging.levels import tell
from gpucodegen.debugging.spans import span
from gpucodegen.records import dataclass
from gpucodegen.runtime.cpu import pool
from gpucodegen.runtime.cpu.early_returns import free_at_returns
from gpucodegen.runtime.host import generated_code
from gpucodegen.runtime.host.generated_code import deferred_garbage_collection
from gpucodegen.runtime.host.spec import KernelSpec
from gpucodegen.runtime.storage import cache, machine_code

FORMAT = 2
"""The version of the format that `keep` writes."""
Entry = Callable[..., None]


def keep(spec: KernelSpec, compiled: Any) -> None:
    """Stores a compiled kernel, if it can be loaded without Numba."""
    library, description = compiled.library, compiled.fndesc
    if library.has_dynamic_globals:
        return
    stored = machine_code.as_object(
        description.llvm_cfunc_wrapper_name,
        library._final_module,  # noqa: SLF001
        library._get_compiled_object(),  # noqa: SLF001
        python=description.llvm_cpython_wrapper_name,
        environment=description.env_name,
    )
    machine_code.OBJECTS.put(_key(spec), stored)


def load(spec: KernelSpec) -> tuple[Entry, int] | None:
    """The stored kernel, and its code address; None if there is none."""
    stored = machine_code.OBJECTS.get(_key(spec))
    if stored is None or (spec.parallel and not pool.provided()):
        return None
    found = machine_code.linked(stored)
    entry = None if found is None else _function(spec.name, found)
    return None if found is None or entry is None else (entry, found.address)


def _function(name: str, found: machine_code.Linked) -> Entry | None:
    """A kernel as a Python function of addresses and numbers.

    Numba's own wrapper looks up an environment before its arguments.
    """
    maker = machine_code.extension("numba._dynfunc")
    if maker is None:
        return None
    environment = maker.Environment({})
    _ENVIRONMENTS.append(environment)
    symbols, address = found.facts, found.engine.get_global_value_address
    place = address(symbols["environment"])
    ctypes.c_void_p.from_address(place).value = id(environment)
    code = found.engine.get_function_address(symbols["python"])
    module = sys.modules[__name__]
    return maker.make_function(module, name, "", code, environment, ())


_ENVIRONMENTS: list[Any] = []
"""They live as long as the code."""


def _key(spec: KernelSpec) -> str:
    return cache.digest(
        FORMAT,
        spec.source,
        spec.name,
        spec.signature,
        spec.parallel,
        spec.fastmath,
        pool.count(spec.threads),
        generated_code.front_end(),
        machine_code.host(),
        cache.package_digest(),
    )


LOOP = "prange"
CALL = "parallel_for"
OUTLINED = "call_outlined"
LEAST_NODES = 60
"""Nodes of the syntax tree of a loop whose repetitions are worth a function."""
_IDENTIFIER = re.compile(r"(?<![\w.])[^\W\d]\w*")
"""A name, but no attribute and no exponent of a number."""


@dataclass(frozen=True, slots=True)
class Outlined:
    """A module whose function calls the ``parts``, functions of the same module.

    ``is_rewritten``: whether it differs from the kernel's source.
    """

    tree: ast.Module
    parts: tuple[str, ...]
    is_rewritten: bool


def outlined(source: str, name: str, *, parallel: bool = True) -> Outlined:
    """The kernel ``name`` with repeated loops, and parallel ones, as functions.

    Returns before its end free the buffers that are live.

    >>> made = outlined('''
    ... def f(A, n):
    ...     for t in range(3):
    ...         for i in prange(n):
    ...             k = i + t
    ...             A[k] = k''', "f")
    >>> print(ast.unparse(made.tree))
    def f_0(begin, end, A, t):
        for i in range(begin, end):
            k = i + t
            A[k] = k
    <BLANKLINE>
    def f(A, n):
        for t in range(3):
            if parallel_for(f_0, n, (A, t)):
                return
    """
    tree = ast.parse(source)
    position, kernel = next(
        (at, node)
        for at, node in enumerate(tree.body)
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    outliner = _Outliner(name, {*_IDENTIFIER.findall(source)})
    if parallel:
        outliner.visit(kernel)
    own = dict.fromkeys([*_arguments(kernel), *_Uses.of([kernel]).stored])
    parts: dict[str, tuple[ast.FunctionDef, list[str]]] = {}
    for part, call in outliner.made:
        _pass_arguments(part, call, own, parts)
    for same in _repeated(kernel.body, own):
        for at in same:
            part, call = outliner.repeated(kernel.body[at])
            _pass_arguments(part, call, own, parts)
            kernel.body[at] = ast.copy_location(ast.Expr(call), kernel.body[at])
    made = [part for part, _ in parts.values()]
    tree.body[position:position] = made
    frees = free_at_returns(tree)
    names = tuple(part.name for part in made)
    return Outlined(ast.fix_missing_locations(tree), names, bool(names) or frees)


def _arguments(kernel: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in kernel.args.args]


def _pass_arguments(
    part: ast.FunctionDef,
    call: ast.Call,
    own: Iterable[str],
    parts: dict[str, tuple[ast.FunctionDef, list[str]]],
) -> None:
    """Pass what a part needs; its call is of an equal part if there is one."""
    uses = _Uses.of(part.body)
    variables = {*own, *_arguments(part), *uses.stored}
    text, names = _without_names(part.body[0], variables)
    first, known = parts.setdefault(text, (part, names))
    if first is part:
        taken = [each for each in own if each in uses.needed]
        part.args.args += [ast.arg(each) for each in taken]
    else:
        call.args[0] = ast.Name(first.name, ast.Load())
        count = len(first.args.args) - len(part.args.args)
        given = _arguments(first)[-count:] if count else []
        taken = [names[known.index(each)] for each in given]
    loaded: list[ast.expr] = [ast.Name(each, ast.Load()) for each in taken]
    call.args.append(ast.Tuple(loaded, ast.Load()))


def _repeated(body: Sequence[ast.stmt], own: Collection[str]) -> list[list[int]]:
    """Places of sequential loops that differ only in names of variables, by loop.

    Nothing behind such a loop may need a variable that it assigns.
    """
    sizes: dict[int, list[int]] = {}
    live = set[str]()
    for at in reversed(range(len(body))):
        statement, use = body[at], _Uses.of([body[at]])
        if isinstance(statement, ast.For) and live.isdisjoint(use.stored):
            nodes = [*ast.walk(statement)]
            if not any(isinstance(node, ast.Return) for node in nodes):
                sizes.setdefault(len(nodes), []).insert(0, at)
        if isinstance(statement, ast.Assign):
            live -= use.stored.keys()
        live |= use.needed.keys()
    found: dict[str, list[int]] = {}
    for size, places in sizes.items():
        if size >= LEAST_NODES and len(places) > 1:
            for at in places:
                text, _ = _without_names(body[at], own)
                found.setdefault(text, []).append(at)
    return [places for places in found.values() if len(places) > 1]


def _without_names(
    statement: ast.stmt, variables: Collection[str]
) -> tuple[str, list[str]]:
    r"""A statement with the numbers of variables in place of names, and the names.

    >>> (loop,) = ast.parse("for i in range(n): f(A, i)").body
    >>> _without_names(loop, {"A", "i", "n"})
    ('for $0 in range($1):\n    f($2, $0)', ['i', 'n', 'A'])
    """
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[0]
        is_variable = name in variables
        return f"${numbers.setdefault(name, len(numbers))}" if is_variable else name

    return _IDENTIFIER.sub(number, ast.unparse(statement)), [*numbers]


@dataclass
class _Outliner(ast.NodeTransformer):
    """Extracts parallel loops of a function; variables are found afterwards."""

    name: str
    used: set[str]
    made: list[tuple[ast.FunctionDef, ast.Call]] = field(
        default_factory=list[tuple[ast.FunctionDef, ast.Call]]
    )

    def visit_For(self, node: ast.For) -> ast.stmt:
        """One parallel loop, or the loops in a sequential one."""
        if not _is_parallel(node):
            self.generic_visit(node)
            return node
        assert isinstance(node.iter, ast.Call)
        begin, end, name = map(
            self._fresh, ("begin", "end", f"{self.name}_{len(self.made)}")
        )
        bounds: list[ast.expr] = [ast.Name(n, ast.Load()) for n in (begin, end)]
        over = ast.Call(ast.Name("range", ast.Load()), bounds, [])
        loop = ast.For(node.target, over, node.body, [])
        arguments = _parameters((begin, end))
        part = ast.FunctionDef(name, arguments, [ast.copy_location(loop, node)], [])
        called: list[ast.expr] = [ast.Name(name, ast.Load()), *node.iter.args]
        call = ast.Call(ast.Name(CALL, ast.Load()), called, [])
        self.made.append((ast.copy_location(part, node), call))
        return ast.copy_location(ast.If(call, [ast.Return()], []), node)

    def repeated(self, statement: ast.stmt) -> tuple[ast.FunctionDef, ast.Call]:
        """A function of a statement, and its call, without their variables."""
        name = self._fresh(f"{self.name}_{len(self.made)}")
        part = ast.FunctionDef(name, _parameters(()), [statement], [])
        call = ast.Call(
            ast.Name(OUTLINED, ast.Load()), [ast.Name(name, ast.Load())], []
        )
        self.made.append((ast.copy_location(part, statement), call))
        return part, ast.copy_location(call, statement)

    def _fresh(self, name: str) -> str:
        while name in self.used:
            name += "_"
        return name


def _parameters(names: Iterable[str]) -> ast.arguments:
    given = [ast.arg(name) for name in names]
    return ast.arguments(
        posonlyargs=[], args=given, kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def _is_parallel(node: ast.For) -> bool:
    called = node.iter.func if isinstance(node.iter, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == LOOP


@dataclass(slots=True)
class _Uses:
    """Variables in order of evaluation: ``needed`` are read before any write."""

    stored: dict[str, None] = field(default_factory=dict[str, None])
    needed: dict[str, None] = field(default_factory=dict[str, None])

    @staticmethod
    def of(nodes: Iterable[ast.AST]) -> _Uses:
        """The variables of some statements."""
        uses = _Uses()
        for node in nodes:
            uses.visit(node)
        return uses

    def visit(self, node: ast.AST) -> None:
        """A target comes last, but that of a loop does not; ``x += 1`` reads ``x``."""
        match node:
            case ast.Name(name, ast.Store()):
                self.stored.setdefault(name)
            case ast.Name(name):
                if name not in self.stored:
                    self.needed.setdefault(name)
            case ast.For(target, iterated, body):
                for part in (iterated, target, *body):
                    self.visit(part)
            case ast.AugAssign(ast.Name(name) as target, _, value):
                for part in (ast.Name(name, ast.Load()), value, target):
                    self.visit(part)
            case _:
                for part in _parts(node):
                    self.visit(part)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in a node, targets last."""
    for name in _fields(type(node)):
        value = getattr(node, name, None)
        if isinstance(value, list):
            yield from (each for each in value if isinstance(each, ast.AST))
        elif isinstance(value, ast.AST):
            yield value


@lru_cache(None)
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    skipped = {"ctx", "op", "ops"}  # no variables
    names = (name for name in kind._fields if name not in skipped)
    return tuple(sorted(names, key={"target", "targets"}.__contains__))


@dataclass(frozen=True, slots=True)
class CpuKernel:
    """A compiled kernel; ``entry`` takes addresses and numbers in parameter order.

    ``address``: of the same function, for calls from C.
    """

    spec: KernelSpec
    entry: Callable[..., None]
    address: int


@deferred_garbage_collection()
def compile_cpu(spec: KernelSpec) -> CpuKernel:
    """Compiles a kernel, or takes it from the disk cache."""
    loaded = load(spec)
    tell(1, f"kernel {spec.name}: {'from disk' if loaded else 'compiled by Numba'}")
    if loaded is not None:
        return CpuKernel(spec, *loaded)
    dispatcher, types = dispatcher_of(spec)
    with span(spec.name, "machine code"):
        dispatcher.compile(types)
    dispatcher.disable_compile()
    compiled = dispatcher.overloads[types]
    keep(spec, compiled)
    symbol = compiled.fndesc.llvm_cfunc_wrapper_name
    address = compiled.library.get_pointer_to_function(symbol)
    return CpuKernel(spec, compiled.entry_point, address)


def assembly(spec: KernelSpec) -> str:
    """The machine code of a kernel as text; always compiles."""
    dispatcher, types = dispatcher_of(spec)
    dispatcher.compile(types)
    return str(dispatcher.inspect_asm(types))


def dispatcher_of(spec: KernelSpec) -> tuple[Any, tuple[Any, ...]]:
    """Numba's dispatcher of the kernel, and the types of its parameters."""
    import numba

    from gpucodegen.intrinsics.cpu.backend import parameter
    from gpucodegen.intrinsics.cpu.target import jit

    dispatcher = jit(
        _in_parts(generated_code.load(spec.source), spec),
        nogil=True,
        error_model="numpy",
        fastmath=set(spec.fastmath) or False,
    )
    signature = numba.types.void(*(parameter(*p) for p in spec.signature))
    return dispatcher, signature.args


def _in_parts(module: ModuleType, spec: KernelSpec) -> Any:
    """The kernel with parallel and repeated loops as functions."""
    from gpucodegen.intrinsics.cpu.front_end import syntax_trees
    from gpucodegen.intrinsics.cpu.target import call_outlined, jit, parallel_for

    with generated_code.SYNTAX_TREES:
        made = outlined(spec.source, spec.name, parallel=spec.parallel)
        names = vars(module)
        if made.is_rewritten:
            names = {"__name__": module.__name__, OUTLINED: call_outlined}
            exec(compile(made.tree, str(module.__file__), "exec"), names)
    if spec.parallel:
        pool.provided()  # compiled code refers to the pool by name
        names[CALL] = parallel_for(pool.count(spec.threads))
    if generated_code.front_end() == generated_code.DIRECT:
        for definition in made.tree.body:
            if isinstance(definition, ast.FunctionDef):
                syntax_trees[names[definition.name]] = definition
    names.update((part, jit(names[part])) for part in made.parts)
    return names[spec.name]
