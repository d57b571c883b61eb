"""All replay servers of an experiment: one process per address, forked from one parent that has everything loaded.

The parent starts them, says when all listen, watches them, and ends them. A child enters its network namespace,
binds, opens its logs and its part of the mirror, gives up root, and serves.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EADDRINUSE, EADDRNOTAVAIL
from pathlib import Path

from harness.errors import ExperimentError, InputError
from harness.files.load_mark import LoadMark
from harness.files.server_log import RequestLog, directory_name
from harness.replay.body import Bodies
from harness.replay.connection import Endpoint, Service
from harness.replay.server import MOST_THREADS, QUEUE_2013, Logs, ReplayServer
from harness.system.fastopen import FastOpenSwitch
from harness.system.namespaces import enter
from harness.system.privileges import User, as_root, become, unprivileged
from harness.system.processes import HIGHEST_PRIORITY, die_with_parent
from harness.system.tcp import QUEUE, listen, listen_to_datagrams

STARTING_LIMIT_S = 30.0
LISTENS = b"\n"
"""What a server's process says when it listens; else why it cannot, in SAID_BYTES at most."""
SAID_BYTES = 4096
COOKIE_KEY_BYTES = 16
"""Of TCP_FASTOPEN_KEY (net/ipv4/tcp_fastopen.c)."""
OURS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True, eq=False)
class ServerHost:
    """An address that is served, in the network namespace of this path (None: the present one), and what it serves."""

    address: str
    namespace: Path | None
    services: Sequence[Service]

    @property
    def name(self) -> str:
        """What it is called: one of its hosts."""
        return self.services[0].sites[0].host


@dataclass(frozen=True)
class ServingOptions:
    """How all servers serve. Below `logdir` (None: no logs) each of these one-way delays in ms, without and with TFO,
    has logs of its own; `mark` tells which delay it is now, and another one counts as the first.

    `balancer`: so many sockets share each port, each with a cookie key of its own, as the servers behind a load
    balancer may have.
    """

    mirror_dir: Path
    single_threaded: bool
    logdir: Path | None
    delays_ms: Sequence[float]
    user: User | None
    mark: LoadMark
    balancer: int = 1


