"""A web server with a processor core to itself, and its client on another: so the server's cost can be measured alone.

    client, core 0 -------- s0 -------- server, core 1        no delay, 1 Gbit/s
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from experiments import nginx
from experiments.cores import steer_packets
from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.mirror.importing import MadeResource, write_small_recording
from harness.network.programs import running_servers
from harness.network.star import LinkSpeeds, Star
from harness.system.namespaces import inside
from harness.system.privileges import as_root, browsing_user, give
from harness.system.processes import descendants

CLIENT_CORE, SERVER_CORE = 0, 1
SERVER, PORT, PATH, FILE_BYTES = "server.test", 8080, "/5k", 5000
SPEEDS = LinkSpeeds(bw_net_mbit=1000, delay_net_ms=0)
CLIENT_PORTS = "1024 65535"
"""Each request is a connection of its own, whose port is taken for a while."""
NGINX = ("access_log off; keepalive_timeout 0; default_type text/plain; "
         "server {{ listen {address}:{port} fastopen=4096 backlog=4096; root .; }}")


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


@contextmanager
def running_nginx(star: Star, work_dir: Path) -> Iterator[list[int]]:
    """Run nginx, one process, on the server's core; give it. Raises as `nginx.running_nginx`."""
    server, home = star.servers[SERVER], work_dir / "nginx"
    home.mkdir()
    (home / PATH.strip("/")).write_bytes(bytes(FILE_BYTES))
    with nginx.running_nginx(server, home, NGINX.format(address=server.address, port=PORT),
                             ["taskset", "-c", str(SERVER_CORE)]) as pid:
        yield [pid]


@contextmanager
def running_own(star: Star, work_dir: Path) -> Iterator[list[int]]:
    """Run the project's replay server with such a file on the server's core; give its processes."""
    url, directory, user = f"http://{SERVER}{PATH}", work_dir / "own", browsing_user()
    files = PageFiles(directory, "file")
    (directory / "logs").mkdir(parents=True)
    write_small_recording(files, {url: MadeResource("text/plain", bytes(FILE_BYTES))})
    give(directory, user)
    with running_servers(star, files.mirror, files.fetchlog, {"port": PORT}, work_dir, logdir=directory / "logs",
                         user=user) as servers:
        pids = [servers.process.pid, *descendants(servers.process.pid)]
        with as_root():
            for pid in pids:
                os.sched_setaffinity(pid, {SERVER_CORE})
        yield pids


SERVERS: dict[str, Callable[[Star, Path], AbstractContextManager[list[int]]]] = {
    "nginx": running_nginx, "own": running_own}
