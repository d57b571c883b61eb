"""A limit to memory while something is read."""

import resource
from pathlib import Path

import pytest

from harness.system.memory import bounded_memory
from harness.system.untrusted import UnreadableFileError


def test_what_takes_too_much_is_a_file_that_cannot_be_read() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with bounded_memory(Path("x.har"), 2**30):
        assert len(bytes(2**28)) == 2**28
    said = r"^x\.har:1: cannot be read \(it takes more than 0\.25 GB of memory\)$"
    with pytest.raises(UnreadableFileError, match=said), bounded_memory(Path("x.har"), 2**28):
        bytes(2**30)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_stricter_limit_of_the_user_holds() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    mine = 2**42
    resource.setrlimit(resource.RLIMIT_AS, (mine, before[1]))
    try:
        with bounded_memory(Path("x"), 2**50):
            assert resource.getrlimit(resource.RLIMIT_AS)[0] == mine
        assert resource.getrlimit(resource.RLIMIT_AS)[0] == mine
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
