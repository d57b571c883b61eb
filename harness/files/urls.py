"""URLs as browsers ask for them (https://url.spec.whatwg.org), whoever wrote them down, and how."""

import re
from urllib.parse import quote, unquote, urlsplit

import ada_url

OF_BROWSERS = re.compile(r"^[^:/]+://[^/]*/favicon\.ico$|/manifest\.json$|\.webmanifest$")
"""Paths of what browsers ask for on their own time, and no load event waits for: a site's picture and its manifest."""
ENCODED = re.compile("(?:%[0-9A-Fa-f]{2})+")
MEANING_SOMETHING = frozenset("%/?#&=;+")


def as_browsers_ask(url: str, base: str | None = None) -> str:
    """Return `url`, seen from `base`, as browsers ask for it; "" when it is none.

    Sites redirect to HTTPS://A.test, too, and not all programs write down what was asked for in the end. A name and a
    password are no part of what a server is asked for (Fetch, section 4.6: they become a header, once it wants one).
    """
    try:
        found = ada_url.URL(url, base)
    except ValueError:
        return ""
    found.username = found.password = ""
    return str(found.href)


def is_asked_by_browser(url: str) -> bool:
    """Tell whether a browser asks for `url` on its own time, whatever the page does."""
    return OF_BROWSERS.search(url.partition("#")[0].partition("?")[0]) is not None


def names_port(url: str) -> bool:
    """Tell whether `url` names another port than its scheme's own (80, 443), which no replay answers at."""
    return urlsplit(as_browsers_ask(url)).port is not None


def without_fragment(url: str) -> str:
    """Return `url` without its fragment, which no request has, and otherwise as it is written."""
    return url.partition("#")[0]


def document_url(url: str) -> str:
    """Return `url` as browsers ask a server for it, without its fragment; as it is when it is none.

    http://a.test, HTTP://A.test:80/ and http://a.test/#top are the same.
    """
    return without_fragment(as_browsers_ask(url)) or url


def decoded(url: str) -> str:
    """Return a URL, or a part of one, without percent-encoding, but for characters that would then mean something else
    (RFC 3986, section 2.2): two that differ only in how they are written are the same then.
    """
    return ENCODED.sub(_decoded, url)


def _decoded(encoded: re.Match[str]) -> str:
    characters = unquote(encoded[0], errors="surrogateescape")
    return "".join(quote(each, safe="") if each in MEANING_SOMETHING else each for each in characters)


def split_url(url: str) -> tuple[str, str]:
    """Split `url` into its host (lower case, no port) and its path, ``?query`` and ``#fragment`` as they were written.

    Raises ValueError when `url` has no host.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(f"not a URL: {url!r}")
    after_host = url[url.index("//") + 2:]
    start = min((at for at in map(after_host.find, "/?#") if at >= 0), default=len(after_host))
    return parts.hostname, from_root(after_host[start:])


def from_root(path_and_query: str) -> str:
    """Return a path as it begins: with a slash."""
    return path_and_query if path_and_query.startswith("/") else "/" + path_and_query
