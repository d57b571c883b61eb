"""A capture of all packets at `user`, so that one can see in Wireshark what TCP Fast Open sends: docs/wireshark.md."""

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import ExperimentError
from harness.network.star import Host
from harness.system.netns import inside
from harness.system.processes import stop

SNAPSHOT_BYTES = 1514
"""Whole frames: Ethernet's 14 bytes and 1500 of IP. With the offloads off (harness.network.star) none is longer, so
that all options and all data of a SYN are there."""
START_TIMEOUT_S = 10.0
"""How long tcpdump may take until it listens."""
POLL_S = 0.01
"""How often it is looked whether it does."""


@dataclass
class Capture:
    """A capture in the file `path`. The counts are tcpdump's own, and known when it has ended."""

    path: Path
    packets: int = 0
    dropped: int = 0
    problem: str | None = None

    def as_record(self) -> dict[str, object]:
        """Return what a load's record says of it."""
        return {"packets": self.packets, "dropped": self.dropped, "problem": self.problem}


@contextmanager
def captured_packets(host: Host, directory: Path) -> Iterator[Capture]:
    """Write every packet that passes `host`'s interface to ``packets.pcap`` in `directory` while this lasts.

    tcpdump runs in the host's network namespace. Packets are captured from the first moment on, and all are in the file
    when this has ended. Raises ExperimentError when tcpdump does not start within 10 s, or ends by itself.
    """
    capture = Capture(directory / "packets.pcap")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors, capture.path.open("wb") as file:
        with inside(host.pid):
            process = subprocess.Popen(tcpdump(host.interface), stdout=file, stderr=errors, text=True,
                                       start_new_session=True)
        try:
            _wait_until_it_listens(process, errors)
            yield capture
            if process.poll() is not None:
                raise ExperimentError(f"the capture of packets ended: {_last_line(_text(errors))}")
        finally:
            stop(process)
        _read_counts(capture, _text(errors), process.returncode)


def tcpdump(interface: str) -> list[str]:
    """Return the command: each packet is handed over (immediate mode) and written (packet-buffered) as it comes.

    Without these two the kernel and tcpdump collect packets in blocks, and the last block is lost when tcpdump ends.
    """
    return ["tcpdump", "--interface", interface, "--immediate-mode", "--packet-buffered", "--no-promiscuous-mode",
            "--snapshot-length", str(SNAPSHOT_BYTES), "--buffer-size", "16384", "-n", "--relinquish-privileges", "root",
            "-w", "-"]


def _wait_until_it_listens(process: "subprocess.Popen[str]", said: IO[str]) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while "listening on" not in _text(said):
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise ExperimentError(f"the capture of packets did not start: {_last_line(_text(said))}")
        time.sleep(POLL_S)


def _text(said: IO[str]) -> str:
    said.seek(0)
    return said.read()


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "tcpdump did not say why"


def _read_counts(capture: Capture, said: str, status: int) -> None:
    """Take over the counts tcpdump ends with (tcpdump(1)): what it wrote, and what the kernel had to drop."""
    counts = {words: int(number) for number, words in
              re.findall(r"^(\d+) packets? (captured|dropped by kernel|dropped by interface)$", said, re.MULTILINE)}
    if status != 0 or "captured" not in counts:
        capture.problem = f"tcpdump ended with status {status}: {_last_line(said)}"
        return
    capture.packets = counts.pop("captured")
    capture.dropped = sum(counts.values())
    if capture.dropped:
        capture.problem = f"tcpdump lost {capture.dropped} packets and wrote {capture.packets}"
