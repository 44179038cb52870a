"""Error catalogue, part C: valid modules that cannot be compiled as requested."""

from __future__ import annotations

from gpucodegen.errors.base import CompileError


class UnsupportedOperation(CompileError, code="C001"):
    """No lowering for this operation on this target."""

    template = "'{operation}' cannot be compiled for target {target}"
    remedy = "Rewrite it with affine, memref, arith, math or linalg operations"


class UnregisteredOperation(CompileError, code="C002"):
    """An unknown operation stands where it would have to run."""

    template = "'{operation}' is not a known operation, so it cannot run"
    remedy = "Pass handlers={{'{operation}': function}} to run it, or remove it"


class UnsupportedType(CompileError, code="C003"):
    """A type the target has no storage or arithmetic for."""

    template = "type {type} is not supported on target {target}"
    remedy = (
        "Use f32, f64, f16, bf16, a float of 8 bits or less, complex<f32>,"
        " complex<f64>, index, or an integer of at most 64 bits"
    )


class OutOfBounds(CompileError, code="C004"):
    """An access proven to leave its buffer."""

    template = "access of {buffer} is out of bounds: {witness}"
    remedy = "Correct the index or the loop bounds"


class RaceFound(CompileError, code="C005"):
    """The race proof of a mapped kernel failed."""

    template = "race on {buffer} between two threads: {witness}"
    remedy = "Order the two accesses by a barrier, or keep them in one thread"


class IllegalTransformation(CompileError, code="C006"):
    """A transformation that would change the result."""

    template = "{transformation} is not legal: {reason}"
    remedy = "Choose another transformation or remove the dependence"


class UnknownPass(CompileError, code="C007"):
    """A pass name that is not registered."""

    template = "unknown pass '{name}'"
    remedy = "Known passes: {known}"


class InvalidPassOption(CompileError, code="C008"):
    """An option or a value a pass does not take."""

    template = "pass '{name}': {problem}"
    remedy = "{hint}"


class UnknownFunction(CompileError, AttributeError, code="C009"):
    """A function the module does not define: `hasattr` is False."""

    template = "no function '{name}'"
    remedy = "Known functions: {known}"


class UnknownTarget(CompileError, code="C010"):
    """A target that does not exist."""

    template = "unknown target '{target}'"
    remedy = "{advice}"


class TargetExists(CompileError, code="C026"):
    """A target that is registered twice."""

    template = "target '{target}' exists"
    remedy = "Choose another name, or call unregister first"


class NothingCompiled(CompileError, code="C027"):
    """Code of a target that compiles nothing."""

    template = "target '{target}' compiles nothing: it runs the module as written"
    remedy = "Ask for it with another target"


class NoDevice(CompileError, code="C011"):
    """CUDA was asked for and there is none."""

    template = "target 'cuda' needs a GPU, but {reason}"
    remedy = "{hint}"


class UnsupportedMemorySpace(CompileError, code="C012"):
    """A memory space without a meaning on the target."""

    template = "memory space {space} has no meaning on target {target}"
    remedy = "Known spaces: {known}"


class ExternalFunction(CompileError, AttributeError, code="C013"):
    """A call of a function without a body: `hasattr` is False."""

    template = "function '{name}' has no body"
    remedy = (
        "Give it a body, or compile with a Python function for it: "
        "externals={{'{name}': function}}"
    )


class ResourceLimit(CompileError, code="C014"):
    """A kernel that needs more than the target has."""

    template = "{what} of {needed} exceeds the limit of {limit}"
    remedy = "Use smaller tiles"


class TooManyOperations(CompileError, code="C130"):
    """A program that would take too long to compile."""

    template = "{count} operations exceed the limit of {limit}"
    remedy = (
        "Put repeated statements into loops, split the function, or raise"
        " max_operations"
    )


class VectorTooLong(CompileError, code="C131"):
    """A vector that fills more registers than a kernel may name."""

    template = "a value of type {type} is longer than the limit of {limit} bytes"
    remedy = "Loop over shorter vectors"


class UnpairedTransfer(CompileError, code="C015"):
    """A dma_start or dma_wait without its partner."""

    template = "{what} has no matching {partner}: {reason}"
    remedy = "Start and wait with the same tag element and element count"


class Unproven(CompileError, code="C016"):
    """A proof that the analysis could not finish."""

    template = "could not prove that {claim}: {reason}"
    remedy = "Simplify the index expressions or bounds"


class InvalidOption(CompileError, code="C017"):
    """A compile option with an unusable value."""

    template = "option {name}={value!r} is not valid"
    remedy = "{hint}"


class UnreadableFile(CompileError, code="C018"):
    """A source file that cannot be read."""

    template = "cannot read {path}: {reason}"
    remedy = "Check the path and its permissions"


