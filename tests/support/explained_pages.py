"""Pages whose critical path is known because they were built for it, each on hosts of its own."""

from pathlib import Path

from tests.support.small_mirror import ICON, SmallMirror

CHAIN_HOSTS = 5
CHAIN, SIX, BUSY, BRANCHES = "http://chain1.test/", "http://six.test/", "http://busy.test/", "http://branches.test/"
HANDSHAKES = {CHAIN: CHAIN_HOSTS, SIX: 2, BUSY: 1, BRANCHES: 5}
"""TCP handshakes on the critical path over HTTP/1.0, where every request opens a connection of its own.

BUSY has images, too, but their handshakes hide behind its script. What is left is the document's own, which no page
can do without. BRANCHES has a chain of 5 beside one large image: without TFO the chain is longer, with TFO the image.
"""
KEPT = "http://kept.test/"
"""A chain of three requests after the document on one host: over HTTP/1.1 one connection, one handshake."""
TWO_SITES = ("http://www.one.test/", "http://a.one.test/1.js", "http://b.one.test/2.js", "http://a.one.test/3.js",
             "http://two.test/4.js")
"""A page and its scripts, each asked for by the one before: over HTTP/1.0 on a connection of its own."""
BUSY_MS = 1500
IMAGE_BYTES = 40_000
"""Small beside the chain, large beside noise: 6 of them share the server's link for half a second."""
LARGE_BYTES = 350_000


def make_pages(directory: Path, *pages: str) -> Path:
    """Write a mirror ("small") of `pages`, some of the URLs above; return `directory`."""
    mirror = SmallMirror(directory)
    for url in pages:
        MAKERS[url](mirror)
    return mirror.finish(*pages)


def inserting(url: str, tag: str = "script") -> str:
    """Return script code that requests `url` when it runs."""
    return f"var e = document.createElement('{tag}'); e.src = '{url}'; document.body.appendChild(e);"


def document(body: str) -> str:
    """Return a whole document."""
    return f"<!doctype html><title>built</title>{ICON}<body>{body}</body>"


def chain_of(directory: Path, *urls: str) -> Path:
    """Write a mirror ("small") of one page, whose scripts are each asked for by the one before; return `directory`."""
    mirror = SmallMirror(directory)
    mirror.add(urls[0], document(f"<script src={urls[1]}></script>"))
    _scripts(mirror, *urls[1:])
    return mirror.finish(urls[0])


def _scripts(mirror: SmallMirror, *urls: str) -> None:
    for url, following in zip(urls, [*urls[1:], None], strict=True):
        mirror.add(url, inserting(following) if following else "/* the end */", "text/javascript")


def _chain(mirror: SmallMirror) -> None:
    """Each script lives on the next host."""
    urls = [f"http://chain{host}.test/next.js" for host in range(2, CHAIN_HOSTS + 1)]
    mirror.add(CHAIN, document(f"<script src={urls[0]}></script>"))
    _scripts(mirror, *urls)


def _six(mirror: SmallMirror) -> None:
    """Six images of one host: as many connections as Chrome opens to a host at once."""
    urls = [f"{SIX}{number}.gif" for number in range(6)]
    mirror.add(SIX, document("".join(f"<img src={url}>" for url in urls)))
    for url in urls:
        mirror.add(url, b"GIF89a" + bytes(IMAGE_BYTES), "image/gif")


def _busy(mirror: SmallMirror) -> None:
    """A script in the document keeps Chrome busy for longer than the images before it need to come."""
    images = "".join(f"<img src=http://aside{host}.test/i.gif>" for host in range(3))
    loop = f"var t = performance.now(); while (performance.now() - t < {BUSY_MS});"
    mirror.add(BUSY, document(f"{images}<script>{loop}</script>"))
    for host in range(3):
        mirror.add(f"http://aside{host}.test/i.gif", b"GIF89a", "image/gif")


def _branches(mirror: SmallMirror) -> None:
    urls = [f"http://branch{host}.test/next.js" for host in range(4)]
    mirror.add(BRANCHES, document(f"<img src={BRANCHES}large.gif><script src={urls[0]}></script>"))
    mirror.add(f"{BRANCHES}large.gif", b"GIF89a" + bytes(LARGE_BYTES), "image/gif")
    _scripts(mirror, *urls)


def _kept(mirror: SmallMirror) -> None:
    mirror.add(KEPT, document(f"<script src={KEPT}a.js></script>"))
    mirror.add(f"{KEPT}a.js", inserting(f"{KEPT}b.js"), "text/javascript")
    mirror.add(f"{KEPT}b.js", inserting(f"{KEPT}c.gif", "img"), "text/javascript")
    mirror.add(f"{KEPT}c.gif", b"GIF89a" + bytes(IMAGE_BYTES), "image/gif")


MAKERS = {CHAIN: _chain, SIX: _six, BUSY: _busy, BRANCHES: _branches, KEPT: _kept}
