"""A program that sudo started is the user who typed it, among that user's files, and root for a few statements."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.system.privileges import User, as_root
from tests.support.ordinary import acting_as
from tests.support.ran import ran

pytestmark = pytest.mark.root
ALICE = User("alice", 1234, 4321)


def test_acting_as_a_user_it_goes_only_where_the_user_may(open_to_all: Path) -> None:
    (open_to_all / "of_root").write_text("secret")
    (open_to_all / "of_root").chmod(0o600)
    (open_to_all / "hers").mkdir()
    os.chown(open_to_all / "hers", 1234, 4321)
    (open_to_all / "hers" / "link").symlink_to(open_to_all / "of_root")
    with acting_as(ALICE):
        (open_to_all / "hers" / "made").touch()
        for path, mode in ((open_to_all / "hers" / "link", os.O_RDONLY),
                           (open_to_all / "hers" / "link", os.O_WRONLY | os.O_TRUNC),
                           (open_to_all / "elsewhere", os.O_WRONLY | os.O_CREAT)):
            with pytest.raises(PermissionError):
                os.open(path, mode)
        with as_root():
            assert (open_to_all / "of_root").read_text() == "secret"
        with pytest.raises(PermissionError):
            (open_to_all / "of_root").read_text()
    assert (open_to_all / "hers" / "made").stat().st_uid == 1234


def test_what_a_user_starts_is_the_users_and_what_root_starts_is_roots() -> None:
    ids = ["sh", "-c", "grep -E '^(Uid|Gid)' /proc/self/status"]
    with acting_as(ALICE):
        hers = ran(*ids, status=0).stdout.split()
        with as_root():
            roots = ran(*ids, status=0).stdout.split()
    assert hers == ["Uid:", *["1234"] * 4, "Gid:", *["4321"] * 4]
    assert roots == ["Uid:", *["0"] * 4, "Gid:", *["0"] * 4]


def test_one_thread_is_root_and_another_is_not() -> None:
    """Files are opened by one of them while the other is among network namespaces."""
    with acting_as(ALICE), ThreadPoolExecutor(1) as other:
        with as_root():
            assert other.submit(os.geteuid).result() == 0, "who is started by root is root"
        with ThreadPoolExecutor(1) as hers:
            assert hers.submit(os.geteuid).result() == 1234
            with as_root():
                assert (os.geteuid(), hers.submit(os.geteuid).result()) == (0, 1234)
