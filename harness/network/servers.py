"""The replay servers of a star: one process each, all children of one tfo-test/http_tfo.py."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.bootstrap import ROOT
from harness.files import load_mark
from harness.network.star import Host, Star
from harness.system.companions import Companion, running
from harness.system.privileges import User

HTTP_TFO = ROOT / "tfo-test" / "http_tfo.py"


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """How the servers answer. `http` is "1.0", "1.1", "h2" or "recorded", `server` "threaded" or "2013".

    They run as `user`, None for who starts them. With `think_rtts_ms`, the RTT to each host when it was recorded, they
    think for as long as they did then. With `held_rtt_ms` they hold answers back themselves (harness.replay.held).
    With a `balancer` so many of them, with cookie keys of their own, share each address.
    `authority` is the folder of another certificate authority than this machine's own.
    """

    mirror: Path
    fetchlog: Path
    port: int
    tls_port: int
    http: str
    server: str
    logdir: Path
    delays_ms: Sequence[float]
    """One-way delays of the loads to come, after which the logs' folders are named."""
    user: User | None
    think_rtts_ms: Mapping[str, float] | None = None
    held_rtt_ms: float = 0.0
    authority: Path | None = None
    balancer: int = 1
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The mirrored hosts that each server of the star answers for; () of it: the one that it is named by."""


@contextmanager
def running_servers(star: Star, settings: ServerSettings, work_dir: Path) -> Iterator[Companion]:
    """Serve each server's part of the mirror inside its namespace while this lasts.

    They go by the mark of loads in `work_dir`, see harness.files.load_mark.

    Raises InputError or ExperimentError with the servers' own line when one cannot listen.
    """
    hosts_file = work_dir / "hosts"
    hosts_file.write_text("".join(f"{name} {host.address} {_namespace(host)}\n"
                                  for server, host in star.servers.items()
                                  for name in settings.names.get(server, (server,))), encoding="utf-8")
    mark = work_dir / load_mark.NAME
    load_mark.make_mark(mark)
    how = {"port": settings.port, "tls_port": settings.tls_port, "http": settings.http, "server": settings.server,
           "balancer": settings.balancer}
    command = [sys.executable, str(HTTP_TFO), "--mirror", str(settings.mirror), "--fetchlog", str(settings.fetchlog),
               "--hosts", str(hosts_file), "--settings", json.dumps(how), "--logdir", str(settings.logdir),
               "--delaynet", " ".join(f"{delay_ms:g}" for delay_ms in settings.delays_ms), "--load-mark", str(mark)]
    if settings.user is not None:
        command += ["--user", f"{settings.user.uid}:{settings.user.gid}"]
    if settings.authority is not None:
        command += ["--authority", str(settings.authority)]
    if settings.think_rtts_ms is not None:
        rtts = work_dir / "recorded.rtts"
        rtts.write_text("".join(f"{name} {rtt_ms:g}\n" for name, rtt_ms in settings.think_rtts_ms.items()))
        command += ["--think", str(rtts)]
    if settings.held_rtt_ms:
        command += ["--held-rtt", f"{settings.held_rtt_ms:g}"]
    with running(command, f"ready {len(star.servers)}", "the servers") as servers:
        yield servers


def _namespace(host: Host) -> str:
    """Return the file of a host's network namespace; "-" for one in our own, which need not be entered."""
    return "-" if host.pid == os.getpid() else f"/proc/{host.pid}/ns/net"