def run_servers(hosts: Iterable[ServerHost], options: ServingOptions) -> int:
    """Run a server for each of `hosts` until SIGTERM or SIGINT; print ``ready <n>`` when all of them listen.

    Returns the exit status: 0 after SIGTERM or SIGHUP, 130 after SIGINT. Raises InputError when one cannot listen and
    ExperimentError when one ends by itself; no child is left in any case.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, OURS)
    _go_before_chrome()
    gc.collect()
    gc.freeze()    # the collector must not touch, and so copy, what the children share
    children: dict[int, str] = {}
    try:
        for host in hosts:
            _start(host, options, children)
        print(f"ready {len(children)}", flush=True)
        while (number := signal.sigwaitinfo(OURS).si_signo) == signal.SIGCHLD:
            for pid, name in children.items():
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    del children[pid]
                    raise ExperimentError(f"{name}: its server ended (status {os.waitstatus_to_exitcode(status)})")
        return 130 if number == signal.SIGINT else 0
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)        # not reaped yet, so the pid is still this child's
        for pid in children:
            os.waitpid(pid, 0)


def _go_before_chrome() -> None:
    """Give the servers precedence on the processors: they stand for other machines, which wait for no browser."""
    with suppress(PermissionError), as_root():
        os.setpriority(os.PRIO_PROCESS, 0, HIGHEST_PRIORITY)


def _start(host: ServerHost, options: ServingOptions, children: dict[int, str]) -> None:
    """Fork a server, note it among the children by its pid, and wait until it listens."""
    parent, (read_end, write_end) = os.getpid(), os.pipe()
    pid = os.fork()
    if not pid:
        try:
            _run_child(host, options, parent, write_end)
        except BaseException:  # noqa: BLE001 (nothing may return into the parent's code, which reports this child's end)
            traceback.print_exc()
        finally:
            os._exit(1)
    children[pid] = host.name
    os.close(write_end)
    poll = select.poll()
    poll.register(read_end, select.POLLIN)
    ended = bool(poll.poll(STARTING_LIMIT_S * 1000))
    said = os.read(read_end, SAID_BYTES) if ended else b""
    os.close(read_end)
    if not said:
        how = "has ended" if ended else f"does not listen after {STARTING_LIMIT_S:g} s"
        raise ExperimentError(f"{host.name}: its server {how}")
    if said != LISTENS:
        raise InputError(said.decode(errors="replace"))


def _run_child(host: ServerHost, options: ServingOptions, parent: int, write_end: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)    # Ctrl-C reaches the whole group; the parent ends us
    signal.pthread_sigmask(signal.SIG_UNBLOCK, OURS)
    try:
        server = _make_server(host, options)
    except InputError as error:
        os.write(write_end, str(error).encode()[:SAID_BYTES])
        os._exit(error.status)      # with its sockets open: nobody is to hear of that beside the error
    die_with_parent(parent)     # after become(): the kernel forgets it when the user changes (prctl(2))
    os.write(write_end, LISTENS)
    os.close(write_end)
    server.serve()


def _make_server(host: ServerHost, options: ServingOptions) -> ReplayServer:
    keys = [os.urandom(COOKIE_KEY_BYTES) for _ in range(options.balancer)] if options.balancer > 1 else [None]
    endpoints = [Endpoint(service, _listen(host, service.port, options, key),
                          listen_to_datagrams(host.address, service.port) if service.quic is not None else None)
                 for service in host.services for key in keys]
    sites = [site for service in host.services for site in service.sites]
    logs = _open_logs({site.host for site in sites}, options)
    with _opened("is this a directory of the mirror?"):
        directories = {name: os.open(options.mirror_dir / name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
                       for name in {lender for site in sites for lender in site.lenders}}
    server = ReplayServer(endpoints, Bodies(directories), logs, lambda: options.mark.load().early,
                          most_threads=1 if options.single_threaded else MOST_THREADS)
    become(unprivileged(options.user))
    return server


def _listen(host: ServerHost, port: int, options: ServingOptions, cookie_key: bytes | None) -> socket.socket:
    try:
        if host.namespace is not None:
            with as_root():
                enter(host.namespace)
        return listen(host.address, port, QUEUE_2013 if options.single_threaded else QUEUE, cookie_key)
    except OSError as error:
        advice = {EADDRINUSE: "stop what listens there or choose another --port",
                  EADDRNOTAVAIL: "give an address of this host"}.get(error.errno or 0, "is the network up?")
        problem = (error.strerror or str(error)).lower()
        raise InputError(f"{host.address}:{port}: {problem}; {advice}") from None


def _open_logs(names: Iterable[str], options: ServingOptions) -> Callable[[], Logs]:
    """Return what says where requests are logged now: loads at several delays, without and with TFO, take turns."""
    if options.logdir is None:
        nowhere = dict.fromkeys(names, RequestLog(Path(os.devnull)))
        return lambda: nowhere
    with _opened("give a --logdir that can be written"):
        logs = {(delay_ms, tfo): {name: RequestLog(options.logdir / directory_name(delay_ms, tfo) / name)
                                  for name in names} for delay_ms in options.delays_ms for tfo in (False, True)}
    switch = FastOpenSwitch()

    def logs_of_now() -> Logs:
        delay_ms, tfo = options.mark.load().delaynet_ms, switch.server_enabled()
        return logs[delay_ms if delay_ms in options.delays_ms else options.delays_ms[0], tfo]

    return logs_of_now


@contextmanager
def _opened(advice: str) -> Iterator[None]:
    """Raise InputError with this advice for what cannot be opened."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}; {advice}") from None
