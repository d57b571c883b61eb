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

A server of several sites (harness.files.hosts) gives its cookie for all of them, so sites that share a server are one.
"""

import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from ctypes import addressof, create_string_buffer
from functools import partial
from struct import pack

from harness.files.hosts import joined, site_of
from harness.files.load_parts import CookieMode
from harness.network.arrivals import ETH_P_IP, HEADERS_BYTES, Said, read_packet
from harness.network.star import Host, Star
from harness.system import fastopen
from harness.system.background import beside
from harness.system.namespaces import inside, run_batch
from harness.system.processes import run

WARM: CookieMode = "warm"
DOMAIN: CookieMode = "domain"
LOOK_S, LEAST_S = 0.05, 0.001
"""How often it is looked whether the load is over, and the shortest wait for a packet."""
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
    with _sharing(star, held_ms, sites_of_servers(names)) if mode == DOMAIN else nullcontext():
        yield


@contextmanager
def _sharing(star: Star, held_ms: Mapping[str, float], site_of: Mapping[str, str]) -> Iterator[None]:
    """Share each site's first cookie among its servers while this lasts; afterwards all is as before."""
    shared: list[Host] = []
    program = create_string_buffer(b"".join(pack("HBBI", *instruction) for instruction in SYNS_ONLY))
    with inside(star.user.pid):
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    with packets:
        packets.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pack("HP", len(SYNS_ONLY), addressof(program)))
        packets.bind((star.user.interface, ETH_P_IP))
        try:
            with beside(partial(_share, packets, star, site_of, held_ms, shared), "cookies"):
                yield
        finally:
            fastopen.set_fastopen([server.pid for server in shared], fastopen.ON)
            _route(star.user, "delete", shared)


def _share(packets: socket.socket, star: Star, site_of: Mapping[str, str], held_ms: Mapping[str, float],  # noqa: PLR0917
           shared: list[Host], ended: threading.Event) -> None:
    """Until it has `ended`, make the cookies of a site's other servers known when its first one has reached `user`.

    It comes in before that, and is held. Those servers are added to `shared`.
    """
    names = {host.address: name for name, host in star.servers.items()}
    due_s: dict[str, tuple[float, list[Host]]] = {}
    while not ended.is_set():
        next_s = min((at_s for at_s, others in due_s.values() if others), default=float("inf"))
        packets.settimeout(min(LOOK_S, max(LEAST_S, next_s - time.monotonic())))
        with suppress(TimeoutError):
            address, said = read_packet(packets.recv(HEADERS_BYTES))
            name = names.get(address)
            if said is Said.COOKIE and name:
                others = [host for other, host in star.servers.items()
                          if site_of[other] == site_of[name] and other != name]
                due_s.setdefault(site_of[name], (time.monotonic() + held_ms[address] / 1000, others))
        for at_s, others in due_s.values():
            if others and at_s <= time.monotonic():
                fastopen.set_fastopen([server.pid for server in others], fastopen.ON | fastopen.NO_COOKIE_NEEDED)
                shared += others
                _route(star.user, "replace", others)
                others.clear()


def _route(user: Host, what: str, servers: Sequence[Host]) -> None:
    """Replace or delete the routes from `user` to single servers that need no cookie."""
    no_cookie = " fastopen_no_cookie 1" if what == "replace" else ""
    commands = [f"route {what} {server.address}/32 dev {user.interface} scope link{no_cookie}" for server in servers]
    if commands:
        run_batch(user.pid, "ip", commands, "sharing TFO cookies")


def sites_of_servers(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the site that each server is of, by the names that it answers for; sites that share one are one."""
    one_of = joined([sorted(set(map(site_of, hosts))) for hosts in names.values()])
    return {server: one_of[site_of(hosts[0])] for server, hosts in names.items()}
