"""The replay servers of a star: one process each, all children of one tfo-test/http_tfo.py."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.bootstrap import ROOT
from harness.files import load_mark
from harness.network.star import Star
from harness.system.background import BackgroundProgram, running
from harness.system.privileges import User

HTTP_TFO = ROOT / "tfo-test" / "http_tfo.py"


@contextmanager
def running_servers(star: Star, mirror: Path, fetchlog: Path, settings: Mapping[str, Any], work_dir: Path, *,
                    logdir: Path, delays_ms: Sequence[float] = (0.0,), user: User | None = None,
                    names: Mapping[str, Sequence[str]] | None = None, held_rtt_ms: float = 0.0,
                    think_rtts_ms: Mapping[str, float] | None = None, authority: Path | None = None,
                    ) -> Iterator[BackgroundProgram]:
    """Serve each server's part of the `mirror` inside its namespace while this lasts.

    `settings` are those of harness.measure.settings, by name: what is missing is as by default. Logs go to `logdir`, to
    folders that are named after these one-way `delays_ms` of the loads to come. They go by the mark of loads in
    `work_dir`, see harness.files.load_mark. They run as `user`, None for who starts them. `names` are the mirrored
    hosts that each server of the star answers for; without any of its own one answers for that by which it is named.
    With `think_rtts_ms`, the RTT to each host when it was recorded, they think for as long as they did then. With
    `held_rtt_ms` they hold answers back themselves (harness.replay.connection). `authority` is the folder of
    another certificate authority than this machine's own.

    Raises InputError or ExperimentError with the servers' own line when one cannot listen.
    """
    hosts_file = work_dir / "hosts"
    ours = os.getpid()      # a namespace that is ours, "-", need not be entered
    hosts_file.write_text("".join(f"{name} {host.address} {'-' if host.pid == ours else f'/proc/{host.pid}/ns/net'}\n"
                                  for server, host in star.servers.items()
                                  for name in (names or {}).get(server, (server,))), encoding="utf-8")
    mark = work_dir / load_mark.NAME
    load_mark.make_mark(mark)
    command = [sys.executable, HTTP_TFO, "--mirror", mirror, "--fetchlog", fetchlog, "--hosts", hosts_file,
               "--settings", json.dumps(settings), "--logdir", logdir, "--load-mark", mark,
               "--delaynet", " ".join(f"{delay_ms:g}" for delay_ms in delays_ms), "--held-rtt", f"{held_rtt_ms:g}"]
    if user is not None:
        command += ["--user", f"{user.uid}:{user.gid}"]
    if authority is not None:
        command += ["--authority", authority]
    if think_rtts_ms is not None:
        rtts = work_dir / "recorded.rtts"
        rtts.write_text("".join(f"{name} {rtt_ms:g}\n" for name, rtt_ms in think_rtts_ms.items()))
        command += ["--think", rtts]
    with running([*map(str, command)], f"ready {len(star.servers)}", "the servers") as servers:
        yield servers
