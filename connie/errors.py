"""What is raised when no address of a host could be connected to."""

import errno
from collections.abc import Sequence
from typing import NamedTuple

from connie.addresses import Address

_CLASSES: dict[type[OSError], type["ConnectError"]] = {}


class FailedAttempt(NamedTuple):
    """An address, and why no connection to it came about."""

    address: Address
    error: OSError

    @property
    def errno(self) -> int | None:
        """The error's number: ECONNREFUSED, ENETUNREACH, ETIMEDOUT when the caller's time was over before an answer."""
        return self.error.errno


class ConnectError(OSError):
    """Every address failed. Has the errno, strerror and class that `socket.create_connection` would raise.

    That is: those of the last address in the order tried, so that `except ConnectionRefusedError` goes on to work; and
    TimeoutError when the caller's time was over. `attempts` has every address with its own error. No class can be an
    OSError and an ExceptionGroup at once, because both have C layouts of their own: for `except*`, raise
    `ExceptionGroup(error.message, [attempt.error for attempt in error.attempts])`.
    """

    message: str
    attempts: tuple[FailedAttempt, ...]
    timed_out: bool

    def __str__(self) -> str:
        causes = ", ".join(f"{attempt.address}: {attempt.error.strerror or attempt.error}" for attempt in self.attempts)
        return f"[Errno {self.errno}] {self.message}: {causes}"

    def __reduce__(self) -> tuple[object, ...]:
        return connect_error, (self.message, self.attempts, self.timed_out)


def connect_error(message: str, attempts: Sequence[FailedAttempt], timed_out: bool = False) -> ConnectError:
    """Return the error of these failed attempts, at least one, in the order tried."""
    last = TimeoutError(errno.ETIMEDOUT, "timed out") if timed_out else attempts[-1].error
    # Arguments as the last error has them: not every OSError has an errno.
    error = _connect_error_of(type(last))(*last.args)
    error.message, error.attempts, error.timed_out = message, tuple(attempts), timed_out
    return error


def _connect_error_of(kind: type[OSError]) -> type[ConnectError]:
    """Return the ConnectError that is a ConnectionRefusedError, TimeoutError, gaierror, ... too."""
    if kind is OSError:
        return ConnectError
    if kind not in _CLASSES:
        names = {"__doc__": ConnectError.__doc__, "__module__": __name__}
        _CLASSES.setdefault(kind, type("ConnectError", (ConnectError, kind), names))
    return _CLASSES[kind]
