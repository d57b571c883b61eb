"""The replay servers' logs: a request is a line, whatever it holds; of what grew while a load ran only that is read."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.server_log import (
    FOUND,
    HEADER,
    Early,
    RequestLog,
    ServerRequest,
    ends_of_logs,
    format_request,
    read_server_log,
    read_server_logs,
)
from harness.system.untrusted import LARGEST_FILE, UnreadableFileError

REQUEST = ServerRequest("a.test", 1700000000.25, 3, 2, "GET", "/x?y", 200, 9500, "plain", True, "https", "h2", 0.25,
                        "0123456789ab", Early.DATA, True)
LINE = "1700000000.250000\t3\t2\tGET\t/x?y\t200\t9500\tplain\t1\thttps\th2\t0.250\t0123456789ab\tdata\t1\n"


def test_only_what_is_new_in_the_logs_is_read_in_order_of_time(tmp_path: Path) -> None:
    later, log = ServerRequest("a.test", 1700000002.0, 4, 0, "-", "-", 0, 0, "silent", False), tmp_path / "a.test"
    other = ServerRequest("b.test", 1700000001.5, 1, 1, "POST", "/", 404, 21, "missing", False)
    assert format_request(REQUEST) == LINE
    log.write_text(HEADER + LINE)
    before = ends_of_logs(tmp_path)
    assert read_server_logs(tmp_path, before) == []
    log.write_text(HEADER + LINE + LINE[:40] + "\nx\n" + format_request(later))
    (tmp_path / "b.test").write_text(HEADER + format_request(other))
    assert read_server_logs(tmp_path, {}) == [REQUEST, other, later], "without what was cut short"
    assert read_server_logs(tmp_path, before) == [other, later]
    log.write_text(format_request(later))
    assert read_server_log(log, before[log]) == [later], "begun anew: all of it is new"
    os.truncate(log, LARGEST_FILE + 1)
    before = ends_of_logs(tmp_path)
    with log.open("a") as grown:
        grown.write(LINE)
    assert read_server_logs(tmp_path, before) == [REQUEST], "of a log that has grown large"
    with pytest.raises(UnreadableFileError):
        read_server_logs(tmp_path, {})
    assert read_server_logs(tmp_path / "nothing", ends_of_logs(tmp_path / "nothing")) == []


def test_what_is_no_file_is_refused_and_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("fifo", "link"):
        with pytest.raises(OSError, match=rf"/{name}\b"):
            RequestLog(tmp_path / name)
    assert not (tmp_path / "elsewhere").exists()


@given(st.text(min_size=1), st.text(min_size=1), st.sampled_from(sorted(FOUND)))
def test_no_request_breaks_its_line(method: str, path: str, found: str) -> None:
    line = format_request(ServerRequest("a.test", 1.0, 1, 1, method, path, 200, 1, found, False))
    assert [line.count("\n"), len(line.splitlines()), len(line.split("\t"))] == [1, 1, 15]
    line.encode("utf-8")
