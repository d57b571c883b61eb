#!/usr/bin/env python3
"""Measure the replay server, and nginx beside it: answers a second, and the processor time that they take.

    benchmarks/server.py        # a minute; nginx is left out when it is not installed (apt install nginx-light)

What is spoken: HTTP/1.0, a connection for each answer; HTTP/1.1, all on one, each when the one before is there;
HTTP/2, all on one, up to 100 at a time. Printed are, as medians of the rounds, in which all servers take turns:

    answers/s           of a page of 642 small modules, seen from a client on the same cores
    us an answer        the server's processor time for each of these
    us a connection     the same of a connection with one such answer, its handshakes included
    ms a MB             the same of a large answer

The client is curl(1), which takes less than any server here. A round counts only if all bytes of all answers came.
"""

import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from experiments.nginx import nginx_program, serving_files
from harness.errors import ExperimentError, run_main
from harness.files.hosts import SCHEMES
from harness.files.pages import PageFiles
from harness.mirror.importing import MadeResource, write_small_recording
from harness.network.programs import running_servers
from harness.network.star import Host, Star, loopback_star
from harness.replay.authority import CERTIFICATE, open_authority
from harness.system.options import ROUNDS, OptionParser, Whole
from harness.system.processes import descendants
from harness.system.scratch import temporary_directory

SITE = "www.example.test"
SMALL_BYTES, LARGE_BYTES = 900, 5_000_000
LARGE = "/large.js"
CONNECTIONS = 20
LIMIT_S = 120.0
ASKED = (("sec-ch-ua-platform", '"Linux"'), ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, "
          "like Gecko) Chrome/143.0.0.0 Safari/537.36"), ("sec-ch-ua", '"Chromium";v="143", "Not A(Brand";v="24"'),
         ("sec-ch-ua-mobile", "?0"), ("origin", f"https://{SITE}"), ("accept", "*/*"),
         ("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "script"),
         ("referer", f"https://{SITE}/"), ("accept-encoding", "gzip, deflate, br, zstd"),
         ("accept-language", "en-US,en;q=0.9"), ("priority", "u=1"))
"""What Chrome says of each such request, all of which a server has to read."""
CURL = {"HTTP/1.0": ("http", ["--http1.0"]), "HTTP/1.1": ("http", ["--http1.1"]),
        "HTTP/2": ("https", ["--http2", "--parallel", "--parallel-max", "100"])}
"""The scheme, and how curl is told to speak so."""
Visit = Callable[[Sequence[str]], int]
"""Asks for all these paths on a new connection; returns how many bytes of bodies came."""


@dataclass(frozen=True)
class Way:
    """How one of the servers, which is these processes, is asked."""

    server: str
    spoken: str
    pids: Sequence[int]
    visit: Visit

    def measure(self, modules: Sequence[str]) -> tuple[float, ...]:
        """Return answers/s, us an answer, us a connection, ms a MB. Raises ExperimentError when not all came."""
        began_s = time.perf_counter()
        of_all_s = self._spent_s([modules], SMALL_BYTES)
        took_s = time.perf_counter() - began_s
        of_one_s = self._spent_s([modules[:1]] * CONNECTIONS, SMALL_BYTES) / CONNECTIONS
        of_large_s = self._spent_s([[LARGE]], LARGE_BYTES) - of_one_s
        return (len(modules) / took_s, of_all_s / len(modules) * 1e6, of_one_s * 1e6, of_large_s / LARGE_BYTES * 1e9)

    def _spent_s(self, visits: Sequence[Sequence[str]], body_bytes: int) -> float:
        before_s = self._processor_s()
        for paths in visits:
            came = self.visit(paths)
            if came != len(paths) * body_bytes:
                raise ExperimentError(f"{self.server}, {self.spoken}: {len(paths)} answers of {body_bytes} bytes were "
                                      f"asked for, and {came} bytes came")
        return self._processor_s() - before_s

    def _processor_s(self) -> float:
        """Return the processor time that its threads have had, also those that are over (clock_getcpuclockid(3))."""
        return sum(time.clock_gettime(~pid << 3 | 2) for pid in self.pids)


