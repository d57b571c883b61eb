"""Pages whose critical path is known because they were built for it, each on hosts of its own."""

from collections.abc import Callable
from pathlib import Path

from tests.support.recording import MadeRecording, document

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


def _six(mirror: MadeRecording) -> None:
    """Six images of one host: as many connections as Chrome opens to a host at once."""
    urls = [f"{SIX}{number}.gif" for number in range(6)]
    mirror.add(SIX, document("".join(f"<img src={url}>" for url in urls)))
    for url in urls:
        mirror.add(url, b"GIF89a" + bytes(IMAGE_BYTES), "image/gif")


MAKERS: dict[str, Callable[[MadeRecording], None]] = {
    CHAIN: lambda mirror: mirror.add_chain(CHAIN, *(f"http://chain{host}.test/next.js"
                                                    for host in range(2, CHAIN_HOSTS + 1))),     # each on the next host
    SIX: _six}
