"""A web server with a processor core to itself, and its client on another: so the server's cost can be measured alone.

What a core had to do, and which one handles the packets that reach a network interface.

    client, core 0 -------- s0 -------- server, core 1        no delay, 1 Gbit/s
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments import nginx
from harness.errors import InputError
from harness.network.star import LinkSpeeds, Star
from harness.system.environment import MS_PER_TICK, STAT, STEAL_FIELD
from harness.system.namespaces import inside
from harness.system.processes import run

CLIENT_CORE, SERVER_CORE = 0, 1
SERVER, PORT, PATH, FILE_BYTES = "server.test", 8080, "/5k", 5000
SPEEDS = LinkSpeeds(bw_net_mbit=1000, delay_net_ms=0)
CLIENT_PORTS = "1024 65535"
"""Each request is a connection of its own, whose port is taken for a while."""
NGINX = ("access_log off; keepalive_timeout 0; default_type text/plain; "
         "server {{ listen {address}:{port} fastopen=4096 backlog=4096; root .; }}")

IDLE_FIELDS = (3, 4)
"""idle and iowait among the numbers of a line of /proc/stat (proc(5)), which the kernel counts exactly; of user, system
and interrupts it only samples who runs at its ticks, and what a timer wakes up runs between them."""
STEER = ('mount -t sysfs sysfs /sys && for queue in /sys/class/net/"$1"/queues/rx-*; do '
         'echo "$2" >"$queue/rps_cpus"; done')
"""/sys shows the network of whoever mounted it: so it is mounted once more, in a mount namespace that ends with it."""


def require_two_cores() -> None:
    """Raise InputError where there is only one."""
    if (os.cpu_count() or 1) <= SERVER_CORE:
        raise InputError("needs two processor cores, one for the server and one for its client; give the VM two")


def separate_cores(star: Star) -> None:
    """Have each side's core handle the packets that reach it."""
    server = star.servers[SERVER]
    steer_packets(server.pid, server.interface, SERVER_CORE)
    steer_packets(star.user.pid, star.user.interface, CLIENT_CORE)
    with inside(star.user.pid):
        Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(f"{CLIENT_PORTS}\n")


@dataclass(frozen=True)
class CoreTimes:
    """How long a processor had nothing to do so far, and what a hypervisor took of it, in ms, and when that was."""

    idle_ms: float
    steal_ms: float
    at_ms: float

    def busy_since(self, before: "CoreTimes") -> float:
        """Return the share of the time since `before` was read in which it was busy, without what was stolen."""
        ours_ms = self.at_ms - before.at_ms - (self.steal_ms - before.steal_ms)
        return min(max(1 - (self.idle_ms - before.idle_ms) / ours_ms, 0.0), 1.0) if ours_ms > 0 else 0.0


def read_core(core: int) -> CoreTimes:
    """Return the times of processor `core` from /proc/stat."""
    lines, at_ms = STAT.read_text().splitlines(), time.monotonic() * 1000
    [line] = [line for line in lines if line.startswith(f"cpu{core} ")]
    ticks = [int(word) for word in line.split()[1:]]
    return CoreTimes(sum(ticks[field] for field in IDLE_FIELDS) * MS_PER_TICK, ticks[STEAL_FIELD] * MS_PER_TICK, at_ms)


def steer_packets(pid: int, interface: str, core: int) -> None:
    """Have `core` handle what arrives at an interface in the namespace of `pid` (receive packet steering).

    Left to itself, the kernel handles a packet that crosses a veth link on the processor of whoever sent it. Source:
    Linux Documentation/networking/scaling.rst. Raises ExperimentError.
    """
    with inside(pid):
        run(["unshare", "--mount", "sh", "-c", STEER, "sh", interface, f"{1 << core:x}"], "steering packets")


@contextmanager
def running_pinned(star: Star, work_dir: Path) -> Iterator[None]:
    """Run nginx, one process, on the server's core. Raises as `nginx.running_nginx`."""
    server, home = star.servers[SERVER], work_dir / "nginx"
    home.mkdir()
    (home / PATH.strip("/")).write_bytes(bytes(FILE_BYTES))
    with nginx.running_nginx(server, home, NGINX.format(address=server.address, port=PORT),
                             ["taskset", "-c", str(SERVER_CORE)]):
        yield
