"""A fork server: a warmed process from which the processes of trials are forked.

The server imports the compiler, compiles the default schedule once, and holds neither
threads nor a device context, so forks are safe.  A forked process starts within
milliseconds, and compiles like a process that has compiled before.  Where the server
cannot start, as on systems without ``fork``, each process starts by itself.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from multiprocessing.connection import Connection
from typing import IO, Any, NoReturn

from gpucodegen.records import dataclass
from gpucodegen.tuning.worker import sendable, serve

COMMAND = (sys.executable, "-P", "-m", "gpucodegen.tuning.fork_server")
REQUEST = b"\0"
"""Accompanies the file descriptors of a new process."""


@dataclass(slots=True)
class ForkServer:
    """The server of one subject; to be closed.

    ``is_ready``: forked processes hold the benchmark already, and need no subject.
    """

    process: subprocess.Popen[bytes]
    control: socket.socket
    messages: Connection
    is_ready: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def begun(
        pickled: bytes, environment: Mapping[str, str], timeout: float
    ) -> ForkServer | None:
        """A server that is warm; None where there is none within ``timeout`` seconds.

        Raises the error if the subject cannot be made there.
        """
        if not hasattr(os, "fork") or sys.platform == "darwin":
            return None
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603
                COMMAND,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        made = ForkServer(process, ours, Connection(os.dup(ours.fileno())))
        try:
            made.messages.send_bytes(pickled)
            if not made.messages.poll(timeout):
                raise EOFError  # noqa: TRY301
            answer = pickle.loads(made.messages.recv_bytes())  # noqa: S301 - the server
        except (EOFError, OSError):
            made.close()
            return None
        except BaseException:
            made.close()
            raise
        if isinstance(answer, Exception):
            made.close()
            raise answer
        made.is_ready = answer
        return made

    def fork(self) -> ForkedProcess:
        """A new process.  Raises OSError or EOFError if the server has ended."""
        (inner, requests), (answers, outer) = os.pipe(), os.pipe()
        try:
            with self.lock:
                self.messages.send_bytes(pickle.dumps("fork"))
                socket.send_fds(self.control, [REQUEST], [inner, outer])
                pid = pickle.loads(self.messages.recv_bytes())  # noqa: S301
        except BaseException:
            os.close(requests)
            os.close(answers)
            raise
        finally:
            os.close(inner)
            os.close(outer)
        way = os.fdopen(requests, "wb"), os.fdopen(answers, "rb")
        return ForkedProcess(self, pid, *way)

    def status_of(self, pid: int) -> int:
        """The exit status of a process that ends; -1 without a server."""
        with self.lock:
            try:
                self.messages.send_bytes(pickle.dumps(pid))
                return pickle.loads(self.messages.recv_bytes())  # noqa: S301
            except (EOFError, OSError):
                return -signal.SIGKILL

    def close(self) -> None:
        """Ends the server; forked processes end when their requests do."""
        self.messages.close()
        self.control.close()
        self.process.kill()
        self.process.wait()


@dataclass(slots=True)
class ForkedProcess:
    """A process of a server, with the interface of a ``Popen`` with pipes."""

    server: ForkServer
    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    status: int | None = None

    def kill(self) -> None:
        """Sends SIGKILL unless it has been waited for."""
        if self.status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """The exit status, negative for a signal."""
        if self.status is None:
            self.status = self.server.status_of(self.pid)
        return self.status


def main() -> None:
    """Serves the process at the other end of the socket on the standard input."""
    with socket.socket(fileno=os.dup(0)) as control:
        messages = Connection(os.dup(0))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        contest, answer = None, False
        try:
            subject = pickle.loads(messages.recv_bytes())  # noqa: S301 - the parent
            contest = subject.warmed()
            answer = contest is not None
        except Exception as error:  # noqa: BLE001 - the parent raises it
            answer = sendable(error)
        if threading.active_count() > 1:
            return
        messages.send_bytes(pickle.dumps(answer))
        gc.freeze()  # forked processes share these objects: none traverses them
        with suppress(EOFError, OSError):
            while True:
                _answer(control, messages, contest)


def _answer(control: socket.socket, messages: Connection, contest: object) -> None:
    """Forks a process, or waits for one."""
    request = pickle.loads(messages.recv_bytes())  # noqa: S301 - from the parent
    if request != "fork":
        _, status = os.waitpid(request, 0)
        messages.send_bytes(pickle.dumps(os.waitstatus_to_exitcode(status)))
        return
    _, descriptors, *_ = socket.recv_fds(control, 1, 2)
    pid = os.fork()
    if pid == 0:
        control.close()
        messages.close()
        _run(descriptors[0], descriptors[1], contest)
    for descriptor in descriptors:
        os.close(descriptor)
    messages.send_bytes(pickle.dumps(pid))


def _run(requests: int, answers: int, contest: Any) -> NoReturn:
    """The life of a forked process."""
    status = 1
    try:
        serve(os.fdopen(requests, "rb"), os.fdopen(answers, "wb"), contest)
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
