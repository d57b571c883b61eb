"""A middlebox between `user` and some or all servers (harness.files.transport says which there are).

tfo-test/middlebox.py touches the SYNs that leave `user`, after TCP has let them go: so both kernels see what they would
see of a box in the network. Where netem delays packets and where the delay line does, it is the same program.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.bootstrap import ROOT
from harness.files.transport import Middlebox
from harness.network.star import Star
from harness.system.background import BackgroundProgram, running
from harness.system.lateness import sharing

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