class InternalError(CompileError, code="C019"):
    """A pass broke an invariant: our fault, not the user's."""

    template = "internal error in {stage}: {problem}"
    remedy = "Please report this with the input"


class TransferOvertaken(CompileError, code="C020"):
    """An asynchronous copy whose cells are used, or tag reused, before its wait."""

    template = "transfer of {buffer} is still under way: {witness}"
    remedy = "Wait for it with a dma_wait on its tag before its cells are used"


class AffineControlFlow(CompileError, code="C021"):
    """A loop or condition where only index arithmetic can be lowered."""

    template = "'{operation}' keeps its affine bounds, so they cannot become arithmetic"
    remedy = "Run lower-if-and-for before this pass, or lower-affine, which does both"


class LayoutNotInjective(CompileError, code="C022"):
    """A memref layout that puts two elements at one place, or one outside."""

    template = "layout {layout} does not give each element its own place: {problem}"
    remedy = "Use a layout that is one-to-one on the shape and starts at zero"


class UseAfterFree(CompileError, code="C023"):
    """A buffer used, or freed again, after its dealloc."""

    template = "'{operation}' uses %{buffer}, which is freed"
    remedy = "Free it after its last use"


class UnknownLoop(CompileError, code="C030"):
    """A loop name that fits no loop."""

    template = "no loop '{name}' in {where}"
    remedy = "Known loops: {known}"


class AmbiguousLoop(CompileError, code="C031"):
    """A loop name that fits several loops of one function."""

    template = "'{name}' names {count} loops of {where}"
    remedy = "Name one by its path: {known}"


class EffectsExceeded(CompileError, code="C024"):
    """A body that touches more than its function declares."""

    template = "@{function} {witness}, which its declared effects leave out"
    remedy = "Add it to gcg.{verb} or gcg.may_{verb}, or correct the body"


class EffectsMissing(CompileError, code="C025"):
    """A declared effect that does not happen in every call."""

    template = "@{function} {witness} by its declaration, but not in every call"
    remedy = "Declare it by gcg.may_{verb}"


class NoPicture(CompileError, code="C040"):
    """A picture requested of an object that cannot be drawn."""

    template = "there is no picture of {what}: {reason}"
    remedy = "{hint}"


class NoKernel(CompileError, code="C042"):
    """A report on kernels of a function that launches none."""

    template = "function '{function}' launches no kernel on a GPU: {reason}"
    remedy = "{hint}"


class NoBenchmarks(CompileError, code="C041"):
    """Benchmarks asked of an installation without them."""

    template = "{folder} holds no benchmarks: they are not part of the wheel"
    remedy = (
        "Clone the repository, run 'pip install -e .' in it, and call that"
        " installation's 'gpucodegen bench'"
    )


class CacheRefused(CompileError, code="C140"):
    """A cache that cannot hold what was asked to be kept."""

    template = "nothing can be kept in the cache at {path}: {reason}"
    remedy = "Set GPUCODEGEN_CACHE_DIR to a folder that you alone may write to"


class NotASource(CompileError, code="C141"):
    """An argument of another type where MLIR is expected."""

    template = "MLIR cannot be read from {actual}"
    remedy = (
        "Pass its text, the path of its file as pathlib.Path, or a module that"
        " gpucodegen.parse made"
    )


class LaunchNeedsGpu(CompileError, code="C180"):
    """A hand-written kernel that has no form as parallel loops."""

    template = "this launch does not run on target cpu: {reason}"
    remedy = "Compile with target='sim', which runs it without a GPU, or 'cuda'"


class LaunchSizeDiffers(CompileError, code="C181"):
    """A launch with another grid or block than its kernel states."""

    template = (
        "@{kernel} states {known} {what} along {dimension}, but is launched with"
        " {actual}"
    )
    remedy = "Launch it with this size, or correct what the kernel states"


class ThreadsApart(RaceFound, code="C183"):
    """Some threads reach an operation at which others wait for them in vain."""

    template = "threads do not meet: {witness}"
    remedy = (
        "Move it out of the condition, so that all threads reach it; idle lanes"
        " contribute the neutral element. A mask names exactly the lanes that take"
        " part. A block's size must be a constant, or stated as known_block_size"
    )


class WrongLanes(CompileError, code="C184"):
    """A warp exchanges values with lanes that it lacks, or that take no part."""

    template = "{operation}: {problem}"
    remedy = "A width is from 1 to 32; a mask names every lane that another one reads"


class NoDeviceFunction(CompileError, code="C182"):
    """A kernel for CUDA calls a function that no GPU has."""

    template = "a kernel calls {function}, which no GPU has"
    remedy = "Report it with the program, or use target='cpu'"


class NotExportable(CompileError, code="C185"):
    """A function that cannot stand alone."""

    template = "function '{function}' cannot be exported: {reason}"
    remedy = "{hint}"
