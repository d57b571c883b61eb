"""What `user` knows of TFO cookies when a load begins, and what it learns of them meanwhile.

warm     all that the servers ever gave it: a return visit, which is what the paper measured
cold     nothing: a first visit. The first connection to a server asks for its cookie and carries no data; connections
         that begin once it has come do
domain   nothing, but a cookie is one for the site: when one server of a registrable domain has given its cookie, those
         of all its servers are known

Linux makes a cookie of both addresses of a connection (tcp_fastopen_cookie_gen in its net/ipv4/tcp_fastopen.c), so two
servers with one key give different ones; and the client's table of cookies can be read and emptied, not written to
(tcp_metrics_nl_ops in net/ipv4/tcp_metrics.c). So `domain` is the nearest thing that the kernel allows: from the moment
at which the first server's cookie is there, the routes to the site's other servers say that none is needed
(`fastopen_no_cookie`, ip-route(8)), and those accept data without one (net.ipv4.tcp_fastopen bit 0x200, ip-sysctl).
Such a SYN is like one with a cookie, but that its header lacks the 12 bytes of it.

A server of several sites (harness.files.layout) gives its cookie for all of them, so sites that share a server are one.
"""

import heapq
import os
import select
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ctypes import addressof, create_string_buffer
from dataclasses import dataclass, field
from struct import pack

from harness.errors import ExperimentError
from harness.files.layout import joined
from harness.files.load_parts import CookieMode
from harness.files.sites import site_of
from harness.network.arrivals import ETH_P_IP, HEADERS_BYTES, Said, read_packet
from harness.network.star import Host, Star
from harness.system import fastopen
from harness.system.commands import run
from harness.system.netns import inside

WARM: CookieMode = "warm"
COLD: CookieMode = "cold"
DOMAIN: CookieMode = "domain"
CHOICES = (WARM, COLD, DOMAIN)
SO_ATTACH_FILTER = 26
"""asm-generic/socket.h; Python has no name for it."""
SYNS_ONLY = ((0x30, 0, 0, 9), (0x15, 0, 4, socket.IPPROTO_TCP),     # the IP header's protocol, or skip 4
             (0xB1, 0, 0, 0), (0x50, 0, 0, 13),                     # behind that header: TCP's flags
             (0x45, 0, 1, 0x02), (0x06, 0, 0, HEADERS_BYTES), (0x06, 0, 0, 0))
"""A program of the kernel's packet filter (linux/filter.h): the headers of packets with the flag SYN, no others."""


def forget_cookies(user: Host) -> None:
    """Empty the kernel's table of cookies at `user` (ip-tcp_metrics(8)). Raises ExperimentError."""
    with inside(user.pid):
        run(["ip", "tcp_metrics", "flush", "all"], "forgetting the TFO cookies")


@contextmanager
def cookies_for_a_load(mode: CookieMode, star: Star, held_ms: Mapping[str, float],
                       names: Mapping[str, Sequence[str]]) -> Iterator[None]:
    """Let `user` know of cookies what `mode`, one of CHOICES, says, for as long as one load with TFO lasts.

    `held_ms`: for how long packets that have reached it are held, by their sender (harness.network.links.Delay).
    `names` are the hosts that each server answers for. Raises ExperimentError.
    """
    if mode != WARM:
        forget_cookies(star.user)
    if mode != DOMAIN:
        yield
        return
    with _sharing(star, held_ms, names):
        yield


@contextmanager
def _sharing(star: Star, held_ms: Mapping[str, float], names: Mapping[str, Sequence[str]]) -> Iterator[None]:
    """Share each site's first cookie among its servers while this lasts; afterwards all is as before."""
    with _syns_at(star.user) as packets:
        sharing = _Sharing(star.user, _sites(star, sites_of_servers(names)), packets, held_ms)
        sharing.start()
        try:
            yield
        finally:
            sharing.end()
            sharing.undo()
    if sharing.problem is not None:
        raise ExperimentError(f"sharing TFO cookies: {sharing.problem}")


