"""Error catalogue, part C: valid modules that cannot be compiled as requested."""

from __future__ import annotations

from gpucodegen.errors.base import CompileError


class UnsupportedOperation(CompileError):
    """No lowering for this operation on this target."""

    code = "C001"
    template = "'{operation}' cannot be compiled for target {target}"
    remedy = "Rewrite it with affine, memref, arith, math or linalg operations"


class UnregisteredOperation(CompileError):
    """An unknown operation stands where it would have to run."""

    code = "C002"
    template = "'{operation}' is not a known operation, so it cannot run"
    remedy = "Pass handlers={{'{operation}': function}} to run it, or remove it"


class UnsupportedType(CompileError):
    """A type the target has no storage or arithmetic for."""

    code = "C003"
    template = "type {type} is not supported on target {target}"
    remedy = (
        "Use f32, f64, f16, bf16, a float of 8 bits or less, complex<f32>,"
        " complex<f64>, index, or an integer of at most 64 bits"
    )


class OutOfBounds(CompileError):
    """An access proven to leave its buffer."""

    code = "C004"
    template = "access of {buffer} is out of bounds: {witness}"
    remedy = "Correct the index or the loop bounds"


class RaceFound(CompileError):
    """The race proof of a mapped kernel failed."""

    code = "C005"
    template = "race on {buffer} between two threads: {witness}"
    remedy = "Order the two accesses by a barrier, or keep them in one thread"


class IllegalTransformation(CompileError):
    """A transformation that would change the result."""

    code = "C006"
    template = "{transformation} is not legal: {reason}"
    remedy = "Choose another transformation or remove the dependence"


class UnknownPass(CompileError):
    """A pass name that is not registered."""

    code = "C007"
    template = "unknown pass '{name}'"
    remedy = "Known passes: {known}"


class InvalidPassOption(CompileError):
    """An option or a value a pass does not take."""

    code = "C008"
    template = "pass '{name}': {problem}"
    remedy = "{hint}"


class UnknownFunction(CompileError, AttributeError):
    """A function the module does not define: `hasattr` is False."""

    code = "C009"
    template = "no function '{name}'"
    remedy = "Known functions: {known}"


class UnknownTarget(CompileError):
    """A target that does not exist."""

    code = "C010"
    template = "unknown target '{target}'"
    remedy = "{advice}"


class TargetExists(CompileError):
    """A target that is registered twice."""

    code = "C026"
    template = "target '{target}' exists"
    remedy = "Choose another name, or call unregister first"


class NothingCompiled(CompileError):
    """Code of a target that compiles nothing."""

    code = "C027"
    template = "target '{target}' compiles nothing: it runs the module as written"
    remedy = "Ask for it with another target"


class NoDevice(CompileError):
    """CUDA was asked for and there is none."""

    code = "C011"
    template = "target 'cuda' needs a GPU, but {reason}"
    remedy = "{hint}"


class UnsupportedMemorySpace(CompileError):
    """A memory space without a meaning on the target."""

    code = "C012"
    template = "memory space {space} has no meaning on target {target}"
    remedy = "Known spaces: {known}"


class ExternalFunction(CompileError, AttributeError):
    """A call of a function without a body: `hasattr` is False."""

    code = "C013"
    template = "function '{name}' has no body"
    remedy = (
        "Give it a body, or compile with a Python function for it: "
        "externals={{'{name}': function}}"
    )


class ResourceLimit(CompileError):
    """A kernel that needs more than the target has."""

    code = "C014"
    template = "{what} of {needed} exceeds the limit of {limit}"
    remedy = "Use smaller tiles"


class TooManyOperations(CompileError):
    """A program that would take too long to compile."""

    code = "C130"
    template = "{count} operations exceed the limit of {limit}"
    remedy = (
        "Put repeated statements into loops, split the function, or raise"
        " max_operations"
    )


class VectorTooLong(CompileError):
    """A vector that fills more registers than a kernel may name."""

    code = "C131"
    template = "a value of type {type} is longer than the limit of {limit} bytes"
    remedy = "Loop over shorter vectors"


class UnpairedTransfer(CompileError):
    """A dma_start or dma_wait without its partner."""

    code = "C015"
    template = "{what} has no matching {partner}: {reason}"
    remedy = "Start and wait with the same tag element and element count"


class Unproven(CompileError):
    """A proof that the analysis could not finish."""

    code = "C016"
    template = "could not prove that {claim}: {reason}"
    remedy = "Simplify the index expressions or bounds"


class InvalidOption(CompileError):
    """A compile option with an unusable value."""

    code = "C017"
    template = "option {name}={value!r} is not valid"
    remedy = "{hint}"


class UnreadableFile(CompileError):
    """A source file that cannot be read."""

    code = "C018"
    template = "cannot read {path}: {reason}"
    remedy = "Check the path and its permissions"


