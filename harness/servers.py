"""The replay servers of a star: one process per mirrored host, all children of one tfo-test/http_tfo.py."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.bootstrap import ROOT
from harness.companions import running
from harness.privileges import User
from harness.star import Star

HTTP_TFO = ROOT / "tfo-test" / "http_tfo.py"


@dataclass(frozen=True)
class ServerSettings:
    """How the servers answer. `http` is "1.0", "1.1", "h2" or "recorded", `server` "threaded" or "2013".

    Without `tls_port` https is served on the port after `port`.
    """

    mirror: Path
    fetchlog: Path
    port: int
    http: str
    server: str
    logdir: Path
    delaynet_ms: float
    user: User
    tls_port: int | None = None


@contextmanager
def running_servers(star: Star, settings: ServerSettings, work_dir: Path) -> Iterator[None]:
    """Serve each host's part of the mirror inside its namespace while this lasts.

    Raises InputError or ExperimentError with the servers' own line when one cannot listen.
    """
    hosts_file = work_dir / "hosts"
    hosts_file.write_text("".join(f"{name} {host.address} /proc/{host.pid}/ns/net\n"
                                  for name, host in star.servers.items()), encoding="utf-8")
    command = [sys.executable, str(HTTP_TFO), "--mirror", str(settings.mirror), "--fetchlog", str(settings.fetchlog),
               "--hosts", str(hosts_file), "--port", str(settings.port), "--tls-port",
               str(settings.tls_port or settings.port + 1), "--http", settings.http,
               "--server", settings.server, "--logdir", str(settings.logdir),
               "--delaynet", f"{settings.delaynet_ms:g}", "--user", f"{settings.user.uid}:{settings.user.gid}"]
    with running(command, f"ready {len(star.servers)}", "the servers"):
        yield