def sites_of_servers(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the site that each server is of, by the names that it answers for; sites that share one are one."""
    one_of = joined([sorted(set(map(site_of, hosts))) for hosts in names.values()])
    return {server: one_of[site_of(hosts[0])] for server, hosts in names.items()}


def _sites(star: Star, site_by_server: Mapping[str, str]) -> dict[str, list[Host]]:
    """Return the servers by the site that they are of."""
    sites: dict[str, list[Host]] = defaultdict(list)
    for name, host in star.servers.items():
        sites[site_by_server[name]].append(host)
    return sites


@contextmanager
def _syns_at(user: Host) -> Iterator[socket.socket]:
    """Give a socket that receives the headers of the SYN-ACKs that reach `user`."""
    program = create_string_buffer(b"".join(pack("HBBI", *instruction) for instruction in SYNS_ONLY))
    with inside(user.pid):
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    with packets:
        packets.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pack("HP", len(SYNS_ONLY), addressof(program)))
        packets.bind((user.interface, ETH_P_IP))
        yield packets


@dataclass
class _Sharing:
    """Waits for each site's first cookie, and makes those of its other servers known when that has reached `user`."""

    user: Host
    sites: dict[str, list[Host]]
    packets: socket.socket
    held_ms: Mapping[str, float]
    problem: Exception | None = None
    _known: set[str] = field(default_factory=set)
    _shared: list[Host] = field(default_factory=list)

    def start(self) -> None:
        """Begin."""
        self._site_of = {server.address: site for site, servers in self.sites.items() for server in servers}
        self._stop, self._stopping = os.pipe()
        self._thread = threading.Thread(target=self._run, name="cookies", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End."""
        os.close(self._stopping)
        self._thread.join()
        os.close(self._stop)

    def undo(self) -> None:
        """Take the routes back, and the servers' settings."""
        fastopen.set_fastopen([server.pid for server in self._shared], fastopen.ON)
        self._route("delete", self._shared)

    def _run(self) -> None:
        try:
            self._share()
        except Exception as error:  # noqa: BLE001 (a thread's end is seen by nobody, and the load would count)
            self.problem = error

    def _share(self) -> None:
        """Until told to stop, make each site's first cookie known to its other servers, once it has reached `user`."""
        due: list[tuple[float, str, str]] = []
        packets, poll = self.packets.fileno(), select.poll()    # select() takes no descriptor over 1023
        poll.register(packets, select.POLLIN)
        poll.register(self._stop, select.POLLHUP)
        while True:
            wait_ms = None if not due else max(0.0, due[0][0] - time.monotonic()) * 1000
            # In whole ms, rounded down: less than the last one is spent asking, so that no cookie is known late.
            ready = [descriptor for descriptor, _ in poll.poll(None if wait_ms is None else int(wait_ms))]
            if self._stop in ready:
                return
            while due and due[0][0] <= time.monotonic():
                _, site, address = heapq.heappop(due)
                self._make_known([server for server in self.sites[site] if server.address != address])
            with suppress(BlockingIOError):
                while packets in ready:
                    address, said = read_packet(self.packets.recv(HEADERS_BYTES))
                    site = self._site_of.get(address, "")
                    if said is Said.COOKIE and site and site not in self._known:
                        self._known.add(site)
                        heapq.heappush(due, (time.monotonic() + self.held_ms[address] / 1000, site, address))

    def _make_known(self, servers: Sequence[Host]) -> None:
        fastopen.set_fastopen([server.pid for server in servers], fastopen.ON | fastopen.NO_COOKIE_NEEDED)
        self._shared += servers
        self._route("replace", servers)

    def _route(self, what: str, servers: Sequence[Host]) -> None:
        """Replace or delete the routes to single servers that need no cookie."""
        no_cookie = " fastopen_no_cookie 1" if what == "replace" else ""
        commands = [f"route {what} {server.address}/32 dev {self.user.interface} scope link{no_cookie}"
                    for server in servers]
        if commands:
            with inside(self.user.pid):
                run(["ip", "-batch", "-"], "sharing TFO cookies", given="\n".join(commands) + "\n")
