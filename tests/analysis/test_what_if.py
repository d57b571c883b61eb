"""A load played again with TFO: what others take of the link, and who gets a connection first."""

import pytest

from harness.analysis.causes import dependencies
from harness.analysis.timeline import make_timeline
from harness.analysis.what_if import SharedLink, saved_ms
from tests.support.made_har import PAGE, MadeLoad

RTT_MS = 100
BW_MBIT = 4.0
ALONE_MS = 200
SIZE = int(ALONE_MS * BW_MBIT * 1000 / 8)


def saving(load: MadeLoad, bw_mbit: float | None = BW_MBIT, *, by_all: bool = False) -> float:
    timeline = make_timeline(load.log(), load.record(), load.plt_ms)
    return saved_ms(timeline, dependencies(timeline), RTT_MS, link=SharedLink(bw_mbit, by_all) if bw_mbit else None)


def test_transfers_that_tfo_brings_together_share_the_link() -> None:
    """The document has a large script of another server, and one that inserts an image of that server.

    Without TFO the image comes when the script is over. With TFO it has one handshake less on its way, so both share
    the link until the script is over 100 ms later: the image takes 100 ms more, as much as its own handshake saved.
    """
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="")
    over = load.add("http://large.test/a.js", found, receive=ALONE_MS, body_bytes=SIZE)
    inserting = load.add("http://small.test/b.js", found)
    assert inserting + 200 == over
    load.plt_ms = load.add("http://large.test/i.gif", inserting, "image", receive=ALONE_MS, body_bytes=SIZE)
    assert saving(load, bw_mbit=None) == 3 * RTT_MS
    assert saving(load) == pytest.approx(2 * RTT_MS, abs=2)
    assert saving(load, bw_mbit=1000) == pytest.approx(3 * RTT_MS, abs=1), "a fast link has room for both"


def test_transfers_of_other_servers_share_the_clients_link_where_that_is_the_narrow_one() -> None:
    """As above, but what shares the link with the image comes from a third server."""
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="")
    load.add("http://large.test/a.js", found, receive=ALONE_MS, body_bytes=SIZE)
    inserting = load.add("http://small.test/b.js", found)
    load.plt_ms = load.add("http://third.test/i.gif", inserting, "image", receive=ALONE_MS, body_bytes=SIZE)
    assert saving(load) == pytest.approx(3 * RTT_MS, abs=2)
    assert saving(load, by_all=True) == pytest.approx(2 * RTT_MS, abs=2)


def test_a_shared_connection_stands_however_long_the_request_that_made_it_receives() -> None:
    """With TFO a large picture meets another transfer, and takes 100 ms more. A small one only waits to connect.

    The small one was said to come 200 ms earlier, as if it had waited for the large one's end.
    """
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="")
    load.add("http://large.test/a.js", found, receive=1.5 * ALONE_MS, body_bytes=SIZE * 3 // 2)
    inserting = load.add("http://small.test/b.js", found)
    load.add("https://third.test/large.gif", inserting, "image", connect=200, ssl=100, receive=ALONE_MS,
             body_bytes=SIZE, connection=9, version="h2")
    load.plt_ms = load.add("https://third.test/small.gif", inserting, "image", queue=200, connect=-1, wait=400,
                           connection=9, version="h2")
    assert saving(load, bw_mbit=None) == 3 * RTT_MS
    assert saving(load, by_all=True) == pytest.approx(3 * RTT_MS, abs=2)


def test_transfers_that_tfo_moves_alike_take_as_long_as_before() -> None:
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="")
    ends = [load.add(f"http://large.test/{number}.gif", found, "image", receive=3 * ALONE_MS, body_bytes=SIZE)
            for number in range(3)]
    load.plt_ms = ends[-1]
    assert saving(load) == 2 * RTT_MS


def test_whoever_waits_takes_the_connection_that_is_free_first() -> None:
    """Two connections of one host: a kept one, and a new one, which TFO frees a round trip earlier.

    Who waits waits for any of them: the last image, which had the kept one, gets the other now.
    """
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="", connection=1)
    kept = load.add(f"{PAGE}0.gif", found, "image", connect=-1, connection=1, wait=250)
    fresh = load.add(f"{PAGE}1.gif", found, "image", connection=2, wait=160)
    assert (kept - found, fresh - found) == (250, 260)
    for turn in range(3):
        kept = load.add(f"{PAGE}{turn}-0.gif", found, "image", queue=kept - found, connect=-1, connection=1, wait=140)
        fresh = load.add(f"{PAGE}{turn}-1.gif", found, "image", queue=fresh - found, connect=-1, connection=2, wait=140)
    load.plt_ms = load.add(f"{PAGE}last.gif", found, "image", queue=kept - found, connect=-1, connection=1, wait=140)
    assert saving(load) == RTT_MS + 90, "the document's handshake, and the other connection's, which was 10 ms behind"
