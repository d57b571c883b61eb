"""What an archive answers for URLs that it does not have: by the rules of the replay (harness.mirror)."""

import gzip
from collections.abc import Callable
from functools import partial

import pytest

from harness.record.sources.answers import Index
from harness.record.sources.archived import ArchivedRequest
from harness.record.sources.source import IndexedSource
from tests.support.served_archive import ask, recorded, serving

OLD, NEW = "jQuery1710897272563772276_1363139394945", "jQuery1710123456789012345_1363348800000"
DATA = "http://api.test/library?command=find&callback="
SCRIPT = b'({"items": [1]});'


@pytest.mark.parametrize(("coding", "encode"), [("", bytes), ("gzip", partial(gzip.compress, mtime=0))])
def test_a_script_calls_the_function_that_is_asked_for(coding: str, encode: Callable[[bytes], bytes]) -> None:
    """nytimes.com of 2013 shows its films so: without them its page lacked 44 of 204 requests."""
    headers = (("Content-Type", "text/javascript"), *((("Content-Encoding", coding),) if coding else ()))
    with serving(recorded(200, encode(OLD.encode() + SCRIPT), *headers, url=DATA + OLD)) as server:
        (status, body, _), _ = ask(server, url=DATA + NEW)
        assert (status, gzip.decompress(body) if coding else body) == (200, NEW.encode() + SCRIPT)
        (_, body, _), _ = ask(server, url=DATA + OLD)
        assert body == encode(OLD.encode() + SCRIPT)


@pytest.mark.parametrize(("asked", "got"), [
    ("/list?id=2&size=small", b"second"),       # most parameters in common
    ("/list?id=3&size=bigger&new=1", b"first"), # then the most names and characters
    ("/photo-1024x768.jpg", b"photo"),
    ("/js/jquery-1.9.js", None)])
def test_what_is_most_alike_stands_in(asked: str, got: bytes | None) -> None:
    entries = [recorded(200, body, url=f"http://a.test{url}") for url, body in (
        ("/list?id=1&size=big", b"first"), ("/list?id=2&size=big", b"second"), ("/photo-300x200.jpg", b"photo"),
        ("/js/jquery-1.8.js", b"version"))]
    with serving(*entries) as server:
        (status, body, _), _ = ask(server, url=f"http://a.test{asked}")
    assert (status, body) == ((200, got) if got else (404, b""))


@pytest.mark.parametrize(("scheme", "location"), [
    ("https", "https://a.test/x"), ("https", "HTTPS://A.test:443/x#top"), ("http", "http://a.test/x")])
def test_a_redirect_to_another_scheme_does_not_answer_there(scheme: str, location: str) -> None:
    """Where an archive lacks the end (its body lies in another file, say), Chrome was led to it 20 times, in vain."""
    other = "http" if scheme == "https" else "https"
    source = IndexedSource("made", Index([recorded(301, b"", ("Location", location), url=f"{other}://a.test/x")]))
    answers = [source.find(ArchivedRequest("GET", f"{asked}://a.test/x", by_page=True)) for asked in (other, scheme)]
    assert [answer and answer.status for answer in answers] == [301, None]
