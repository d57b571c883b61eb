"""Parts of bodies that others recorded: what a player of videos gets while the page is imported."""

from dataclasses import replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from harness.record.sources.answers import Entry
from tests.support.served_archive import FILM, ask, recorded, serving

BODY = b"0123456789"
RANGES = (("Accept-Ranges", "bytes"), ("Content-Type", "video/mp4"))


def part(first: int, end: int, total: str = "10") -> Entry:
    return recorded(206, BODY[first:end], ("Content-Range", f"bytes {first}-{end - 1}/{total}"), *RANGES)


def test_a_whole_body_is_sliced() -> None:
    with serving(recorded(200, BODY, ("Content-Length", "10"), *RANGES)) as server:
        got, noted = ask(server, "bytes=2-4")
        assert got == (206, b"234", "bytes 2-4/10")
        assert dict(noted) == {**dict(RANGES), "Content-Range": "bytes 2-4/10"}, "the recording says what it has"
        assert ask(server, "bytes=10-")[0] == (416, b"", "bytes */10")
        assert ask(server)[0] == ask(server, "lines=1-2")[0] == (200, BODY, None)
        assert ask(server, "bytes=2-4", "HEAD")[0] == (200, b"", None)


@pytest.mark.parametrize("told", ["12345", ""])
def test_a_head_gets_what_a_head_got(told: str) -> None:
    """Maps and databases that are read in parts ask so how large they are."""
    headers = (("Content-Length", told),) if told else ()
    head = replace(recorded(200, b"", *headers, ("X-Of", "HEAD")), method="HEAD")
    with serving(head) as server:
        (status, _, _), noted = ask(server, method="HEAD")
        assert (status, dict(noted)["X-Of"]) == (200, "HEAD"), "there was no GET"
    with serving(recorded(200, BODY, ("X-Of", "GET")), head) as server:
        assert [dict(ask(server, method=method)[1])["X-Of"] for method in ("HEAD", "GET")] == ["HEAD", "GET"]
        port = int(server.rules.partition("127.0.0.1:")[2].partition(",")[0])
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("HEAD", urlsplit(FILM).path, headers={"Host": "a.test"})
        assert (connection.getresponse().headers["Content-Length"] or "") == told
        connection.close()


@pytest.mark.parametrize("path", ["//x", "/a//x", "//"])
def test_two_slashes_are_no_single_one(path: str) -> None:
    """http.server makes /x of //x."""
    with serving(recorded(200, BODY, url=f"http://a.test{path}")) as server:
        assert ask(server, url=f"http://a.test{path}")[0][:2] == (200, BODY)
        assert ask(server, url="http://a.test/x")[0][0] == 404


def test_a_site_that_knew_no_ranges_sends_everything() -> None:
    with serving(recorded(200, BODY, RANGES[1])) as server:
        assert ask(server, "bytes=2-4")[0] == (200, BODY, None)


def test_of_parts_the_one_that_holds_what_is_asked_for_answers() -> None:
    with serving(part(0, 3), part(8, 10), part(2, 6)) as server:
        assert ask(server, "bytes=8-")[0] == (206, b"89", "bytes 8-9/10")
        assert ask(server, "bytes=0-")[0] == (206, b"012", "bytes 0-2/10")
        got, noted = ask(server, "bytes=2-3")
        assert got == (206, b"23", "bytes 2-3/10")
        assert dict(noted)["Content-Range"] == "bytes 2-3/10"
        assert ask(server, "bytes=-1")[0] == (206, b"9", "bytes 9-9/10")


@pytest.mark.parametrize("asked", ["bytes=6-", "bytes=10-", ""])
def test_what_no_part_holds_is_not_in_the_archive(asked: str) -> None:
    with serving(part(0, 3), part(8, 10)) as server:
        assert ask(server, asked)[0] == (404, b"", None)


def test_a_part_that_does_not_say_which_is_sent_as_it_is() -> None:
    with serving(recorded(206, b"--x\r\n", ("Content-Type", "multipart/byteranges; boundary=x"))) as server:
        assert ask(server, "bytes=0-1,4-5")[0] == (206, b"--x\r\n", None)


def test_of_an_unknown_size_what_came_is_all_there_is() -> None:
    with serving(part(0, 4, "*")) as server:
        assert ask(server, "bytes=1-")[0] == (206, b"123", "bytes 1-3/4")
