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

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from math import inf
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.files.text_log import Response
from harness.mirror.answers import Recorded
from harness.mirror.asked import Asked, hash_body
from harness.mirror.recording import Recording
from harness.replay.body import Bodies
from harness.replay.match import Request
from harness.replay.reply import Reply, reply_to
from harness.replay.site import Site
from tests.corpus.replay.table import FILES, TOPICS, items
from tests.support.noted import JsonObject, assert_noted, in_rows
from tests.support.recording import HOST, MadeRecording, text_recording

CASES = [(file, case) for file in FILES for case in json.loads(file.read_text())]
BY = {"navigation": {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "accept": "text/html"},
      "fetch": {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "accept": "*/*"},
      "script": {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "script", "accept": "*/*"},
      "image": {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image", "accept": "*/*"}}
"""The headers that Chrome sends with what a page asks for."""
NUMBER = "x-number"
"""A header that says which of the recorded exchanges an answer is."""


def recording_of(case: JsonObject, directory: Path) -> Recording:
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
    written.add_files(case.get("files", {}))
    return written.read()


def _number(case: JsonObject, answer: Recorded) -> int:
    """Return the number of an exchange that has no headers: the first of its URL and page without an answer, or any."""
    return next(number for number, exchange in enumerate(case["recorded"], start=1)
                if absolute(exchange["url"]).partition("#")[0] == answer.url
                and exchange.get("page", "page") == answer.page
                and (case.get("text_log") or not exchange.get("status", 200)))


def absolute(url: str) -> str:
    """Return a URL of a case in full."""
    return url if "://" in url else f"https://{HOST}{url}"


def replay(case: JsonObject, directory: Path) -> Iterator[JsonObject]:
    """Yield what the requests of a case get, one after the other."""
    recording, mark = recording_of(case, directory), directory / "mark"
    if any("load" in request for request in case["requests"]):      # else a navigation begins a load
        make_mark(mark)
    load = LoadMark(mark if mark.exists() else None)
    site_of = cache(lambda scheme, host: Site(recording, host, scheme, load))
    numbers = {answer.identity: int(dict(answer.headers or ()).get(NUMBER) or _number(case, answer))
               for answer in recording.each if answer.page}
    with ExitStack() as stack:
        directories = {}
        for folder in (directory / "Web").iterdir():
            directories[folder.name] = os.open(folder, os.O_PATH)
            stack.callback(os.close, directories[folder.name])
        for request in case["requests"]:
            if "load" in request:
                mark_load(mark, request["load"])
            scheme, _, rest = absolute(request["url"]).partition("://")
            host, slash, path = rest.partition("/")
            asked = Asked(BY.get(request.get("by", ""), {}) | request.get("headers", {}),
                          hash_body(request.get("post", "").encode()))
            method = request.get("method", "GET")
            reply = reply_to(site_of(scheme, host), Bodies(directories), Request(method, slash + path, asked))
            yield outcome(case, reply, numbers.get(reply.answer), preflight=method == "OPTIONS")


def outcome(case: JsonObject, reply: Reply, number: int | None, *, preflight: bool) -> JsonObject:
    """Return what a reply is in a case's words; `number`: of the recorded exchange that it comes from."""
    headers = dict(reply.headers)
    body = (reply.body or b"").decode() if reply.found != "missing" else ""
    gets: JsonObject = {"gets": number if number or reply.answer == "-" else body, "found": reply.found,
                        "status": reply.status}
    if 0 < reply.think_ms < inf:
        gets["waits_ms"] = reply.think_ms
    if "location" in headers:
        gets["to"] = headers["location"]
    if number and reply.status not in (0, 304) and reply.found != "ended" and (
            body != case["recorded"][number - 1].get("body", "")):
        gets["sends"] = body
    if preflight:
        gets["allows"] = {name.removeprefix("access-control-allow-"): value for name, value in headers.items()
                          if name.startswith("access-control-allow-")}
    return gets


OUTCOME = ("gets", "found", "status", "waits_ms", "to", "sends", "allows")


@pytest.mark.parametrize(("file", "case"), CASES, ids=[case["name"] for _, case in CASES])
def test_each_request_gets_its_answer(file: Path, case: JsonObject, tmp_path: Path) -> None:
    requests = [{name: value for name, value in request.items() if name not in OUTCOME} for request in case["requests"]]
    found = [request | got for request, got in zip(requests, replay(case, tmp_path), strict=True)]
    assert_noted({"requests": found}, case, file, lambda: "[\n" + ",\n".join(
        in_rows(each) for of_file, each in CASES if of_file == file) + "\n]")


def test_every_case_is_in_the_list_of_the_docs() -> None:
    assert {file.stem for file in FILES} == {*TOPICS}
    assert "\n".join(items()) in (ROOT / "docs" / "replay.md").read_text()
