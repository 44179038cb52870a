"""A paired benchmark in a separate process, which may crash or hang without harm.

A schedule that ends the process, or exceeds the time limit, is a failed trial with that
reason; a new process runs the next trial.  Processes are forked from a server that has
compiled the default schedule (`gpucodegen.tuning.fork_server`), so that a failed trial
costs no more than another one.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.search import Crashed, TimedOut, Trial, TrialError, failed
from gpucodegen.tuning.fork_server import ForkedProcess, ForkServer

if TYPE_CHECKING:
    from typing import IO

    from gpucodegen.tiling.tuning.search import Point

SECONDS_TO_START = 120.0
"""For imports and the text of the program, on a busy machine."""
ENDED = object()
COMMAND = (sys.executable, "-P", "-m", "gpucodegen.tuning.worker")


class Tunable(Protocol):
    """The subject of a tuning (`gpucodegen.tuning.subject`)."""

    def contest(self) -> object:
        """The object that times it, in the called process."""
        ...


@dataclass(slots=True)
class IsolatedTrials:
    """The benchmark of a subject in another process.

    ``timeout``: seconds that a trial may take, compilation included.  ``server``: the
    process from which others are forked; without it each starts by itself.
    ``is_beside``: it is the server of other trials, too.  It must be closed.
    """

    pickled: bytes
    timeout: float
    worker: _Worker | None = None
    server: ForkServer | None = None
    is_beside: bool = False

    @staticmethod
    def of(subject: Tunable, timeout: float) -> IsolatedTrials:
        """A benchmark whose process has started.

        Raises the error if the subject cannot be sent or made there; no process is left
        behind.
        """
        return IsolatedTrials.begun(pickle.dumps(subject), timeout)

    @staticmethod
    def begun(pickled: bytes, timeout: float) -> IsolatedTrials:
        """As `of`, for a pickled subject."""
        contest = IsolatedTrials(pickled, timeout)
        limit = SECONDS_TO_START + timeout
        try:
            contest.server = ForkServer.begun(pickled, _environment(), limit)
            contest.start()
        except BaseException:
            contest.close()
            raise
        return contest

    def start(self) -> _Worker:
        """The process, started if there is none."""
        if self.worker is None:
            forked = self._forked()
            self.worker = _Worker(forked or _spawned())
            if forked is None or not forked.server.is_ready:
                self.worker.send(self.pickled)
                self._answer(SECONDS_TO_START)
        return self.worker

    def beside(self, pickled: bytes | None = None) -> IsolatedTrials:
        """Trials in one more process of the same server, which must outlive them.

        ``pickled``: another subject, where forks do not share the benchmark.
        """
        given = pickled or self.pickled, self.timeout
        return IsolatedTrials(*given, server=self.server, is_beside=True)

    def _forked(self) -> ForkedProcess | None:
        """A process of the server, if there is one."""
        try:
            return self.server.fork() if self.server else None
        except (OSError, EOFError):
            self.server = None
            return None

    def trial(self, point: Point) -> Trial:
        """The trial of one point, alone."""
        try:
            return self._ask("trial", point, timeout=self.timeout)
        except TrialError as error:
            return failed(point, error)

    def prepare(self, point: Point) -> None:
        """Compiles a point there.  Raises TrialError, and errors of the compilation."""
        self._ask("prepare", point, timeout=self.timeout)

    def rounds(self, points: Sequence[Point]) -> list[list[float]]:
        """Seconds of calls of each point.  Raises TrialError."""
        return self._ask("rounds", points, timeout=self.timeout * len(points))

    def repeated(self, points: Sequence[Point]) -> list[list[float]]:
        """As `rounds`, with calls on the same arguments."""
        return self._ask("repeated", points, timeout=self.timeout * len(points))

    def told(self) -> str:
        """Notes for the user about the measurement; empty after a crash."""
        try:
            return (
                "" if self.worker is None else self._ask("told", timeout=self.timeout)
            )
        except TrialError:
            return ""

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, and its server unless that is another one's."""
        self._drop()
        if self.server is not None and not self.is_beside:
            self.server.close()
        self.server = None

    def _drop(self) -> None:
        """Ends the process."""
        if self.worker is not None:
            self.worker.end()
            self.worker = None

    def _ask(self, method: str, *arguments: object, timeout: float) -> Any:
        self.start().send(pickle.dumps((method, arguments)))
        return self._answer(timeout)

    def _answer(self, timeout: float) -> Any:
        """The next answer.  Raises the worker's exception, Crashed or TimedOut."""
        worker = self.worker
        assert worker is not None
        try:
            answer = worker.answers.get(timeout=timeout)
        except queue.Empty:
            self._drop()
            raise TimedOut(f"no answer within {timeout:.0f} s") from None
        except BaseException:
            self._drop()  # its answer would be taken for another one's
            raise
        if answer is ENDED:
            how = worker.how_it_ended()
            self._drop()
            raise Crashed(how)
        if isinstance(answer, Exception):
            raise answer
        return answer


def _environment() -> dict[str, str]:
    """The variables of this process, with its path of imports."""
    folders = [os.path.abspath(folder) for folder in sys.path if folder]  # noqa: PTH100
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def _spawned() -> subprocess.Popen[bytes]:
    """A process that starts by itself."""
    return subprocess.Popen(  # noqa: S603
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    )


class _Worker:
    """A process and the thread that reads its answers."""

    def __init__(self, process: subprocess.Popen[bytes] | ForkedProcess) -> None:
        self.process = process
        self.answers: queue.Queue[Any] = queue.Queue()
        assert self.process.stdout is not None
        reader = threading.Thread(
            target=_read, args=(self.process.stdout, self.answers), daemon=True
        )
        reader.start()

    def send(self, message: bytes) -> None:
        """Sends a request; a process that has ended yields ENDED as its answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(message)
            self.process.stdin.flush()
        except OSError:
            return

    def how_it_ended(self) -> str:
        """The signal or the exit status."""
        status = self.process.wait()
        if status >= 0:
            return f"the process ended with status {status}"
        return f"the process ended by {signal.Signals(-status).name}"

    def end(self) -> None:
        """Kills it, whatever it does."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                _close(stream)


def _close(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:
        return


def _read(stream: IO[bytes], answers: queue.Queue[Any]) -> None:
    """Puts each answer into the queue, and ENDED at the end."""
    try:
        while True:
            answers.put(pickle.load(stream))  # noqa: S301  (from the worker)
    except Exception:  # noqa: BLE001  (a broken answer is an end too)
        answers.put(ENDED)
