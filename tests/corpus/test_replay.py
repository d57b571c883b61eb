"""Which recorded answer a request gets: the cases in tests/corpus/replay/, which docs/replay.md's table is made from.

A file is a list of cases. A case has a `name`, may say `why` (a real page, a standard), and has

- `recorded`: what was recorded, in this order: `url` (a path alone is one of https://a.test), and what differs from a
  GET that is answered 200 without a body: `method`, `status` (0: no answer came), `body`, `headers`, `to` (a redirect),
  `by` (what asked for it: BY), `asked` (more of the request's headers), `post` (its body), `page` (which page's log has
  it), and what our HARs say (`_error`, `_partial`, `_fromCache`, `time` in ms, ...). In a case of 2013's format
  (`text_log`) there are `words` instead of a status, and a `type`;
- `files`: files of the mirror, ``host/name``, that no HAR names;
- `requests`, one after the other: `url`, `method`, `by`, `headers`, `post`; `load`: a load of this page begins with it;
  and what it gets: `gets` is the number of the recorded answer, from 1, or the name of a file, or null; `found` how it
  was found (harness.files.server_log.FoundAs), `status`
  (0: it hangs) with which, `waits_ms` for how long first, `to` where it leads, `sends` a body that is not as it was
  recorded, `allows` a preflight's answer.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_replay.py`` writes what requests get from today's
code; read the difference before it is committed. ``.venv/bin/python -m tests.corpus.replay.table`` writes the table.
"""

import os
from math import inf
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.files.text_log import Response
from harness.mirror.asked import Asked, hash_body
from harness.mirror.recording import Recording
from harness.replay.body import Bodies
from harness.replay.match import Request
from harness.replay.reply import Reply, reply_to
from harness.replay.site import Site
from tests.corpus.replay.cases import FILES, read_cases, write_cases
from tests.corpus.replay.table import rows
from tests.support.noted import WRITES
from tests.support.recording import HOST, MadeRecording, text_recording

