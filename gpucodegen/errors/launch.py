"""Error catalogue, part L: wrong calls, and failures while running."""

from __future__ import annotations

from gpucodegen.errors.base import LaunchError


class WrongArgumentCount(LaunchError, code="L001"):
    """Too few or too many arguments."""

    template = "{function} takes {expected} arguments, got {actual}"
    remedy = "Call {signature}"


class WrongArgumentType(LaunchError, code="L002"):
    """An argument that is not the buffer, or the number, that is expected."""

    template = "{function}: argument {argument} must be {expected}, got {actual}"
    remedy = "Pass {expected}"


class WrongDtype(LaunchError, code="L003"):
    """A buffer of another element type."""

    template = "{function}: argument {argument} must hold {expected}, got {actual}"
    remedy = "Convert it, for example with .astype"


class WrongArgumentRank(LaunchError, code="L004"):
    """A buffer of another rank."""

    template = "{function}: argument {argument} must have rank {expected}, got {actual}"
    remedy = "Reshape it"


class WrongExtent(LaunchError, code="L005"):
    """A buffer of another extent."""

    template = (
        "{function}: argument {argument} must have extent {expected}"
        " in dimension {dimension}, got {actual}"
    )
    remedy = "Pass a buffer of shape {shape}"


class WrongStride(LaunchError, code="L006"):
    """A buffer whose strides the layout does not allow."""

    template = (
        "{function}: argument {argument} must have strides {expected}, got {actual}"
    )
    remedy = "Copy it into a contiguous buffer{otherwise}"


class ReadOnlyArgument(LaunchError, code="L007"):
    """A read-only buffer that the function writes."""

    template = "{function}: argument {argument} is read-only, but is written"
    remedy = "Pass a writable array: a copy, or numpy.array(x) for a number x of NumPy"


class OverlappingArguments(LaunchError, code="L008"):
    """A written buffer that shares memory with another argument."""

    template = "{function}: arguments {first} and {second} overlap in memory"
    remedy = "Pass buffers that do not share memory"


class WrongDevice(LaunchError, code="L009"):
    """Buffers on another device than the program's."""

    template = "{function}: argument {argument} lies on {actual}, not on {expected}"
    remedy = "Move it to {expected}"


class IndexOutOfBounds(LaunchError, code="L010"):
    """An access that left its buffer while running."""

    template = "index {index} is outside {buffer} of shape {shape}"
    remedy = "Correct the index or the loop bounds"


class UnfinishedTransfer(LaunchError, code="L013"):
    """Data of a transfer touched before its wait."""

    template = "{buffer} is used while a transfer is in flight: {problem}"
    remedy = "Wait for the transfer first"


class LaunchFailed(LaunchError, code="L014"):
    """The device refused or aborted a kernel."""

    template = "kernel {kernel} failed: {reason}"
    remedy = "{hint}"


class WrongTensorMap(LaunchError, code="L026"):
    """A tensor, or a box of it, that no copy engine takes."""

    template = "no tensor map of an array of {shape} in boxes of {box}: {problem}"
    remedy = "Give an array whose rows are 16-byte multiples, and boxes of those too"


class OutOfMemory(LaunchError, code="L015"):
    """An allocation that the device or the limit refuses."""

    template = "cannot allocate {size} bytes"
    remedy = "Use smaller buffers or another device"


class NegativeExtent(LaunchError, code="L016"):
    """A dynamic size below zero."""

    template = "an array of shape {shape} has a negative extent"
    remedy = "Pass sizes that are zero or more"


class DivisionByZero(LaunchError, code="L017"):
    """An integer division by zero while running."""

    template = "integer division by zero"
    remedy = "Guard the divisor"


class MisalignedAccess(LaunchError, code="L018"):
    """A vector access whose address the hardware refuses."""

    template = "access of {align} bytes at {buffer}[{index}] is not aligned"
    remedy = "Align the offset and the strides, or declare a smaller alignment"


class HandlerResult(LaunchError, code="L019"):
    """A handler that returned too few or too many values."""

    template = "the handler of '{operation}' returned {actual} value(s), not {expected}"
    remedy = "Return one value per result of the operation, several as a tuple"


class HandlerShape(LaunchError, code="L022"):
    """A handler that returned an array of another shape than its type says."""

    template = (
        "the handler of '{operation}' returned an array of shape {actual}, not"
        " {expected}"
    )
    remedy = "Return an array of that shape"


class ShapesDisagree(LaunchError, code="L020"):
    """Arguments whose extents do not fit each other in one operation."""

    template = "the shapes of this call do not fit together: {problem}"
    remedy = "Pass buffers whose extents agree"


class UnreadableBuffer(LaunchError, code="L021"):
    """An array of another library that does not offer its memory."""

    template = "{function}: argument {argument} does not offer its memory: {reason}"
    remedy = "Pass a dense array in main memory or on a GPU, without a gradient"


class WrongArgumentName(LaunchError, code="L023"):
    """A keyword that names no argument, or one that is given already."""

    template = "{function}: argument '{argument}' {problem}"
    remedy = "Call {signature}"


class UnknownResult(LaunchError, code="L024"):
    """A result whose extents do not follow from those of the arguments."""

    template = "{function}: the extents of result {number}, {type}, are not known"
    remedy = "Give it a type with extents, or let them be those of an argument"


