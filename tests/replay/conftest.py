"""The replay over TLS that most of these tests talk to, one server for all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.replay_process import Running, running
from tests.support.secure_replay import AT_ONE_ADDRESS, Client, record, speaking_h2


@pytest.fixture(scope="session")
def tls_recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("https")
    record(directory)
    return directory


@pytest.fixture(scope="session")
def secure(tls_recording: Path) -> Iterator[Running]:
    """Give several hosts at one address."""
    with running(tls_recording, "--http", "recorded", hosts=AT_ONE_ADDRESS) as server:
        assert len(server.children()) == 1, "one process for one address"
        yield server
        server.process.terminate()
        assert server.process.communicate()[1] == "", "whatever clients do, a server has nothing to complain about"


@pytest.fixture(scope="session")
def early(tls_recording: Path) -> Iterator[Running]:
    """Give the same that take early data."""
    with running(tls_recording, "--http", "recorded", "--early", "off", hosts=AT_ONE_ADDRESS) as server:
        yield server


@pytest.fixture(scope="session")
def quic(tls_recording: Path) -> Iterator[Running]:
    """Give one that speaks HTTP/3, too."""
    pytest.importorskip("aioquic", reason="Python 3.10 has no HTTP/3 (harness/replay/http3.py)")
    with running(tls_recording, "--http", "h3") as server:
        yield server


@pytest.fixture
def client(secure: Running) -> Iterator[Client]:
    with speaking_h2(secure) as client:
        yield client
