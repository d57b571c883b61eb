"""What the shim changes in Chrome's memory: its ClientHello fits into a SYN, and how many connections it opens."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.browser.binary import CHROMES_OWN, GROUPS, SOCKET_LIMITS, find_once
from harness.browser.program import Browser, find_browser
from harness.errors import InputError
from harness.measure.preflight import check_connection_limit
from tests.support.answering import serving
from tests.support.own_chrome import answer_of

SYN_ROOM = 1420
"""Bytes of data the kernel puts into a SYN to a server with an MSS of 1460: 40 are kept for TCP's options."""
POST_QUANTUM_KEY = bytes.fromhex("11ec04c0")
"""Group X25519MLKEM768 and the length of its key, 1216 bytes, as they stand in a ClientHello."""
IMAGES = 16
FULL_S, MORE_S = 60.0, 0.5
"""So long an image waits, at the most, until as many wait as are expected, and then for one more than that."""
VISIT = """
from contextlib import suppress
from selenium.common.exceptions import WebDriverException
from harness.browser.binary import ConnectionLimit
scheme, own_port, port, key_shares, per_host, place = words
driver = start(browser, ChromeSettings(
    Path(work_dir), f"MAP www.example.org:{own_port} 127.0.0.1:{port},MAP * ~NOTFOUND", shim,
    key_shares=int(key_shares) if key_shares else None,
    connection_limit=ConnectionLimit(int(per_host), int(place)) if place else None))
try:
    with suppress(WebDriverException):      # over https nobody answers
        driver.get(f"{scheme}://www.example.org/")
finally:
    end(driver)
print("null")
"""


def test_what_is_changed_is_found_if_it_is_there_once(tmp_path: Path) -> None:
    for content, place in ((b"x" * 5000 + GROUPS, 5000), (GROUPS, 0), (b"x" * 100, None), (GROUPS * 2, None),
                           (GROUPS[:-1], None)):
        (tmp_path / "chrome").write_bytes(content)
        assert find_once(tmp_path / "chrome", GROUPS) == place


def client_hello(key_shares: int) -> bytes:
    """Return the first record that Chrome, run as a user without rights, sends to an https server."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        received = pool.submit(first_record, listener)
        answer_of(VISIT, "https", "443", str(listener.getsockname()[1]), str(key_shares), "", "")
        return received.result()


def first_record(listener: socket.socket) -> bytes:
    with listener.accept()[0] as connection, listener, connection.makefile("rb") as stream:    # tries again: refused
        head = stream.read(5)
        return head + stream.read(int.from_bytes(head[3:], "big"))


@pytest.mark.chrome
@pytest.mark.parametrize("place", [None, 64, 10**12])
def test_it_fits_into_a_syn_without_the_post_quantum_key_and_a_wrong_place_changes_nothing(place: int | None) -> None:
    """If it fits in spite of a wrong one, Chrome has changed, and harness.browser.binary may no longer be needed."""
    found = find_once(find_browser().binary, GROUPS)
    assert found is not None, "this Chrome has another table: TFO saves nothing over https"
    hello = client_hello(place or found)
    assert hello[0] == 22, "a handshake record of TLS"
    assert (POST_QUANTUM_KEY in hello) == (len(hello) > SYN_ROOM) == (place is not None)


def most_at_once(place: int, expected: int) -> int:
    """Return how many connections Chrome, told to open 13, had open at once for a page of IMAGES images of one host.

    Images are answered once as many wait as are `expected`, each over a connection of its own, and then a little later.
    """
    waiting, counts, full = list[str](), list[int](), threading.Event()

    def answer(path: str) -> tuple[str, str]:
        if path == "/":
            images = "".join(f"<img src=/{number}.gif>" for number in range(IMAGES))
            return "text/html", f"<!doctype html><link rel=icon href=data:,>{images}"
        waiting.append(path)
        counts.append(len(waiting))
        if len(waiting) >= expected:
            full.set()
        full.wait(FULL_S)
        time.sleep(MORE_S)
        waiting.remove(path)
        return "image/gif", "GIF89a"

    with serving(answer) as web:
        answer_of(VISIT, "http", "80", web.rpartition(":")[2], "", "13", str(place))
    return max(counts)


@pytest.mark.chrome
@pytest.mark.parametrize(("off", "expected"), [(0, 13), (1, CHROMES_OWN)])
def test_chrome_opens_as_many_as_it_is_said(off: int, expected: int) -> None:
    """With the place one byte off the shim changes nothing there, and Chrome works."""
    place = find_once(find_browser().binary, SOCKET_LIMITS)
    assert place is not None, "this Chrome has its limits elsewhere: --connections-per-host does not work"
    assert most_at_once(place + off, expected) == expected


def test_another_chrome_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "chrome").write_bytes(b"another one")
    browser = Browser(str(tmp_path / "chrome"), "chromedriver")
    assert check_connection_limit(browser, CHROMES_OWN) is None
    with pytest.raises(InputError, match=r"--connections-per-host 12: .*chrome"):
        check_connection_limit(browser, 12)
