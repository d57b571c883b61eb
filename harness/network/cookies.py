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

import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import addressof, create_string_buffer
from dataclasses import dataclass, field
from struct import pack
from typing import Any

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
DOMAIN: CookieMode = "domain"
LOOK_S = 0.05
"""How often it is looked whether the load is over."""
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
    """Let `user` know of cookies what `mode` says, for as long as one load with TFO lasts.

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
    sharing, ended = _Sharing(star, sites_of_servers(names), held_ms), threading.Event()
    with _syns_at(star.user) as packets:
        thread = threading.Thread(target=sharing.noting_problems(sharing.listen), args=(packets, ended), name="cookies")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            sharing.undo()
    if sharing.problem is not None:
        raise ExperimentError(f"sharing TFO cookies: {sharing.problem}")


def sites_of_servers(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the site that each server is of, by the names that it answers for; sites that share one are one."""
    one_of = joined([sorted(set(map(site_of, hosts))) for hosts in names.values()])
    return {server: one_of[site_of(hosts[0])] for server, hosts in names.items()}


@contextmanager
def _syns_at(user: Host) -> Iterator[socket.socket]:
    """Give a socket that receives the headers of the SYN-ACKs that reach `user`."""
    program = create_string_buffer(b"".join(pack("HBBI", *instruction) for instruction in SYNS_ONLY))
    with inside(user.pid):
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    with packets:
        packets.settimeout(LOOK_S)
        packets.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pack("HP", len(SYNS_ONLY), addressof(program)))
        packets.bind((user.interface, ETH_P_IP))
        yield packets


@dataclass
class _Sharing:
    """Makes the cookies of a site's other servers known when its first one has reached `user`."""

    star: Star
    site_of: Mapping[str, str]
    held_ms: Mapping[str, float]
    problem: Exception | None = None
    _due: list[threading.Timer] = field(default_factory=list)
    _shared: list[Host] = field(default_factory=list)

    def noting_problems(self, work: Callable[..., None]) -> Callable[..., None]:
        """Return `work` as a thread does it, whose end nobody would see otherwise, and the load would count."""
        def careful(*arguments: Any) -> None:
            try:
                work(*arguments)
            except Exception as error:  # noqa: BLE001 (whatever it is)
                self.problem = error
        return careful

    def listen(self, packets: socket.socket, ended: threading.Event) -> None:
        """Until it has `ended`, wait for the cookies that come in, which are held before `user` gets them."""
        names, known = {host.address: name for name, host in self.star.servers.items()}, set()
        while not ended.is_set():
            try:
                address, said = read_packet(packets.recv(HEADERS_BYTES))
            except TimeoutError:
                continue
            site = self.site_of.get(names.get(address, ""))
            if said is Said.COOKIE and site and site not in known:
                known.add(site)
                others = [host for name, host in self.star.servers.items()
                          if self.site_of[name] == site and host.address != address]
                self._due.append(threading.Timer(self.held_ms[address] / 1000,
                                                 self.noting_problems(self._make_known), [others]))
                self._due[-1].start()

    def undo(self) -> None:
        """Take the routes back, and the servers' settings."""
        for timer in self._due:
            timer.cancel()
            timer.join()
        fastopen.set_fastopen([server.pid for server in self._shared], fastopen.ON)
        self._route("delete", self._shared)

    def _make_known(self, servers: Sequence[Host]) -> None:
        fastopen.set_fastopen([server.pid for server in servers], fastopen.ON | fastopen.NO_COOKIE_NEEDED)
        self._shared += servers
        self._route("replace", servers)

    def _route(self, what: str, servers: Sequence[Host]) -> None:
        """Replace or delete the routes to single servers that need no cookie."""
        no_cookie = " fastopen_no_cookie 1" if what == "replace" else ""
        commands = [f"route {what} {server.address}/32 dev {self.star.user.interface} scope link{no_cookie}"
                    for server in servers]
        if commands:
            with inside(self.star.user.pid):
                run(["ip", "-batch", "-"], "sharing TFO cookies", given="\n".join(commands) + "\n")
