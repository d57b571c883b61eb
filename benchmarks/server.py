#!/usr/bin/env python3
"""Measure the replay server, and nginx beside it: answers a second, and the processor time that they take.

    benchmarks/server.py        # a minute; nginx is left out when it is not installed (apt install nginx-light)

What is spoken: HTTP/1.0, a connection for each answer; HTTP/1.1, all on one, each when the one before is there;
HTTP/2, all on one, up to 100 at a time. Printed are, as medians of the rounds, in which all servers take turns:

    answers/s           of a page of 642 small modules, seen from a client on the same cores
    us an answer        the server's processor time for each of these
    us a connection     the same of a connection with one such answer, its handshakes included

The client is curl(1), which takes less than any server here. A round counts only if all bytes of all answers came.
"""

import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
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
MODULE_BYTES = 900
AUTHORITY = "authority"
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
NGINX = "nginx"
SPOKEN = {"replay": ("HTTP/1.1", "HTTP/2"), "replay --http 1.0": ("HTTP/1.0",), "replay --server 2013": ("HTTP/1.0",),
          NGINX: tuple(CURL)}
SETTINGS = {"replay": {"http": "h2"}, "replay --http 1.0": {"http": "1.0"},
            "replay --server 2013": {"http": "1.0", "server": "2013"}}
"""Those of harness.measure.settings with which a replay server runs."""


@dataclass(frozen=True)
class Way:
    """How one of the servers, which is these processes, is asked. Over TLS it listens on the port after `port`."""

    spoken: str
    host: Host
    port: int
    authority: Path
    pids: Sequence[int]

    def measure(self, modules: Sequence[str]) -> tuple[float, ...]:
        """Return answers/s, us an answer, us a connection. Raises ExperimentError when not all came."""
        began_s = time.perf_counter()
        of_all_s = self._spent_s([modules])
        took_s = time.perf_counter() - began_s
        of_one_s = self._spent_s([modules[:1]] * CONNECTIONS) / CONNECTIONS
        return len(modules) / took_s, of_all_s / len(modules) * 1e6, of_one_s * 1e6

    def _spent_s(self, visits: Sequence[Sequence[str]]) -> float:
        """Return the processor time that the server takes for all the paths of each visit, which is a connection."""
        before_s = self._processor_s()
        for paths in visits:
            came = self._visit(paths)
            if came != len(paths) * MODULE_BYTES:
                raise ExperimentError(f"{self.host.name}, {self.spoken}: {len(paths)} answers of {MODULE_BYTES} bytes "
                                      f"were asked for, and {came} bytes came")
        return self._processor_s() - before_s

    def _processor_s(self) -> float:
        """Return the processor time that its threads have had, also those that are over (clock_getcpuclockid(3))."""
        return sum(time.clock_gettime(~pid << 3 | 2) for pid in self.pids)

    def _visit(self, paths: Sequence[str]) -> int:
        """Ask for all these paths on a new connection, by curl; return how many bytes of bodies came."""
        scheme, how = CURL[self.spoken]
        at = f"{self.host.address}:{self.port + (scheme == 'https')}"
        command = ["curl", "--silent", *how, "--cacert", str(self.authority / CERTIFICATE), "--connect-to", f"::{at}",
                   *(word for name, value in ASKED for word in ("-H", f"{name}: {value}")), "--config", "-"]
        done = subprocess.run(command, input="".join(f"url = {scheme}://{SITE}{path}\n" for path in paths).encode(),
                              capture_output=True, check=False, timeout=LIMIT_S)
        if done.returncode:
            raise ExperimentError(f"{scheme}://{at}: curl ends with {done.returncode} (curl(1))")
        return len(done.stdout)


def main() -> int:
    """Run the benchmark."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--modules", type=Whole(1, 10_000), default=642, help="answers a round (%(default)s)")
    parser.add_argument("--rounds", type=ROUNDS, default=7, help="rounds of each (%(default)s)")
    options = parser.parse_args()
    modules = [f"/part-{number}.js" for number in range(options.modules)]
    with temporary_directory() as home, ExitStack() as stack:
        files = make_recording(home, modules)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        star = loopback_star([name for name in SPOKEN if name != NGINX or nginx_program()])
        ways = []
        for name, host in star.servers.items():
            pids = stack.enter_context(running(replace(star, servers={name: host}), name, files, port))
            ways += [Way(spoken, host, port, files.base / AUTHORITY, pids) for spoken in SPOKEN[name]]
        rounds = [[way.measure(modules) for way in ways] for _ in range(options.rounds)]
    print("server", "spoken", "answers/s", "us an answer", "us a connection", sep="\t")
    for way, measured in zip(ways, zip(*rounds, strict=True), strict=True):
        medians = (f"{statistics.median(figures):.0f}" for figures in zip(*measured, strict=True))
        print(way.host.name, way.spoken, *medians, sep="\t")
    return 0


@contextmanager
def running(star: Star, name: str, files: PageFiles, port: int) -> Iterator[list[int]]:
    """Run the only server of `star`, called so, with the recording in `files`; give its processes."""
    authority, work_dir = files.base / AUTHORITY, files.base / name
    if name == NGINX:       # with an access log, as the replay has one
        pems = open_authority(authority).certified([SITE])
        with serving_files(star.servers[name], work_dir, files.mirror / SITE, pems, port) as pid:
            yield [pid]
        return
    work_dir.mkdir()
    with running_servers(star, files.mirror, files.fetchlog, {"port": port, **SETTINGS[name]}, work_dir,
                         logdir=work_dir, names={name: (SITE,)}, authority=authority) as program:
        yield [program.process.pid, *descendants(program.process.pid)]


def make_recording(home: Path, modules: Sequence[str]) -> PageFiles:
    """Write the recording of all that is asked for, over http and https."""
    files, module = PageFiles(home, "Web"), MadeResource("text/javascript", b"/" * MODULE_BYTES)
    write_small_recording(files, {f"{scheme}://{SITE}{path}": module for scheme in SCHEMES for path in modules})
    return files


if __name__ == "__main__":
    run_main(main)
