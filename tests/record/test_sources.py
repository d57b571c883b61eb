"""What others recorded, read into exchanges, and which of them a request gets.

What is read of single files: tests/corpus/sources; lists of pages that are made of them: tests/corpus/texts.jsonl.
"""

import threading
from pathlib import Path
from tempfile import TemporaryFile

import requests
from hypothesis import given
from hypothesis import strategies as st

from harness.files.exchange import Answer, Exchange, Request
from harness.record.sources.body import NOISE, with_body
from harness.record.sources.served import ServedSource
from harness.system.background import call_forked
from tests.support.made_warc import write_warc
from tests.support.read_source import read_source

PAGE, OK = "http://a.test/", "HTTP/1.1 200 OK"


def test_each_page_gets_its_own_answers(tmp_path: Path) -> None:
    """Two pages count their visits under one URL; the second one is loaded twice, and asks once more than the first."""
    other, count = f"{PAGE}other", f"{PAGE}count"
    path = write_warc(tmp_path / "x.warc", *(("response", url, OK, [], body) for url, body in (
        (PAGE, b"page"), (count, b"1"), (f"{PAGE}shared", b"both"), (other, b"other"), (count, b"2"), (count, b"3"))))
    source = read_source(path, wanted=[PAGE, other])
    for url, answers in ((PAGE, [b"1", b"1"]), (other, [b"2", b"3", b"3"]), (other, [b"2", b"3"]), (PAGE, [b"1"])):
        source.begin_page(url)
        assert [source.answer_body(count) for _ in answers] == answers
        assert source.answer_body(f"{PAGE}shared") == b"both"


def test_no_thread_answers_before_it_is_told_to_nor_afterwards(tmp_path: Path) -> None:
    """Chrome's visit is forked in between: a fork beside threads can take a lock along that nobody opens."""
    source = read_source(write_warc(tmp_path / "x.warc", ("response", PAGE, OK, [], b"page")))

    def answer() -> int:
        served = ServedSource(source.brought, source.directory)
        for page in "xy":
            with served.listening(page) as (rules, serve):
                assert threading.active_count() == 1
                serve()
                address = rules.split(",")[0].rpartition(" ")[2]
                got = requests.get(f"http://{address}/", headers={"Host": "a.test", "Connection": "close"}, timeout=600)
                assert got.content == b"page"
            assert threading.active_count() == 1
        return 0

    with TemporaryFile() as errors:
        status = call_forked(answer, "answers", errors, 600)
        errors.seek(0)
        assert (status, errors.read()) == (0, b"")


def test_another_query_gets_no_answer_to_this_one(tmp_path: Path) -> None:
    post = "POST / HTTP/1.1"
    source = read_source(write_warc(
        tmp_path / "x.warc", ("request", PAGE, post, [], b'{"query": "names"}'), ("response", PAGE, OK, [], b"all"),
        ("request", PAGE, post, [], b'{"query": "at", "t": 1363139394945}'), ("response", PAGE, OK, [], b"one")))
    queries = (b'{"query": "names"}', b'{"query": "at", "t": 1785000000000}', b'{"query": "other"}')
    assert [source.answer_body(PAGE, "POST", query) for query in queries] == [b"all", b"one", None]


@given(st.binary(max_size=200), st.sampled_from(["text/css", "image/png", ""]), st.integers(-1, 400),
       st.integers(0, 400), st.booleans())
def test_any_body_is_read_or_is_noise(body: bytes, kind: str, sent: int, size: int, is_decoded: bool) -> None:
    exchange = Exchange(request=Request("GET", PAGE), answer=Answer(200, mime_type=kind))
    found = with_body(exchange, body, "gzip, br", sent, size=size, is_decoded=is_decoded)
    assert (found.error == NOISE) != isinstance(found.answer.content, bytes)
