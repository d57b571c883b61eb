"""The responses in a recording's HAR: what the text log cannot hold, that is headers, status codes and protocols.

Beyond HAR 1.2, an entry may say where its body is (`_file`: ``host/file`` in the mirror), that only its beginning came
(`_partial`), and that it was fetched once more (`_refetched`). Without `_file` the body is looked for where its URL
puts it, as in mirrors of 2013.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

SCHEMES = ("http", "https")
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Exchange:
    """One request and the response it got. `status` 0 stands for none, `failed` for one that did not come whole.

    `started` is when the request was sent, `content_bytes` the body's size when decoded, None where it is not told,
    `file` where its body is, relative to its host's directory, None where that is not told. `cookies` are the names of
    those that were sent along.
    """

    url: str
    scheme: str
    method: str
    status: int
    http_version: str
    headers: tuple[tuple[str, str], ...]
    redirect_url: str | None
    started: datetime | None
    failed: bool
    content_bytes: int | None
    file: str | None
    cookies: frozenset[str] = frozenset()

    @property
    def http2(self) -> bool:
        """Whether it went over HTTP/2."""
        return self.http_version.lower().startswith(("h2", "http/2"))


def read_har(path: Path, problems: list[str]) -> list[Exchange] | None:
    """Return the exchanges over http and https in a HAR, in its order; None when it is none.

    Adds to `problems` what cannot be used, one line each.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["log"]["entries"]
        found = [_exchange(entry) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        problems.append(f"{path}: not a HAR ({type(error).__name__}: {error}); its headers are not replayed")
        return None
    exchanges = []
    for exchange in found:
        if exchange is not None and _is_on_its_usual_port(exchange):
            exchanges.append(exchange)
        elif exchange is not None:
            problems.append(f"{path}: cannot be replayed, only ports 80 and 443 are: {exchange.url[:120]}")
    return exchanges


def cookie_names(values: Iterable[str]) -> frozenset[str]:
    """Return the names of the cookies in a request's Cookie headers."""
    return frozenset(name.strip() for value in values for name, _, _ in (one.partition("=") for one in value.split(";"))
                     if name.strip())


def _is_on_its_usual_port(exchange: Exchange) -> bool:
    try:
        return urlsplit(exchange.url).port in (None, PORTS[exchange.scheme])
    except ValueError:
        return False


def _exchange(entry: dict[str, Any]) -> Exchange | None:
    request, response = entry["request"], entry["response"]
    url = str(request["url"])
    scheme = url.partition(":")[0].lower()
    if scheme not in SCHEMES:
        return None
    headers = tuple((str(pair["name"]), str(pair["value"])) for pair in response.get("headers", []))
    content = response.get("content") or {}
    size = int(content.get("size", -1))
    status = int(response.get("status") or 0)
    failed = bool(entry.get("_partial") or (entry.get("_error") and not entry.get("_refetched")))
    version = str(response.get("httpVersion") or "")
    return Exchange(url, scheme, str(request["method"]).upper(), status, version, headers,
                    _redirect(url, status, response, headers), _time(entry.get("startedDateTime")),
                    failed, size if size >= 0 else None,
                    str(entry["_file"]).partition("/")[2] if entry.get("_file") else None,
                    cookie_names(str(pair["value"]) for pair in request.get("headers", [])
                                 if str(pair["name"]).lower() == "cookie"))


def _redirect(url: str, status: int, response: dict[str, Any], headers: tuple[tuple[str, str], ...]) -> str | None:
    """Return where a redirect leads, as an absolute URL."""
    if status not in (301, 302, 303, 307, 308):
        return None
    there = response.get("redirectURL") or next((value for name, value in headers if name.lower() == "location"), "")
    try:
        return urljoin(url, there) if there else None
    except ValueError:
        return None


def _time(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
