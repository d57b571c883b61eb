"""Fetch again, with the same headers, what Chrome did not keep: a body that it gave up half way."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.util.connection import create_connection

from harness.files.hack_dns import PORTS, Remap
from harness.files.headers import Headers
from harness.files.urls import without_fragment
from harness.netlog.load import HttpTransaction

NOT_SENT = ("host", "connection", "content-length", "if-none-match", "if-modified-since", "range", "if-range",
            "cookie2", "upgrade")
CHUNK = 65536


@dataclass(frozen=True)
class BodyLimits:
    """Most seconds and bytes that one body may take."""

    seconds: float = 15.0
    size: int = 50_000_000


@dataclass(frozen=True)
class Fetched:
    """An answer fetched again: `body` as on the wire, still encoded; `error` says why there is none."""

    status: int = 0
    reason: str = ""
    headers: Headers = ()
    body: bytes = b""
    error: str = ""


class Refetcher:
    """Fetches over HTTP/1.1, from remapped places and with another CA where there are such."""

    def __init__(self, remaps: list[Remap], ca: Path | None, limits: BodyLimits | None = None) -> None:
        """Without `remaps` the Internet is asked, otherwise nothing but them. `ca`: the only CA that is trusted."""
        self._places = {(remap.host, PORTS[remap.scheme]): (remap.address, remap.port) for remap in remaps}
        self._limits = limits or BodyLimits()
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = str(ca) if ca else True
        if remaps:
            for scheme in PORTS:
                self._session.mount(f"{scheme}://", _RemappingAdapter(self._places))

    def close(self) -> None:
        """Close the connections that were kept open."""
        self._session.close()

    def fetch(self, transaction: HttpTransaction) -> Fetched:
        """Fetch the URL of `transaction`, a GET, with the headers that Chrome sent. Redirects are not followed."""
        url = without_fragment(transaction.url)
        parts = urlsplit(url)
        if self._places and (parts.hostname, parts.port or PORTS.get(parts.scheme)) not in self._places:
            return Fetched(error="not in the remap file")
        headers: dict[str, str | bytes | None] = dict.fromkeys(requests.utils.default_headers())
        headers |= {name: value for name, value in transaction.request_headers
                    if not name.startswith(":") and name.lower() not in NOT_SENT}
        deadline = time.monotonic() + self._limits.seconds
        try:
            with self._session.get(url, headers=headers, stream=True, allow_redirects=False,
                                   timeout=self._limits.seconds) as answer:
                body = self._read(answer, deadline)
                pairs = tuple((str(name), str(value)) for name, value in answer.raw.headers.items())
                return Fetched(answer.status_code, answer.reason or "", pairs, body)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            return Fetched(error=str(error) if isinstance(error, ValueError) else type(error).__name__)

    def _read(self, answer: requests.Response, deadline: float) -> bytes:
        body = bytearray()
        while chunk := answer.raw.read1(CHUNK, decode_content=False):      # what is there, not a whole CHUNK
            body += chunk
            if len(body) > self._limits.size:
                raise ValueError(f"over {self._limits.size} bytes")
            if time.monotonic() > deadline:
                raise ValueError(f"takes over {self._limits.seconds:g} s")
        return bytes(body)


class _RemappingAdapter(HTTPAdapter):
    """Connects to where a host and port really are; name and certificate check stay the host's own."""

    def __init__(self, places: dict[tuple[str, int], tuple[str, int]]) -> None:
        self._remapped = places
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        places = self._remapped

        class Plain(urllib3.connection.HTTPConnection):
            def _new_conn(self) -> Any:
                return create_connection(places[self.host, self.port], self.timeout)

        class Tls(urllib3.connection.HTTPSConnection):
            def _new_conn(self) -> Any:
                return create_connection(places[self.host, self.port], self.timeout)

        class PlainPool(urllib3.HTTPConnectionPool):
            ConnectionCls = Plain

        class TlsPool(urllib3.HTTPSConnectionPool):
            ConnectionCls = Tls

        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": TlsPool}
