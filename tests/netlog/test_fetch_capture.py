"""Bodies out of a net-log."""

import gzip
from pathlib import Path

import pytest

from harness.errors import ExperimentError
from tests.support.made_netlog import MadeNetLog
from tests.support.read_netlogs import bodies_in


def test_bodies_come_by_request_and_hop(tmp_path: Path) -> None:
    log = MadeNetLog()
    log.request("http://a.test/", "200 OK", b"page")
    log.begin("http://a.test/old")
    log.head("302 Found", "Location: /new")
    log.add("URL_REQUEST_REDIRECTED", location="http://a.test/new")
    log.job("http://a.test/new")
    log.head("200 OK")
    log.body(b"in ", b"two ", b"parts")
    log.end()
    log.request("http://a.test/empty", "204 No Content")
    bodies = bodies_in(log.write(tmp_path / "netlog.json"))
    assert {key: body.wire for key, body in bodies.items()} == {(1, 0): b"page", (2, 1): b"in two parts"}


def test_the_wire_has_the_encoded_bytes(tmp_path: Path) -> None:
    log = MadeNetLog()
    log.begin("http://a.test/")
    log.head("200 OK", "Content-Encoding: gzip")
    packed = gzip.compress(b"text" * 100)
    log.body(packed[:10], packed[10:], decoded=b"text" * 100)
    log.end()
    body = bodies_in(log.write(tmp_path / "netlog.json"))[1, 0]
    assert (body.wire, bytes(body.decoded)) == (packed, b"text" * 100)


def test_what_came_before_a_second_sending_is_void(tmp_path: Path) -> None:
    log = MadeNetLog()
    log.begin("http://a.test/")
    log.body(b"half")
    log.add("HTTP_TRANSACTION_SEND_REQUEST", 1)
    log.head("200 OK")
    log.body(b"whole")
    log.end()
    assert bodies_in(log.write(tmp_path / "netlog.json"))[1, 0].wire == b"whole"


def test_a_log_that_is_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    log = MadeNetLog()
    log.request("http://a.test/", "200 OK", b"page")
    log.request("http://a.test/x", "200 OK", b"x" * 1000)
    path = log.write(tmp_path / "netlog.json")
    text = path.read_text()
    counts: set[int] = set()
    for length in range(0, len(text), 97):
        path.write_text(text[:length])
        found = {key: body.wire for key, body in bodies_in(path).items()}
        assert found.items() <= {(1, 0): b"page", (2, 0): b"x" * 1000}.items()
        counts.add(len(found))
    assert counts == {0, 1, 2}, "the later it is cut off, the more it has"


def test_a_log_without_bytes_has_no_bodies(tmp_path: Path) -> None:
    log = MadeNetLog()
    log.begin("http://a.test/")
    log.add("URL_REQUEST_JOB_FILTERED_BYTES_READ", byte_count=5)
    assert bodies_in(log.write(tmp_path / "netlog.json")) == {}
    (tmp_path / "other").write_bytes(b"\xff\x00 not a net-log\n{\n")
    assert bodies_in(tmp_path / "other") == {}
    with pytest.raises(ExperimentError, match="no net-log"):
        bodies_in(tmp_path / "none")
