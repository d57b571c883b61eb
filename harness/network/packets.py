"""A capture of all packets at `user`, so that one can see in Wireshark what TCP Fast Open sends: docs/wireshark.md."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import ExperimentError
from harness.files.load_parts import CaptureCounts
from harness.network.star import Host
from harness.system.background import BackgroundProgram, started
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