CASES = [(file, case) for file in FILES for case in read_cases(file)]
BY = {"navigation": {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "accept": "text/html"},
      "fetch": {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "accept": "*/*"},
      "script": {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "script", "accept": "*/*"},
      "image": {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image", "accept": "*/*"}}
"""The headers that Chrome sends with what a page asks for."""
NUMBER = "x-number"
"""A header that says which of the recorded exchanges an answer is."""


def recording_of(case: dict[str, Any], directory: Path) -> Recording:
    """Write and read the recording of a case."""
    if case.get("text_log"):
        responses = [Response(each["words"], each["type"], "", each["url"], each.get("to"))
                     for each in case["recorded"]]
        return text_recording(directory, case.get("files", {}), responses)
    written = MadeRecording(directory)
    for number, exchange in enumerate(case["recorded"], start=1):
        more = dict(exchange)
        headers = [*more.pop("headers", {}).items(), (NUMBER, str(number))]
        asked = BY.get(more.pop("by", ""), {}) | more.pop("asked", {})
        written.add(more.pop("url"), more.pop("body", None), headers, asked=asked, **more)
    for name, text in case.get("files", {}).items():
        (directory / "Web" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "Web" / name).write_text(text)
    return written.read()


def names_of(case: dict[str, Any], recording: Recording) -> dict[str, int]:
    """Return the numbers of the recorded exchanges by the identities of their answers."""
    answers = [answer for answer in recording.each if answer.page]
    urls = [absolute(exchange["url"]).partition("#")[0] for exchange in case["recorded"]]
    return {answer.identity: int(dict(answer.headers or ()).get(NUMBER) or _number(case, urls, answer))
            for answer in answers}


def _number(case: dict[str, Any], urls: list[str], answer: Any) -> int:
    """Return the number of an exchange that has no headers: the first of its URL and page without an answer, or any."""
    return next(number for number, (url, exchange) in enumerate(zip(urls, case["recorded"], strict=True), start=1)
                if url == answer.url and exchange.get("page", "page") == answer.page
                and (case.get("text_log") or not exchange.get("status", 200)))


def absolute(url: str) -> str:
    """Return a URL of a case in full."""
    return url if "://" in url else f"https://{HOST}{url}"


class Replay:
    """The replay of one case's recording, request after request."""

    def __init__(self, case: dict[str, Any], directory: Path, recording: Recording | None = None) -> None:
        self.recording = recording or recording_of(case, directory)
        self._mirror, self._mark = directory / "Web", directory / "mark"
        self._numbers = names_of(case, self.recording)
        if any("load" in request for request in case["requests"]):
            make_mark(self._mark)
            self._load = LoadMark(self._mark)
        else:
            self._load = LoadMark()
        self._sites: dict[tuple[str, str], Site] = {}
        self._texts = [exchange.get("body", "") for exchange in case["recorded"]]

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return what a request gets."""
        if "load" in request:
            mark_load(self._mark, request["load"])
        scheme, _, rest = absolute(request["url"]).partition("://")
        host, slash, path = rest.partition("/")
        if (scheme, host) not in self._sites:
            self._sites[scheme, host] = Site(self.recording, host, scheme, self._load)
        asked = Asked(BY.get(request.get("by", ""), {}) | request.get("headers", {}),
                      hash_body(request.get("post", "").encode()))
        descriptors = {name.name: os.open(name, os.O_PATH) for name in self._mirror.iterdir()}
        try:
            reply = reply_to(self._sites[scheme, host], Bodies(descriptors),
                             Request(request.get("method", "GET"), slash + path, asked))
            return self._outcome(reply, preflight=request.get("method") == "OPTIONS")
        finally:
            for descriptor in descriptors.values():
                os.close(descriptor)

    def _outcome(self, reply: Reply, *, preflight: bool) -> dict[str, Any]:
        headers = dict(reply.headers)
        body = (reply.body or b"").decode() if reply.found != "missing" else ""
        number = self._numbers.get(reply.answer)
        gets: dict[str, Any] = {"gets": number if number or reply.answer == "-" else body, "found": reply.found,
                                "status": reply.status}
        if 0 < reply.think_ms < inf:
            gets["waits_ms"] = reply.think_ms
        if "location" in headers:
            gets["to"] = headers["location"]
        if number and reply.status not in (0, 304) and reply.found != "ended" and body != self._texts[number - 1]:
            gets["sends"] = body
        if preflight:
            gets["allows"] = {name.removeprefix("access-control-allow-"): value for name, value in headers.items()
                              if name.startswith("access-control-allow-")}
        return gets


OUTCOME = ("gets", "found", "status", "waits_ms", "to", "sends", "allows")


def given(request: dict[str, Any]) -> dict[str, Any]:
    return {name: request[name] for name in OUTCOME if name in request}


@pytest.mark.parametrize(("file", "case"), CASES, ids=[case["name"] for _, case in CASES])
def test_each_request_gets_its_answer(file: Path, case: dict[str, Any], tmp_path: Path) -> None:
    replay = Replay(case, tmp_path)
    answers = [replay.ask(request) for request in case["requests"]]
    if WRITES:
        cases = read_cases(file)
        for request, answer in zip(cases[[each["name"] for each in cases].index(case["name"])]["requests"], answers,
                                   strict=True):
            for name in OUTCOME:
                request.pop(name, None)
            request.update(answer)
        write_cases(file, cases)
    assert answers == [given(request) for request in case["requests"]] or WRITES


def test_every_case_is_a_row_of_the_table() -> None:
    assert len(CASES) >= 110
    assert len({case["name"] for _, case in CASES}) == len(CASES)
    assert len(rows(whole=True)) == len(CASES) + 2      # with the title
    assert "\n".join(rows(whole=False)) in (ROOT / "docs" / "replay.md").read_text()
