"""A source's exchanges as a recording of our own format, which the replay servers answer from while Chrome loads it."""

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from harness.files.exchange import UNKNOWN, Exchange
from harness.files.har import PageTimes, har_log, to_har
from harness.files.headers import BODILESS
from harness.files.host_names import is_host_name
from harness.files.urls import split_url
from harness.mirror.asked import Asked, headers_of
from harness.mirror.headers import OF_NO_RECORDING
from harness.mirror.store import Store
from harness.record.sources.body import Body, over_http, with_coding
from harness.record.sources.brought import NUMBER, same_name
from harness.system.privileges import invoking_user

NAME = "source"
"""Of the recording's folders."""
OTHERS = "of-no-page"
"""The log of what belongs to no page that is wanted."""


class TemporaryRecording:
    """Writes exchanges into a recording in `directory`. `exchanges` are those that have an answer, `seen` all, without
    their bodies.
    """

    def __init__(self, directory: Path, urls: Mapping[str, str], logs: Mapping[str, str],
                 load_ends: Mapping[str, datetime]) -> None:
        """`logs` are the logs of the pages that are wanted, by what archives file their URLs under; `urls` are those of
        the source's own pages by their ids, `load_ends` when their load events were.
        """
        self._store = Store(directory, NAME)
        self._store.make()
        self._logs = logs
        self._log_of_page = {page: logs[name] for page, url in urls.items() if (name := same_name(url)) in logs}
        self._load_ends = {log: load_ends[page] for page, log in self._log_of_page.items() if page in load_ends}
        self._entries: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._log = OTHERS
        self.exchanges: list[Exchange] = []
        self.seen: list[Exchange] = []

    def add(self, exchange: Exchange) -> None:
        """Add the next exchange. One of no page belongs to the page whose document came last."""
        request, answer = exchange.request, exchange.answer
        body = answer.content or b""
        size = answer.content_bytes if answer.content_bytes >= 0 or not body else len(body)
        self.seen.append(replace(exchange, answer=replace(answer, content=None, content_bytes=size)))
        host = split_url(request.url)[0]
        if exchange.error or not answer.status or not is_host_name(host):
            return
        (self._store.mirror / host).mkdir(exist_ok=True)        # also of one that only redirects
        if request.method == "GET" and Asked(headers_of(request.headers)).purpose != (False, True):
            self._log = self._logs.get(same_name(request.url), self._log)
        taken = over_http(Body(body, answer.header("content-encoding")), request.url)
        answer = replace(answer, headers=with_coding(OF_NO_RECORDING if answer.headers is None else answer.headers,
                                                     taken.coding), content=None)
        self.exchanges.append(replace(exchange, answer=answer))
        numbered = ((NUMBER, str(len(self.exchanges))), *(answer.headers or ()))
        size, file = len(taken.content), None
        if size and answer.status not in BODILESS and request.method != "HEAD":
            file = self._store.put(request.url, request.method, taken.content)
        written = replace(answer, headers=numbered, body=file, body_bytes=size, content_bytes=size)
        entry = to_har(replace(exchange, answer=written))
        self._entries[self._log_of_page.get(exchange.page, self._log)].append(entry)

    def add_live(self, entry: dict[str, Any], page: str) -> None:
        """Add a WebSocket's entry."""
        self._entries[self._log_of_page.get(page, self._log)].append(entry)

    def finish(self) -> None:
        """Write the logs, and put the recording in its place."""
        for log, entries in self._entries.items():
            end = self._load_ends.get(log)
            began = end - timedelta(seconds=1) if end else None
            har = har_log(log, entries, PageTimes(began, on_load_ms=1000 if began else UNKNOWN))
            (self._store.fetchlog / log).write_text("", encoding="utf-8")
            (self._store.fetchlog / f"{log}.har").write_text(json.dumps(har), encoding="utf-8")
        self._store.publish(invoking_user())
        self._store.clean_up()
