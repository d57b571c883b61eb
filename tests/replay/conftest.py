"""The replay over TLS that most of these tests talk to, one server for all; a recording to write."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.recording import HOST, MadeRecording
from tests.support.secure_replay import Client, Secure, record, serving


@pytest.fixture(scope="session")
def tls_recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("https")
    record(directory)
    return directory


@pytest.fixture(scope="session")
def secure(tls_recording: Path) -> Iterator[Secure]:
    """Give several hosts at one address."""
    with serving(tls_recording, hosts=("a.test", "b.test", "under_score.test", "old.test")) as secure:
        assert len(secure.server.children()) == 1, "one process for one address"
        yield secure
        server = secure.server.process
        server.terminate()
        assert server.communicate()[1] == "", "whatever clients do, a server has nothing to complain about"


@pytest.fixture(scope="session")
def early(tls_recording: Path) -> Iterator[Secure]:
    """Give one that takes early data, of two hosts."""
    with serving(tls_recording, "--http", "recorded", "--early", "off", hosts=(HOST, "old.test")) as early:
        yield early


@pytest.fixture(scope="session")
def quic(tls_recording: Path) -> Iterator[Secure]:
    """Give one that speaks HTTP/3, too."""
    pytest.importorskip("aioquic", reason="Python 3.10 has no HTTP/3 (harness/replay/http3.py)")
    with serving(tls_recording, "--http", "h3") as secure:
        yield secure


@pytest.fixture
def client(secure: Secure) -> Iterator[Client]:
    with secure.connect("h2") as connection:
        yield Client(connection)


@pytest.fixture
def written(tmp_path: Path) -> MadeRecording:
    """Give a recording to which the test adds answers."""
    return MadeRecording(tmp_path)
