"""Fetching a second time, from the test internet: the bytes on the wire, the right CA, and an end to everything."""

import dataclasses
import gzip
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import trustme

from harness.files.hack_dns import read_hack_dns
from harness.netlog.load import HttpTransaction, read_netlog
from harness.record.refetch import BodyLimits, Refetcher
from tests.support.internet.server import NGINX, Internet
from tests.support.internet.site import API, CDN, EXPIRED, HOME, MEDIA
from tests.support.made_netlog import MadeNetLog

pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")


@pytest.fixture
def again(internet: Internet) -> Iterator[Refetcher]:
    with closing(Refetcher(read_hack_dns(internet.remap), internet.ca, BodyLimits(seconds=2, size=1_000_000))) as again:
        yield again


@pytest.fixture
def asked(tmp_path: Path) -> HttpTransaction:
    """A request as Chrome sent it, but for its URL."""
    log = MadeNetLog()
    log.begin("http://a.test/", h2=True)
    log.head("200 OK")
    log.end()
    return dataclasses.replace(
        read_netlog(log.write(tmp_path / "netlog.json")).transactions[0], request_headers=(
            (":method", "GET"), (":authority", "x"), ("accept-encoding", "gzip, br"), ("range", "bytes=0-"),
            ("if-modified-since", "Sat, 21 Nov 2099 09:52:54 GMT"), ("cookie", "seen=1")))


def test_bodies_come_as_on_the_wire(internet: Internet, again: Refetcher, asked: HttpTransaction) -> None:
    for url, decode in ((f"http://{HOME}/gzip.js", gzip.decompress), (f"https://{CDN}/brotli.css", bytes),
                        (f"http://{HOME}/chunked.js", bytes), (f"https://{MEDIA}/small1.png#part", bytes)):
        fetched = again.fetch(dataclasses.replace(asked, url=url))
        assert (fetched.error, fetched.status) == ("", 200)
        host, _, path = url.partition("//")[2].partition("#")[0].partition("/")
        assert decode(fetched.body) == internet.hosts[host].files[f"/{path}"].body


def test_chromes_headers_are_sent_and_redirects_are_not_followed(again: Refetcher, asked: HttpTransaction) -> None:
    assert again.fetch(dataclasses.replace(asked, url=f"http://{HOME}/cookie")).body == b"<p>you came back</p>"
    fetched = again.fetch(dataclasses.replace(asked, url=f"http://{HOME}/hop1.png"))
    assert fetched.status == 302
    assert ("Location", "/hop2.png") in fetched.headers


@pytest.mark.parametrize(("url", "error"), [
    (f"https://{EXPIRED}/x.png", "SSLError"), ("http://elsewhere.test/", "not in the remap file"),
    (f"https://{API}:8443/", "not in the remap file"), (f"https://{MEDIA}/big.png", "over 1000000 bytes"),
    (f"https://{API}/hanging", "ReadTimeout"), (f"https://{API}/stream", "takes over 2 s")])
def test_what_cannot_be_fetched_ends_with_the_reason(again: Refetcher, asked: HttpTransaction, url: str,
                                                     error: str) -> None:
    began_s = time.monotonic()
    fetched = again.fetch(dataclasses.replace(asked, url=url))
    assert fetched.error == error
    assert fetched.body == b""
    assert time.monotonic() - began_s < 10


def test_no_other_ca_is_trusted(internet: Internet, asked: HttpTransaction, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    with closing(Refetcher(read_hack_dns(internet.remap), tmp_path / "other.pem")) as refetcher:
        assert refetcher.fetch(dataclasses.replace(asked, url=f"https://{CDN}/brotli.css")).error == "SSLError"
