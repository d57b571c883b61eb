"""What holds for every test of connie: it closes its sockets itself, whatever becomes of a connect."""

import gc
import warnings
from collections.abc import Iterator

import pytest

from tests.support.connie_hosts import names

__all__ = ["names"]


@pytest.fixture(autouse=True)
def no_socket_is_closed_only_because_it_is_forgotten() -> Iterator[None]:
    """One that is garbage and still open is an error then (pyproject.toml: PytestUnraisableExceptionWarning)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        yield
        gc.collect()
