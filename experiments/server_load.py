#!/usr/bin/env python3
"""What TCP Fast Open costs a server, and what it saves it: CPU utilisation against the rate of requests.

    client, core 0 -------- s0 -------- server, core 1        no delay, 1 Gbit/s

As the paper's Figure 6: HTTP/1.0 requests for a file of 5 kB begin at a constant rate, each on a connection of its own,
whether or not earlier ones are answered (experiments/http_load.c). The server has a core to itself, packets that reach
it included. Three ways, in turns:

    off       no TFO
    on        the request travels in the SYN, and the server takes it
    refused   it travels in the SYN, but the server's kernel does not take it: it is sent again after the handshake

A rate counts only if the client held it to 1%, all requests were answered, and half of them within 100 ms; the first
that does not ends the series.
"""

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from experiments.load_points import STYLES, LoadSample, draw_server_load, load_points, percentile_ms, server_load_lines
from experiments.nginx import running_nginx
from harness.browser.page import packets
from harness.errors import InputError
from harness.files.pages import FIGURES as FIGURES_FOLDER
from harness.files.table_files import write_table
from harness.measure.command_line import add_patience
from harness.network.needs import check_programs
from harness.network.nodes import running_star
from harness.network.star import Host, LinkSpeeds, Star
from harness.system import fastopen
from harness.system.contained import begin_experiment
from harness.system.environment import MS_PER_TICK, STAT, STEAL_FIELD, wait_for_quiet
from harness.system.lock import only_experiment
from harness.system.namespaces import inside
from harness.system.options import Decimal, OptionParser, Several, Whole
from harness.system.processes import run
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

RATES = (500, 1000, 2000, 3000, 4000, 6000, 8000, 10000, 12000, 14000, 16000, 20000)
SWITCHES = {"off": (fastopen.OFF, fastopen.OFF), "on": (fastopen.ON, fastopen.ON),
            "refused": (fastopen.ON, fastopen.CLIENT_BIT)}
"""net.ipv4.tcp_fastopen of client and server. Refused: the client knows a cookie from before, the server takes none."""
FIGURES = ROOT / FIGURES_FOLDER
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


def main() -> int:
    """Measure, print the table and draw the figure; the exit status is 1 when not even the lowest rate counted."""
    arguments = parse_arguments()
    begin_experiment("./experiments/server_load.py")
    check_programs()
    require_two_cores()
    with only_experiment(), temporary_directory() as work_dir, running_star([SERVER], SPEEDS, netem=False) as star:
        client = compile_client(work_dir)
        separate_cores(star)
        wait_for_quiet(arguments.patience)      # what others do on the server's core counts, too
        with running_pinned(star, work_dir):
            samples = measure(Bench(star, client), arguments)
    print("", *server_load_lines(load_points(samples)), sep="\n")
    FIGURES.mkdir(exist_ok=True)
    write_table(FIGURES / "server-load-nginx.csv", [asdict(sample) for sample in samples])
    draw_server_load(load_points(samples), FIGURES / "server-load-nginx.png")
    print("output-figures/server-load-nginx.png")
    return 0 if any(sample.counts for sample in samples) else 1


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--rates", type=Several(Whole(2, 100_000)), default=RATES,
                        help=f"requests a second ({' '.join(map(str, RATES))})")
    parser.add_argument("--repeats", type=Whole(1, 10), default=5, help="how often each rate is measured (%(default)s)")
    parser.add_argument("--seconds", type=Decimal(0.5, 15), default=4.0, help="for how long each time (%(default)g)")
    add_patience(parser)
    return parser.parse_args()


def compile_client(work_dir: Path) -> Path:
    """Return the compiled client. Raises ExperimentError with what the compiler says."""
    client = work_dir / "http_load"
    run(["gcc", "-O2", "-o", str(client), str(ROOT / "experiments" / "http_load.c"), "-lm"], "compiling the client")
    return client


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
    """Run nginx, one process, on the server's core. Raises as `running_nginx`."""
    server, home = star.servers[SERVER], work_dir / "nginx"
    home.mkdir()
    (home / PATH.strip("/")).write_bytes(bytes(FILE_BYTES))
    with running_nginx(server, home, NGINX.format(address=server.address, port=PORT),
                       ["taskset", "-c", str(SERVER_CORE)]):
        yield


class Bench:
    """The two hosts, and the compiled client."""

    def __init__(self, star: Star, client: Path) -> None:
        self.star, self.client = star, client
        self.server: Host = star.servers[SERVER]

    def request(self, rate: float, seconds: float, tfo: bool) -> dict[str, Any]:
        """Have the client begin `rate` requests a second; return what it prints (experiments/http_load.c)."""
        with inside(self.star.user.pid):
            printed = run(["taskset", "-c", str(CLIENT_CORE), str(self.client), self.server.address, str(PORT), PATH,
                        f"{rate:g}", f"{seconds:g}", str(int(tfo))], "sending requests")
        return dict(json.loads(printed))

    def switch(self, of_client: int, of_server: int) -> None:
        """Set net.ipv4.tcp_fastopen of both."""
        fastopen.set_fastopen([self.star.user.pid], of_client)
        fastopen.set_fastopen([self.server.pid], of_server)

    def counts(self) -> tuple[int, int]:
        """Return connections with data in the SYN, and packets both ways, both of the server and so far."""
        syn_data = fastopen.read_counters(self.server.pid)["TCPFastOpenPassive"]
        with inside(self.server.pid):
            return syn_data, packets(self.server.interface)


def measure(bench: Bench, arguments: argparse.Namespace) -> list[LoadSample]:
    """Measure each rate in each mode, the modes in turns; a mode ends with the first rate that does not count."""
    samples: list[LoadSample] = []
    modes = list(SWITCHES)
    for rate in sorted(arguments.rates):
        for repeat, mode in itertools.product(range(arguments.repeats), modes):
            sample = measure_once(bench, mode, rate, repeat, arguments.seconds)
            samples.append(sample)
            problem = "" if sample.counts else \
                f"; does not count ({sample.held:.0f} begun a second, {sample.failed} failed in all)"
            print(f"{rate:g} a second, {STYLES[mode][0]}: {sample.cpu:.1%} of a core, p50 {sample.p50_ms:.2f} ms"
                  f"{problem}", flush=True)
        modes = [mode for mode in modes
                 if all(sample.counts for sample in samples if (sample.mode, sample.rate) == (mode, rate))]
    return samples


def measure_once(bench: Bench, mode: str, rate: float, repeat: int, seconds: float) -> LoadSample:
    """Send requests at one rate, and read before and after what they cost the server."""
    bench.switch(fastopen.ON, fastopen.ON)
    bench.request(rate=100, seconds=0.1, tfo=True)      # for the cookie
    bench.switch(*SWITCHES[mode])
    core, before = read_core(SERVER_CORE), bench.counts()
    found = bench.request(rate, seconds, tfo=mode != "off")
    cpu, after = read_core(SERVER_CORE).busy_since(core), bench.counts()
    syn_data, packets = ((now - then) / max(found["begun"], 1) for now, then in zip(after, before, strict=True))
    latencies = found["latencies_us"]
    return LoadSample(mode, rate, repeat, found["begun"] / found["seconds"], found["failed"], cpu,
                      percentile_ms(latencies, 0.5), percentile_ms(latencies, 0.99), syn_data, packets)


if __name__ == "__main__":
    run_interruptible(main)
