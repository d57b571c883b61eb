"""Functions of the C library that Python has no names for."""

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> None:
    """Call a function that returns 0 when all is well. Raises OSError."""
    if getattr(_libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), name)
