"""fetch.py against the test internet: what Chrome got is in the recording, byte for byte, whatever the page does."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.files.encoding import decode
from harness.files.exchange import ABORTED, Exchange
from harness.files.har_entry import from_har
from harness.files.hosts import read_hack_dns
from harness.files.pages import sanitise
from harness.files.text_log import read_log
from harness.files.urls import is_asked_by_browser
from harness.mirror.recording import read_recording
from tests.support.har_schema import assert_har
from tests.support.internet import site
from tests.support.internet.recorded import NAME, copy_of_the_recording, fetch, tree
from tests.support.internet.server import NEEDS_NGINX, Internet
from tests.support.internet.site import API, CDN, CLASSIC, EXPIRED
from tests.support.noted import cases

pytestmark = [pytest.mark.chrome, pytest.mark.slow, NEEDS_NGINX]
GIVEN_UP = 499
"""What nginx logs of a request whose client left before the answer."""
NOT_LOGGED = {f"https://{API}/hanging", f"https://{EXPIRED}/x.png"}
"""What nginx logs as 499 at best, or never sees as a request."""


@dataclass(frozen=True)
class Recorded:
    """One recording, its exchanges by page, and what the servers say they were asked for it."""

    directory: Path
    pages: dict[str, list[Exchange]]
    asked: frozenset[str]

    def each(self) -> list[Exchange]:
        """Return the exchanges of all pages, but WebSockets."""
        return [each for exchanges in self.pages.values() for each in exchanges if each.answer.messages is None]

    def find(self, url: str, method: str = "GET") -> Exchange:
        """Return the first exchange of this URL with this method."""
        return next(each for each in self.each() if (each.request.url, each.request.method) == (url, method))

    def file(self, exchange: Exchange) -> Path:
        """Return where a body is."""
        assert exchange.answer.body is not None
        return self.directory / NAME / exchange.answer.body.file

    def body(self, exchange: Exchange) -> bytes:
        """Return a body, decoded."""
        return decode(self.file(exchange).read_bytes(), exchange.answer.header("content-encoding"))[0]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Check that HARs are some by HAR's schema, and read them."""
    directory = tmp_path_factory.mktemp("recorded")
    asked = copy_of_the_recording(directory, tmp_path_factory)
    hars = {url: directory / f"{NAME}.fetchlog" / f"{sanitise(url)}.har" for url in site.RECORDED}
    pages = {url: [*map(from_har, assert_har(har)["entries"])] for url, har in hars.items()}
    return Recorded(directory, pages, asked)


def was_given_up(exchange: Exchange) -> bool:
    """Say whether Chrome took a request back: a page that loads itself again may do so with its first images.

    An icon may still be on its way when the page's window is closed.
    """
    aborted = exchange.error == ABORTED or is_asked_by_browser(exchange.request.url)
    return not exchange.answer.status and aborted


def test_everything_the_servers_answered_is_recorded_and_nothing_else(recorded: Recorded) -> None:
    heard = {f"{each.request.method} {each.request.url} {each.answer.status}"
             for each in recorded.each() if each.request.url not in NOT_LOGGED and not was_given_up(each)}
    heard.discard(f"GET https://{CDN}/font.ttf 0")      # Chrome's own look into its cache
    asked = {line for line in recorded.asked if line.split()[1] not in NOT_LOGGED and "/socket" not in line
             and not line.endswith(f" {GIVEN_UP}")}
    assert heard == asked
    assert not any("popup" in url for url in heard)


