"""fetch.py against the test internet: what Chrome got is in the recording, byte for byte, whatever the page does."""

import functools
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import brotli  # type: ignore[import-untyped]
import pytest

from harness.files.hosts import read_hack_dns
from harness.files.pages import sanitise
from harness.files.text_log import read_log
from harness.files.urls import is_asked_by_browser
from harness.mirror.recording import read_recording
from tests.support.fetched import fetch, tree
from tests.support.har_schema import assert_har
from tests.support.internet import app, site
from tests.support.internet.recorded import NAME, copy_of_the_recording
from tests.support.internet.server import NGINX, Internet
from tests.support.internet.site import API, APP, CDN, CLASSIC, EXPIRED, HOME, LOGIN, MEDIA, MODERN, ODD, RUDE

pytestmark = [pytest.mark.chrome, pytest.mark.slow,
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
GIVEN_UP = 499
"""What nginx logs of a request whose client left before the answer."""
NOT_LOGGED = {f"https://{API}/hanging", f"https://{EXPIRED}/x.png"}
"""What nginx logs as 499 at best, or never sees as a request."""


@dataclass(frozen=True)
class Recorded:
    """One recording, and what the servers say they were asked for it."""

    directory: Path
    output: str
    asked: frozenset[str]

    def har(self, url: str) -> list[dict[str, Any]]:
        """Return the entries of a page's HAR."""
        return entries_of(self.directory / f"{NAME}.fetchlog" / f"{sanitise(url)}.har")

    def entries(self) -> list[dict[str, Any]]:
        """Return those of all pages, but for WebSockets."""
        return [entry for page in site.RECORDED for entry in self.har(page)
                if entry["request"]["url"].startswith("http")]

    def find(self, url: str, method: str = "GET", status: int | None = None) -> dict[str, Any]:
        """Return the first entry of this URL with this method and status (None: any)."""
        return next(entry for entry in self.entries() if entry["request"]["url"] == url
                    and entry["request"]["method"] == method and status in (None, entry["response"]["status"]))

    def file(self, entry: dict[str, Any]) -> Path:
        """Return where an entry's body is."""
        return self.directory / NAME / str(entry["_file"])

    def body(self, entry: dict[str, Any]) -> bytes:
        """Return an entry's body, decoded."""
        return DECODERS[header(entry, "content-encoding")](self.file(entry).read_bytes())


@functools.cache
def entries_of(har: Path) -> list[dict[str, Any]]:
    """Return a HAR's entries; it is checked once, which takes a while."""
    return list(assert_har(har)["entries"])


DECODERS: dict[str, Callable[[bytes], bytes]] = {"": bytes, "gzip": gzip.decompress, "br": brotli.decompress}


def header(entry: dict[str, Any], wanted: str, side: str = "response") -> str:
    return next((str(pair["value"]) for pair in entry[side]["headers"] if pair["name"].lower() == wanted), "")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    copy = copy_of_the_recording(tmp_path_factory.mktemp("recorded"), tmp_path_factory)
    return Recorded(copy.directory, copy.output, copy.asked)


def was_given_up(entry: dict[str, Any]) -> bool:
    """Say whether Chrome took a request back: a page that loads itself again may do so with its first images.

    An icon may still be on its way when the page's window is closed.
    """
    aborted = entry.get("_error") == "net::ERR_ABORTED" or is_asked_by_browser(entry["request"]["url"])
    return not entry["response"]["status"] and aborted


def test_everything_the_servers_answered_is_recorded_and_nothing_else(recorded: Recorded) -> None:
    heard = {f"{entry['request']['method']} {entry['request']['url']} {entry['response']['status']}"
             for entry in recorded.entries() if entry["request"]["url"] not in NOT_LOGGED and not was_given_up(entry)}
    heard.discard(f"GET https://{CDN}/font.ttf 0")      # Chrome's own look into its cache
    asked = {line for line in recorded.asked if line.split()[1] not in NOT_LOGGED and "/socket" not in line
             and not line.endswith(f" {GIVEN_UP}")}
    assert heard == asked


def test_bodies_are_what_the_servers_hold(recorded: Recorded, internet: Internet) -> None:
    compared = 0
    for entry in recorded.entries():
        parts = urlsplit(entry["request"]["url"])
        served = internet.hosts[parts.hostname or ""].files.get(parts.path)
        if served is None or entry["response"]["status"] != 200 or entry.get("_partial") or (
                header(entry, "hx-request", "request")):
            continue
        sent_encoded = any("Content-Encoding" in option for option in served.options)
        body = recorded.file(entry).read_bytes() if sent_encoded else recorded.body(entry)
        assert body == served.body, entry["request"]["url"]
        compared += 1
    assert compared > 30
    big = recorded.find(f"https://{MEDIA}/big.png")
    assert recorded.file(big).stat().st_size > 5_000_000


def test_files_have_the_size_that_came_over_the_wire(recorded: Recorded) -> None:
    for entry in recorded.entries():
        response = entry["response"]
        of_a_part = response["status"] == 206       # which Chrome asked for; the file is the whole
        if response["bodySize"] > 0 and not entry.get("_fromCache") and not of_a_part:
            assert recorded.file(entry).stat().st_size == response["bodySize"], entry["request"]["url"]
    zipped = recorded.find(f"http://{HOME}/gzip.js")
    assert zipped["response"]["content"]["size"] > 2 * recorded.file(zipped).stat().st_size
    assert header(recorded.find(f"http://{HOME}/chunked.js"), "transfer-encoding") == "chunked"


def test_protocols_and_addresses(recorded: Recorded, internet: Internet) -> None:
    addresses = {remap.host: remap.address for remap in read_hack_dns(internet.remap)}
    for entry in recorded.entries():
        if not entry["response"]["status"] or entry.get("_fromCache"):
            continue
        parts = urlsplit(entry["request"]["url"])
        is_h2 = parts.scheme == "https" and parts.hostname not in site.ONLY_HTTP_1
        assert entry["response"]["httpVersion"] == ("h2" if is_h2 else "HTTP/1.1"), entry["request"]["url"]
        assert entry["serverIPAddress"] == addresses[parts.hostname or ""]


TOLD: dict[str, Callable[[Recorded, dict[str, Any]], object]] = {
    "status": lambda _, entry: entry["response"]["status"], "to": lambda _, entry: entry["response"]["redirectURL"],
    "body": lambda recorded, entry: recorded.body(entry).decode(), "file": lambda _, entry: entry["_file"],
    "posted": lambda _, entry: entry["request"].get("postData", {}).get("text"),
    "partial": lambda _, entry: entry.get("_partial"), "error": lambda _, entry: entry.get("_error"),
    "coding": lambda _, entry: header(entry, "content-encoding"),
    "length": lambda _, entry: header(entry, "content-length")}
"""What fetched.jsonl says of an exchange, by its URL and method: of scripts, workers, frames, posts, redirects, and of
what never ended."""


def test_what_pages_asked_for_in_their_own_ways(recorded: Recorded) -> None:
    rows = [json.loads(line) for line in Path(__file__).with_name("fetched.jsonl").read_text().splitlines()]
    for row in rows:
        entry = recorded.find(row["url"], row.pop("method", "GET"))
        assert {"url": row["url"]} | {name: TOLD[name](recorded, entry) for name in row if name != "url"} == row
    inserted = [entry["request"]["url"] for entry in recorded.har(CLASSIC) if "/inserted.js" in entry["request"]["url"]]
    assert len(inserted) == 1
    assert re.search(r"now=1363348800000&r=0\.\d+$", inserted[0]), inserted
    log = read_log(recorded.directory / f"{NAME}.fetchlog" / sanitise(CLASSIC))
    redirects = {response.url: (response.status, response.redirect_url) for response in log.responses
                 if response.redirect_url}
    assert redirects[f"http://{MEDIA}/away.png"] == ("See Other", f"https://{MEDIA}/small1.png")
    assert redirects[f"http://{HOME}/hop1.png"] == ("Moved Temporarily", f"http://{HOME}/hop2.png")


def test_an_application(recorded: Recorded) -> None:
    """Answers of one URL are kept apart: by what was posted, by a header, by what was a navigation."""
    posted = {entry["request"]["postData"]["text"]: recorded.body(entry) for entry in recorded.har(APP)
              if entry["request"]["method"] == "POST"}
    for name in ("first", "second"):
        body = next(body for text, body in posted.items() if name in text)
        assert body == f'{{"data": {{"picture": "/picture-{name}.png"}}}}'.encode()
    whole, part = (entry for entry in recorded.har(APP) if entry["request"]["url"] == APP)
    assert (recorded.body(whole), recorded.body(part)) == (app.document(), app.fragment())
    assert whole["_file"] == f"{CDN}/app"
    assert header(part, "hx-request", "request") == "true"
    for number in range(1, app.MODULES + 1):
        assert recorded.body(recorded.find(f"https://{CDN}/m{number}.js")) == app.module(number)


def test_the_rude_page(recorded: Recorded) -> None:
    statuses = [entry["response"]["status"] for entry in recorded.har(RUDE) if entry["request"]["url"] == RUDE]
    assert statuses in ([200, 304], [200, 200])         # it loaded itself anew
    stream = recorded.find(f"https://{API}/stream")
    assert recorded.file(stream).stat().st_size == stream["response"]["bodySize"]
    expired = [entry for entry in recorded.har(RUDE) if entry["request"]["url"] == f"https://{EXPIRED}/x.png"]
    assert expired[-1]["_error"].startswith("net::ERR_CERT_")
    assert not any("popup" in entry["request"]["url"] for entry in recorded.entries())


def test_logs_and_manifest_are_what_the_other_programs_read(recorded: Recorded) -> None:
    fetchlog = recorded.directory / f"{NAME}.fetchlog"
    recording = read_recording(recorded.directory / NAME, fetchlog)
    assert recording.problems == []
    assert not recording.manifest.synthetic
    for url in site.RECORDED:
        assert recording.document(url) == (url.replace("http:", "https:") if url == site.SECURE else url)
        log = read_log(fetchlog / sanitise(url))
        assert log.problems == []
        assert log.transactions_whole
        assert log.transactions == sorted(log.transactions, key=lambda transaction: transaction.end_ms)
        assert min(transaction.start_ms for transaction in log.transactions) == pytest.approx(0, abs=1)
    manifest = json.loads((fetchlog / "manifest.json").read_text())
    assert (manifest["format"], manifest["source"]) == (2, "recorded")
    assert [page["url"] for page in manifest["pages"]] == list(site.RECORDED)


def test_recorded_again_in_parts_the_mirror_is_the_same(internet: Internet, recorded: Recorded, tmp_path: Path) -> None:
    fetch(internet, tmp_path, [CLASSIC, ODD, APP], status=0)
    second = fetch(internet, tmp_path, [CLASSIC, ODD, APP, MODERN], "--append", status=0)
    assert "[  1/1]" in second.stdout
    third = fetch(internet, tmp_path, [CLASSIC, ODD, APP, MODERN], "--append")
    assert (third.returncode, "recorded already" in third.stdout) == (0, True)
    before = tree(recorded.directory / NAME)
    again = tree(tmp_path / NAME)
    assert again == {name: before[name] for name in again}
    of_other_pages = (f"{API}/", f"{LOGIN}/", f"{CDN}/secure")
    assert {name for name in before.keys() - again.keys() if not name.startswith(of_other_pages)} == set()
    manifest = json.loads((tmp_path / f"{NAME}.fetchlog" / "manifest.json").read_text())
    assert [page["url"] for page in manifest["pages"]] == [CLASSIC, ODD, APP, MODERN]
