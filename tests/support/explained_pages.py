"""Pages whose critical path is known because they were built for it, each on hosts of its own."""

from pathlib import Path

from tests.support.recording import ICON, MadeRecording

CHAIN_HOSTS = 5
CHAIN, SIX = "http://chain1.test/", "http://six.test/"
HANDSHAKES = {CHAIN: CHAIN_HOSTS, SIX: 2}
"""TCP handshakes on the critical path over HTTP/1.0, where every request opens a connection of its own."""
TWO_SITES = ("http://www.one.test/", "http://a.one.test/1.js", "http://b.one.test/2.js", "http://a.one.test/3.js",
             "http://two.test/4.js")
"""A page and its scripts, each asked for by the one before: over HTTP/1.0 on a connection of its own."""
IMAGE_BYTES = 40_000
"""Small beside the chain, large beside noise: 6 of them share the server's link for half a second."""


def make_pages(directory: Path, *pages: str) -> Path:
    """Write a mirror ("small") of `pages`, some of the URLs above; return `directory`."""
    mirror = MadeRecording(directory, "small", har=False)
    for url in pages:
        MAKERS[url](mirror)
    return mirror.finish(*pages)


def inserting(url: str) -> str:
    """Return script code that requests the script `url` when it runs."""
    return f"var e = document.createElement('script'); e.src = '{url}'; document.body.appendChild(e);"


def document(body: str) -> str:
    """Return a whole document."""
    return f"<!doctype html><title>built</title>{ICON}<body>{body}</body>"


def chain_of(directory: Path, *urls: str) -> Path:
    """Write a mirror ("small") of one page, whose scripts are each asked for by the one before; return `directory`."""
    mirror = MadeRecording(directory, "small", har=False)
    mirror.add(urls[0], document(f"<script src={urls[1]}></script>"))
    _scripts(mirror, *urls[1:])
    return mirror.finish(urls[0])


def _scripts(mirror: MadeRecording, *urls: str) -> None:
    for url, following in zip(urls, [*urls[1:], None], strict=True):
        mirror.add(url, inserting(following) if following else "/* the end */", "text/javascript")


def _chain(mirror: MadeRecording) -> None:
    """Each script lives on the next host."""
    urls = [f"http://chain{host}.test/next.js" for host in range(2, CHAIN_HOSTS + 1)]
    mirror.add(CHAIN, document(f"<script src={urls[0]}></script>"))
    _scripts(mirror, *urls)


def _six(mirror: MadeRecording) -> None:
    """Six images of one host: as many connections as Chrome opens to a host at once."""
    urls = [f"{SIX}{number}.gif" for number in range(6)]
    mirror.add(SIX, document("".join(f"<img src={url}>" for url in urls)))
    for url in urls:
        mirror.add(url, b"GIF89a" + bytes(IMAGE_BYTES), "image/gif")


MAKERS = {CHAIN: _chain, SIX: _six}