def test_bodies_protocols_and_addresses_are_the_servers(recorded: Recorded, internet: Internet) -> None:
    """Bodies are what the servers hold, and files have the size that came over the wire."""
    addresses = {remap.host: remap.address for remap in read_hack_dns(internet.remap)}
    compared = 0
    for each in recorded.each():
        answer, url = each.answer, each.request.url
        if not answer.status or each.from_cache:
            continue
        parts = urlsplit(url)
        is_h2 = parts.scheme == "https" and parts.hostname not in site.ONLY_HTTP_1
        assert (answer.protocol, each.address) == ("h2" if is_h2 else "HTTP/1.1", addresses[parts.hostname or ""]), url
        if answer.body_bytes > 0 and answer.status != 206:       # of a part, the file is the whole
            assert recorded.file(each).stat().st_size == answer.body_bytes, url
        served = internet.hosts[parts.hostname or ""].files.get(parts.path)
        if served and answer.status == 200 and not answer.partial and not each.request.header("hx-request"):
            sent_encoded = any("Content-Encoding" in option for option in served.options)
            assert (recorded.file(each).read_bytes() if sent_encoded else recorded.body(each)) == served.body, url
            compared += 1
    assert compared > 30


TOLD: dict[str, Callable[[Recorded, Exchange], object]] = {
    "status": lambda _, each: each.answer.status, "to": lambda _, each: each.answer.redirect_url,
    "body": lambda recorded, each: recorded.body(each).decode(), "posted": lambda _, each: each.request.body.decode(),
    "file": lambda _, each: each.answer.body and each.answer.body.file, "partial": lambda _, each: each.answer.partial,
    "error": lambda _, each: each.error, "coding": lambda _, each: each.answer.header("content-encoding"),
    "length": lambda _, each: each.answer.header("content-length"),
    "framing": lambda _, each: each.answer.header("transfer-encoding")}
"""What fetched.jsonl says of an exchange, by its URL and method: of scripts, workers, frames, posts, redirects, and of
what never ended."""


def test_what_pages_asked_for_in_their_own_ways(recorded: Recorded) -> None:
    for row in cases("record/fetched.jsonl"):
        each = recorded.find(row["url"], row.pop("method", "GET"))
        assert {"url": row["url"]} | {name: TOLD[name](recorded, each) for name in row if name != "url"} == row
    [inserted] = [each.request.url for each in recorded.pages[CLASSIC] if "/inserted.js" in each.request.url]
    assert re.search(r"now=1363348800000&r=0\.\d+$", inserted), inserted
    expired = [each.error for each in recorded.each() if each.request.url == f"https://{EXPIRED}/x.png"]
    assert expired[-1].startswith("net::ERR_CERT_")


def test_logs_and_manifest_are_what_the_other_programs_read(recorded: Recorded) -> None:
    fetchlog = recorded.directory / f"{NAME}.fetchlog"
    recording = read_recording(recorded.directory / NAME, fetchlog)
    assert recording.problems == []
    for url in site.RECORDED:
        assert recording.document(url) == (url.replace("http:", "https:") if url == site.SECURE else url)
        log = read_log(fetchlog / sanitise(url))
        assert log.problems == []
        assert log.transactions_whole
        assert min(transaction.start_ms for transaction in log.transactions) == pytest.approx(0, abs=1)
    manifest = json.loads((fetchlog / "manifest.json").read_text())
    assert (manifest["format"], manifest["source"]) == (2, "recorded")
    assert [page["url"] for page in manifest["pages"]] == list(site.RECORDED)


def test_a_page_that_is_added_is_as_if_it_had_been_recorded_with_the_others(
        internet: Internet, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy_of_the_recording(tmp_path, tmp_path_factory)
    before, manifest_file = tree(tmp_path / NAME), tmp_path / f"{NAME}.fetchlog" / "manifest.json"
    manifest = json.loads(manifest_file.read_text())
    manifest["pages"] = [page for page in manifest["pages"] if page["url"] != CLASSIC]
    manifest_file.write_text(json.dumps(manifest))
    done = fetch(internet, tmp_path, [*site.RECORDED], "--append")
    assert "[  1/1]" in done.stdout
    assert tree(tmp_path / NAME) == before
    pages = [page["url"] for page in json.loads(manifest_file.read_text())["pages"]]
    assert pages == [*(url for url in site.RECORDED if url != CLASSIC), CLASSIC]
    assert "recorded already" in fetch(internet, tmp_path, [*site.RECORDED], "--append").stdout
