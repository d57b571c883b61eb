"""What single subscribers read in a net-log."""

from pathlib import Path

from harness.files.exchange import Exchange
from harness.files.moments import moment_at
from harness.netlog.file import read_netlog_file
from harness.netlog.sent import Sent, read_sent_bodies
from harness.netlog.socket_bytes import Sockets
from harness.netlog.websockets import read_websockets


def sent_bodies_in(log: Path) -> dict[tuple[str, str], list[Sent]]:
    """Return the bodies of requests by method and URL."""
    return read_sent_bodies(_sockets_in(log).found.values())


def websockets_in(log: Path, end_tick: float | None = None) -> list[Exchange]:
    """Return the WebSockets, and what was said up to `end_tick`."""
    return read_websockets(_sockets_in(log).found.values(), moment_at, end_tick)


def _sockets_in(log: Path) -> Sockets:
    sockets = Sockets()
    read_netlog_file(log, sockets, problems=[])
    return sockets
