"""Chrome's ClientHello: too long for a SYN as Chrome sends it, and short enough when the shim has changed it."""

import contextlib
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.browser.client_hello import GROUPS, find_groups
from harness.browser.program import find_browser, require_shim
from harness.system.privileges import browsing_user, give, passable_temp_root
from tests.support.ran import ran

SYN_ROOM = 1420
"""Bytes of data the kernel puts into a SYN to a server with an MSS of 1460: 40 are kept for TCP's options."""
POST_QUANTUM_KEY = bytes.fromhex("11ec04c0")
"""Group X25519MLKEM768 and the length of its key, 1216 bytes, as they stand in a ClientHello."""

CHROME = """
import contextlib, sys
from pathlib import Path
from selenium.common.exceptions import WebDriverException
from harness.browser.chrome import ChromeSettings, deterministic_script, start
from harness.browser.program import find_browser
from harness.system.privileges import User, become
work_dir, uid, gid, shim, port, key_shares = sys.argv[1:]
browser = find_browser()
deterministic_script()  # read as root: the project may lie where nobody else can look
become(User("", int(uid), int(gid)))
driver = start(browser, ChromeSettings(
    Path(work_dir), f"MAP www.example.org:443 127.0.0.1:{port},MAP * ~NOTFOUND", Path(shim),
    key_shares=int(key_shares) if key_shares else None))
try:
    with contextlib.suppress(WebDriverException):  # nobody answers
        driver.get("https://www.example.org/")
finally:
    driver.quit()
"""


@pytest.mark.parametrize(("content", "place"), [
    (b"x" * 5000 + GROUPS, 5000), (GROUPS, 0), (b"x" * 100, None), (GROUPS + b"x" + GROUPS, None), (GROUPS[:-1], None)])
def test_the_table_is_found_if_it_is_there_once(tmp_path: Path, content: bytes, place: int | None) -> None:
    (tmp_path / "chrome").write_bytes(content)
    assert find_groups(tmp_path / "chrome") == place


def first_record(listener: socket.socket, received: list[bytes]) -> None:
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        with connection, listener:    # whoever tries again is refused at once
            hello = b""
            while len(hello) < 5 or len(hello) < 5 + int.from_bytes(hello[3:5], "big"):
                hello += connection.recv(65536)
            received.append(hello)


def client_hello(key_shares: int | None) -> bytes:
    """Return the first record that Chrome, run as a user without rights, sends to an https server."""
    user = browsing_user()
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryDirectory(
            dir=passable_temp_root(), ignore_cleanup_errors=True) as work_dir:
        listener.settimeout(300)
        thread = threading.Thread(target=first_record, args=(listener, received), daemon=True)
        thread.start()
        shim = shutil.copy(require_shim(), work_dir)
        give(Path(work_dir), user)
        argv = [work_dir, user.uid, user.gid, shim, listener.getsockname()[1], "" if key_shares is None else key_shares]
        ran(sys.executable, "-c", CHROME, *argv, status=0, cwd=ROOT)
        thread.join(30)
    return received[0]


@pytest.mark.chrome
def test_it_fits_into_a_syn_without_the_post_quantum_key() -> None:
    place = find_groups(find_browser().binary)
    assert place is not None, "this Chrome has another table: TFO saves nothing over https"
    hello = client_hello(place)
    assert hello[0] == 22, "a handshake record of TLS"
    assert POST_QUANTUM_KEY not in hello
    assert len(hello) <= SYN_ROOM


@pytest.mark.chrome
def test_it_does_not_as_chrome_sends_it() -> None:
    """If this fails, Chrome has changed, and harness.browser.client_hello may no longer be needed."""
    hello = client_hello(None)
    assert POST_QUANTUM_KEY in hello
    assert len(hello) > SYN_ROOM


@pytest.mark.chrome
@pytest.mark.parametrize("wrong", [1, 64, 10**12])
def test_a_wrong_place_changes_nothing(wrong: int) -> None:
    assert POST_QUANTUM_KEY in client_hello(wrong)