class NoStencil(LaunchError, code="L025"):
    """A function of which no block can be computed from its neighbourhood."""

    template = "{function} cannot run block by block: {reason}"
    remedy = "Pass a function whose cells depend on cells near them, all alike"


class AccessOutOfBounds(IndexOutOfBounds, code="L120"):
    """An access of the program that leaves its buffer in this call."""

    template = "this call {verb}s outside dimension {dimension} of {buffer}{given}"
    remedy = "Pass buffers, numbers and indices that fit each other"


class AssertionFailed(LaunchError, code="L130"):
    """A condition that the program asserts, and that does not hold in this call."""

    template = "assertion failed: {message}"
    remedy = "Pass arguments for which the condition holds"


class ExpectationFailed(LaunchError, code="L131"):
    """A value that is not what the program expects of it."""

    template = (
        "'{operation}' fails for {count} of {total} element(s): the first{index} is"
        " {actual}, not {expected}"
    )
    remedy = "Correct the program, or what it expects"


class ReadBeforeWritten(LaunchError, code="L132"):
    """The interpreter read an element of fresh memory that nothing had written."""

    template = (
        "{buffer}{index} is read, which nothing has written: fresh memory holds no"
        " values"
    )
    remedy = "Store to it first, or start from linalg.fill"


class UsedAfterDealloc(LaunchError, code="L133"):
    """The interpreter accessed memory that the program had deallocated."""

    template = "{buffer} is {use} after its dealloc"
    remedy = "Give memory back once, after its last use"


class NanMade(LaunchError, code="L134"):
    """A sanitized call in which an operation made NaN of numbers."""

    template = "'{operation}' makes NaN{place} of {operands}, none of which is NaN"
    remedy = "Guard the operation, or leave out sanitize where NaN is meant"


class OverlappingCopy(LaunchError, code="L135"):
    """The interpreter met a copy between parts of one array that overlap."""

    template = "'{operation}' copies {source} to {target}, which share elements"
    remedy = "What it leaves is undefined: copy through a buffer between them"


class CallsTooDeep(LaunchError, code="L140"):
    """A function that calls itself deeper than Python allows."""

    template = "calls in {function} nest more than {depth} deep"
    remedy = "Write the recursion as a loop, or call sys.setrecursionlimit first"


class IndexTooLarge(LaunchError, code="L160"):
    """A number that the indices of a GPU kernel cannot hold."""

    template = "kernel {kernel}: {name} = {value} does not fit in 32 bits"
    remedy = "GPU kernels index with 32 bits: use smaller sizes, or target='cpu'"


class UnknownDevice(LaunchError, code="L161"):
    """A kind of device that does not exist."""

    template = "GPUCODEGEN_DEVICE names an unknown device '{name}'"
    remedy = "Use one of {known}, or leave it unset for a GPU"


class NotEmulated(LaunchError, code="L162"):
    """A kernel with instructions that the emulated device does not know."""

    template = "the emulated device cannot execute kernel {kernel}: {reason}"
    remedy = "Run it on a GPU"


class NotRecordable(LaunchError, code="L163"):
    """A program for a graph that needs to know what the device computes."""

    template = "a graph cannot hold {operation}, which the host program asks for"
    remedy = "Bind the call without graph=True"


class NoStreams(LaunchError, code="L164"):
    """A stream or a graph for a target that has none."""

    template = "target '{target}' takes no {option}="
    remedy = "Leave it out, or use target='cuda'"


class UnknownStream(LaunchError, code="L165"):
    """Something that is no stream, or none of the device of a call."""

    template = "{given} is not a stream of {device}"
    remedy = "Pass a stream of CuPy or PyTorch on that device, or its pointer"


class UnorderedStreams(LaunchError, code="L166"):
    """Operations of two streams on the same bytes without an order between them."""

    template = "{one} and {other} touch the same bytes of {device} in no fixed order"
    remedy = "Record an event after the first, and let the other's stream wait for it"


class InvalidLoopStep(LaunchError, code="L181"):
    """A loop whose step is not positive."""

    template = "a loop has step {step}"
    remedy = "Steps are positive"


class BarrierMissed(LaunchError, code="L182"):
    """Threads of a block of which some wait where others have ended."""

    template = "{waiting} of {count} threads of a block wait at '{operation}' for ever"
    remedy = "Let all threads of a block reach the same barriers"


class ResultsDiffer(LaunchError, code="L183"):
    """A target computes other results than the interpreter."""

    template = (
        "{function} on target '{target}': {what} differs{place}:"
        " {actual}, the interpreter has {expected} (bound {bound})"
    )
    remedy = "Report it with the program: one of the two is wrong"


class PassChangesResults(LaunchError, code="L184"):
    """The interpreter computes something else after a pass than before it.

    ``before`` and ``after`` are the texts of the module around the pass.
    """

    template = (
        "pass {stage} changes the results of {function} on target '{target}':"
        " {what} differs{place}: {actual}, the program as written has {expected}"
        " (bound {bound})"
    )
    remedy = "Report it with the program; the change of the pass follows\n{difference}"
    before: str = ""
    after: str = ""


class PassBreaksProgram(PassChangesResults, code="L185"):
    """The interpreter stops in a module that a pass made."""

    template = (
        "pass {stage} breaks {function} on target '{target}': the interpreter stops"
        " behind it: {problem}"
    )
