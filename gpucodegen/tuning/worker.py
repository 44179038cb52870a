"""The measuring process of `isolated_trials`: requests on stdin, answers on stdout.

The output of the program itself is discarded.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, BinaryIO


def main() -> None:
    """Serves requests until there are no more; each calls a method of the benchmark."""
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    serve(requests, answers)


def serve(requests: BinaryIO, answers: BinaryIO, contest: Any = None) -> None:
    """Makes the benchmark of the first request, then calls its methods.

    With a ``contest`` it is made already.  An answer is a value, or the exception that
    a request raised.
    """
    while True:
        try:
            request = pickle.load(requests)  # noqa: S301  (from the parent process)
        except EOFError:
            return
        try:
            if contest is None:
                contest, answer = request.contest(), None
            else:
                method, arguments = request
                answer = getattr(contest, method)(*arguments)
        except Exception as error:  # noqa: BLE001  (the parent raises it)
            answer = sendable(error)
        pickle.dump(answer, answers)
        answers.flush()


def sendable(error: Exception) -> Exception:
    """The exception, or one with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:  # noqa: BLE001
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    main()
