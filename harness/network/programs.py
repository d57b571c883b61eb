"""Programs that run on the hosts of a star: the replay servers, tcpdump, a middlebox, and what --on-user names.

The servers are one process for each host, all children of one tfo-test/http_tfo.py. A capture at `user` shows in
Wireshark what TCP Fast Open sends: docs/wireshark.md.

A middlebox stands between `user` and some or all servers (harness.files.transport says which there are).
tfo-test/middlebox.py touches the SYNs that leave `user`, after TCP has let them go: so both kernels see what they would
see of a box in the network. Where netem delays packets and where the delay line does, it is the same program.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import ExperimentError, InputError
from harness.files import load_mark
from harness.files.load_parts import CaptureCounts
from harness.files.transport import Middlebox
from harness.network.star import Host, Star
from harness.system.background import BackgroundProgram, running, started
from harness.system.delay_queue import sharing
from harness.system.namespaces import inside
from harness.system.privileges import User
from harness.system.processes import stop

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


SNAPSHOT_BYTES = 1514
"""Whole frames: Ethernet's 14 bytes and 1500 of IP. With the offloads off (harness.network.nodes) none is longer, so
that all options and all data of a SYN are there."""
START_TIMEOUT_S = 10.0
"""How long tcpdump may take until it listens."""
POLL_S = 0.01
"""How often it is looked whether it does."""


@dataclass
class Capture:
    """A capture in the file `path`. The counts are tcpdump's own, and known when it has ended."""

    path: Path
    counts: CaptureCounts = field(default_factory=lambda: CaptureCounts(0, 0))


@contextmanager
def captured_packets(host: Host, directory: Path) -> Iterator[Capture]:
    """Write every packet that passes `host`'s interface to ``packets.pcap`` in `directory` while this lasts.

    tcpdump runs in the host's network namespace. Packets are captured from the first moment on, and all are in the file
    when this has ended. Raises ExperimentError when tcpdump does not start within 10 s, or ends by itself.
    """
    capture = Capture(directory / "packets.pcap")
    with capture.path.open("wb") as file, started(tcpdump(host.interface), "the capture of packets", host.pid,
                                                  file) as dumping:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while "listening on" not in dumping.complained():
            dumping.check()
            if time.monotonic() > deadline_s:
                raise ExperimentError(f"the capture of packets did not start: {dumping.last_words()}")
            time.sleep(POLL_S)
        yield capture
        dumping.check()
        stop(dumping.process)
        capture.counts = _counts(dumping)


def tcpdump(interface: str) -> list[str]:
    """Return the command: each packet is handed over (immediate mode) and written (packet-buffered) as it comes.

    Without these two the kernel and tcpdump collect packets in blocks, and the last block is lost when tcpdump ends.
    """
    return ["tcpdump", "--interface", interface, "--immediate-mode", "--packet-buffered", "--no-promiscuous-mode",
            "--snapshot-length", str(SNAPSHOT_BYTES), "--buffer-size", "16384", "-n", "--relinquish-privileges", "root",
            "-w", "-"]


def _counts(dumping: BackgroundProgram) -> CaptureCounts:
    """Return the counts tcpdump ends with (tcpdump(1)): what it wrote, and what the kernel had to drop."""
    counts = {words: int(number) for number, words in
              re.findall(r"^(\d+) packets? (captured|dropped by kernel|dropped by interface)$", dumping.complained(),
                         re.MULTILINE)}
    if dumping.process.returncode != 0 or "captured" not in counts:
        return CaptureCounts(0, 0, f"tcpdump ended with status {dumping.process.returncode}: {dumping.last_words()}")
    packets = counts.pop("captured")
    dropped = sum(counts.values())
    return CaptureCounts(packets, dropped, f"tcpdump lost {dropped} packets and wrote {packets}" if dropped else None)


PROGRAM = ROOT / "tfo-test" / "middlebox.py"


@dataclass(frozen=True)
class StandingBox:
    """A middlebox that stands, and the servers behind it."""

    kind: Middlebox
    servers: tuple[str, ...]
    numbers: "memoryview[float]"
    program: BackgroundProgram

    def counts(self) -> dict[str, int]:
        """Return how many SYNs came to it so far, and how many of them it touched."""
        seen, touched = self.numbers
        return {"seen": int(seen), "touched": int(touched)}


@contextmanager
def standing(star: Star, kind: Middlebox, seed: int) -> Iterator[StandingBox]:
    """Have a box stand before those servers that `seed` chooses while this lasts. Raises ExperimentError."""
    servers = tuple(kind.on_paths_to([*star.servers], seed))
    addresses = ",".join(star.servers[name].address for name in servers)
    with sharing(2) as (descriptor, numbers):
        command = [sys.executable, str(PROGRAM), "--interface", star.user.interface, "--box", kind.box.value,
                   "--addresses", addresses, "--counts-fd", str(descriptor)]
        with running(command, "ready", "the middlebox", star.user.pid, [descriptor]) as program:
            yield StandingBox(kind, servers, numbers, program)


def run_on_user(host: Host, command: str, user: User) -> int:
    """Run `command` (words as in a shell, no pipes) as `user` in the network of `host`; return its exit status.

    It shares this program's terminal and directory. Raises InputError when it is not a command or cannot be started.
    """
    try:
        words = shlex.split(command)
        with inside(host.pid):
            process = subprocess.Popen(words or [""], text=True, user=user.uid, group=user.gid,
                                       extra_groups=[user.gid],
                                       env={**os.environ, "USER": user.name, "LOGNAME": user.name})
    except (ValueError, OSError) as error:
        raise InputError(f"tfo.py: --on-user: {command!r} cannot be started: {error}") from None
    try:
        return process.wait()
    finally:
        stop(process)