@dataclass(frozen=True)
class Bench:
    """Where all servers have what they answer, in the folder of `files`, and listen, each on an address of its own."""

    files: PageFiles
    port: int
    """Over TLS the next one."""

    @contextmanager
    def replay(self, star: Star, http: str, kind: str, *spoken: str) -> Iterator[list[Way]]:
        """Run a replay server as the one of `star`; give the ways to ask it."""
        [(name, host)] = star.servers.items()
        work_dir = self.files.base / name
        work_dir.mkdir()
        settings = {"port": self.port, "http": http, "server": kind}
        with running_servers(star, self.files.mirror, self.files.fetchlog, settings, work_dir, logdir=work_dir,
                             names={name: (SITE,)}, authority=self._authority) as running:
            yield self._ways(host, [running.process.pid, *descendants(running.process.pid)], spoken)

    @contextmanager
    def nginx(self, star: Star, *spoken: str) -> Iterator[list[Way]]:
        """Run nginx in the same way, with an access log as the replay has."""
        [host] = star.servers.values()
        with serving_files(host, self.files.base / "nginx", self.files.mirror / SITE,
                           open_authority(self._authority).certified([SITE]), self.port) as pid:
            yield self._ways(host, [pid], spoken)

    @property
    def _authority(self) -> Path:
        return self.files.base / "authority"

    def _ways(self, host: Host, pids: Sequence[int], spoken: Sequence[str]) -> list[Way]:
        return [Way(host.name, each, pids, partial(self._by_curl, host.address, *CURL[each])) for each in spoken]

    def _by_curl(self, address: str, scheme: str, how: Sequence[str], paths: Sequence[str]) -> int:
        port = self.port + (scheme == "https")
        command = ["curl", "--silent", *how, "--cacert", str(self._authority / CERTIFICATE), "--connect-to",
                   f"::{address}:{port}", *(word for name, value in ASKED for word in ("-H", f"{name}: {value}")),
                   "--config", "-"]
        done = subprocess.run(command, input="".join(f"url = {scheme}://{SITE}{path}\n" for path in paths).encode(),
                              capture_output=True, check=False, timeout=LIMIT_S)
        if done.returncode:
            raise ExperimentError(f"{scheme}://{address}:{port}: curl ends with {done.returncode} (curl(1))")
        return len(done.stdout)


def main() -> int:
    """Run the benchmark."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--modules", type=Whole(1, 10_000), default=642, help="answers a round (%(default)s)")
    parser.add_argument("--rounds", type=ROUNDS, default=7, help="rounds of each (%(default)s)")
    options = parser.parse_args()
    modules = [f"/part-{number}.js" for number in range(options.modules)]
    with temporary_directory() as home, ExitStack() as running:
        ways = [way for server in servers(make_recording(home, modules)) for way in running.enter_context(server)]
        rounds = [[way.measure(modules) for way in ways] for _ in range(options.rounds)]
    print("server", "spoken", "answers/s", "us an answer", "us a connection", "ms a MB", sep="\t")
    for way, measured in zip(ways, zip(*rounds, strict=True), strict=True):
        rate, answer_us, connection_us, large_ms = map(statistics.median, zip(*measured, strict=True))
        print(f"{way.server}\t{way.spoken}\t{rate:.0f}\t{answer_us:.0f}\t{connection_us:.0f}\t{large_ms:.2f}")
    return 0


def make_recording(home: Path, modules: Sequence[str]) -> PageFiles:
    """Write the recording of all that is asked for, over http and https."""
    files, small = PageFiles(home, "Web"), MadeResource("text/javascript", b"/" * SMALL_BYTES)
    resources = {LARGE: MadeResource("text/javascript", b"/" * LARGE_BYTES), **dict.fromkeys(modules, small)}
    write_small_recording(files, {f"{scheme}://{SITE}{path}": resource
                                  for scheme in SCHEMES for path, resource in resources.items()})
    return files


def servers(files: PageFiles) -> list[AbstractContextManager[list[Way]]]:
    """Return what runs each server and gives the ways to ask it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        bench = Bench(files, free.getsockname()[1])
    star = loopback_star(["replay", "replay --http 1.0", "replay --server 2013", "nginx"])
    alone = [replace(star, servers={name: host}) for name, host in star.servers.items()]
    return [bench.replay(alone[0], "h2", "threaded", "HTTP/1.1", "HTTP/2"),
            bench.replay(alone[1], "1.0", "threaded", "HTTP/1.0"), bench.replay(alone[2], "1.0", "2013", "HTTP/1.0"),
            *([bench.nginx(alone[3], *CURL)] if nginx_program() else [])]


if __name__ == "__main__":
    run_main(main)