class InternalError(CompileError):
    """A pass broke an invariant: our fault, not the user's."""

    code = "C019"
    template = "internal error in {stage}: {problem}"
    remedy = "Please report this with the input"


class TransferOvertaken(CompileError):
    """An asynchronous copy whose cells are used, or tag reused, before its wait."""

    code = "C020"
    template = "transfer of {buffer} is still under way: {witness}"
    remedy = "Wait for it with a dma_wait on its tag before its cells are used"


class AffineControlFlow(CompileError):
    """A loop or condition where only index arithmetic can be lowered."""

    code = "C021"
    template = "'{operation}' keeps its affine bounds, so they cannot become arithmetic"
    remedy = "Run lower-if-and-for before this pass, or lower-affine, which does both"


class LayoutNotInjective(CompileError):
    """A memref layout that puts two elements at one place, or one outside."""

    code = "C022"
    template = "layout {layout} does not give each element its own place: {problem}"
    remedy = "Use a layout that is one-to-one on the shape and starts at zero"


class UseAfterFree(CompileError):
    """A buffer used, or freed again, after its dealloc."""

    code = "C023"
    template = "'{operation}' uses %{buffer}, which is freed"
    remedy = "Free it after its last use"


class UnknownLoop(CompileError):
    """A loop name that fits no loop."""

    code = "C030"
    template = "no loop '{name}' in {where}"
    remedy = "Known loops: {known}"


class AmbiguousLoop(CompileError):
    """A loop name that fits several loops of one function."""

    code = "C031"
    template = "'{name}' names {count} loops of {where}"
    remedy = "Name one by its path: {known}"


class EffectsExceeded(CompileError):
    """A body that touches more than its function declares."""

    code = "C024"
    template = "@{function} {witness}, which its declared effects leave out"
    remedy = "Add it to gcg.{verb} or gcg.may_{verb}, or correct the body"


class EffectsMissing(CompileError):
    """A declared effect that does not happen in every call."""

    code = "C025"
    template = "@{function} {witness} by its declaration, but not in every call"
    remedy = "Declare it by gcg.may_{verb}"


class NoPicture(CompileError):
    """A picture requested of an object that cannot be drawn."""

    code = "C040"
    template = "there is no picture of {what}: {reason}"
    remedy = "{hint}"


class NoKernel(CompileError):
    """A report on kernels of a function that launches none."""

    code = "C042"
    template = "function '{function}' launches no kernel on a GPU: {reason}"
    remedy = "{hint}"


class NoBenchmarks(CompileError):
    """Benchmarks asked of an installation without them."""

    code = "C041"
    template = "{folder} holds no benchmarks: they are not part of the wheel"
    remedy = (
        "Clone the repository, run 'pip install -e .' in it, and call that"
        " installation's 'gpucodegen bench'"
    )


class CacheRefused(CompileError):
    """A cache that cannot hold what was asked to be kept."""

    code = "C140"
    template = "nothing can be kept in the cache at {path}: {reason}"
    remedy = "Set GPUCODEGEN_CACHE_DIR to a folder that you alone may write to"


class NotASource(CompileError):
    """An argument of another type where MLIR is expected."""

    code = "C141"
    template = "MLIR cannot be read from {actual}"
    remedy = (
        "Pass its text, the path of its file as pathlib.Path, or a module that"
        " gpucodegen.parse made"
    )


class LaunchNeedsGpu(CompileError):
    """A hand-written kernel that has no form as parallel loops."""

    code = "C180"
    template = "this launch does not run on target cpu: {reason}"
    remedy = "Compile with target='sim', which runs it without a GPU, or 'cuda'"


class LaunchSizeDiffers(CompileError):
    """A launch with another grid or block than its kernel states."""

    code = "C181"
    template = (
        "@{kernel} states {known} {what} along {dimension}, but is launched with"
        " {actual}"
    )
    remedy = "Launch it with this size, or correct what the kernel states"


class ThreadsApart(RaceFound):
    """Some threads reach an operation at which others wait for them in vain."""

    code = "C183"
    template = "threads do not meet: {witness}"
    remedy = (
        "Move it out of the condition, so that all threads reach it; idle lanes"
        " contribute the neutral element. A mask names exactly the lanes that take"
        " part. A block's size must be a constant, or stated as known_block_size"
    )


class WrongLanes(CompileError):
    """A warp exchanges values with lanes that it lacks, or that take no part."""

    code = "C184"
    template = "{operation}: {problem}"
    remedy = "A width is from 1 to 32; a mask names every lane that another one reads"


class NoDeviceFunction(CompileError):
    """A kernel for CUDA calls a function that no GPU has."""

    code = "C182"
    template = "a kernel calls {function}, which no GPU has"
    remedy = "Report it with the program, or use target='cpu'"


class NotExportable(CompileError):
    """A function that cannot stand alone."""

    code = "C185"
    template = "function '{function}' cannot be exported: {reason}"
    remedy = "{hint}"
