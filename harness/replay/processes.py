"""All replay servers of an experiment: one process per address, forked from one parent that has everything loaded.

The parent starts them, says when all listen, watches them, and ends them. A child enters its network namespace,
binds, opens its logs and its part of the mirror, gives up root, and serves.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import EADDRINUSE, EADDRNOTAVAIL
from pathlib import Path
from typing import IO

from harness.errors import ExperimentError, InputError
from harness.files.load_mark import LoadMark
from harness.files.server_log import RequestLog
from harness.replay.body import Bodies
from harness.replay.connection import Endpoint, Service
from harness.replay.server import MOST_THREADS, QUEUE_2013, Logs, ReplayServer
from harness.system.namespaces import enter
from harness.system.privileges import User, as_root, become, unprivileged
from harness.system.processes import HIGHEST_PRIORITY, die_with_parent
from harness.system.tcp import QUEUE, listen, listen_to_datagrams

STARTING_LIMIT_S = 30.0
STARTING_POLL_S = 0.02
COOKIE_KEY_BYTES = 16
"""Of TCP_FASTOPEN_KEY (net/ipv4/tcp_fastopen.c)."""
OURS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True)
class ServerHost:
    """An address that is served, for the hosts of these `names`, one or more.

    `namespace` is the path of its network namespace, None for the present one.
    """

    names: tuple[str, ...]
    address: str
    namespace: Path | None

    @property
    def name(self) -> str:
        """What it is called: its first host."""
        return self.names[0]


@dataclass(frozen=True)
class ServingOptions:
    """How all servers serve. `log_dirs` are the directories for TFO off and on by the one-way delay in ms, which
    `mark` tells; empty for no logs.

    `balancer`: so many sockets share each port, each with a cookie key of its own, as the servers behind a load
    balancer may have.
    """

    mirror_dir: Path
    single_threaded: bool
    log_dirs: Mapping[float, tuple[Path, Path]]
    user: User | None
    mark: LoadMark
    balancer: int = 1


def run_servers(hosts: list[ServerHost], services: dict[ServerHost, list[Service]], options: ServingOptions) -> int:
    """Run a server for each of `hosts` until SIGTERM or SIGINT; print ``ready <n>`` when all of them listen.

    `services` are theirs, one or more.

    Returns the exit status: 0 after SIGTERM or SIGHUP, 130 after SIGINT. Raises InputError when one cannot listen and
    ExperimentError when one ends by itself; no child is left in any case.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, OURS)
    _go_before_chrome()
    gc.collect()
    gc.freeze()    # the collector must not touch, and so copy, what the children share
    children: dict[int, str] = {}
    try:
        read_ready, write_ready = os.pipe()
        for host in hosts:
            children[_start(host, services[host], options, read_ready, write_ready)] = host.name
        os.close(write_ready)
        with os.fdopen(read_ready, "rb", buffering=0) as ready:
            number = _await_signal(children, ready)
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


def _start(host: ServerHost, services: list[Service], options: ServingOptions, read_ready: int,
           write_ready: int) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.close(read_ready)
        status = _run_child(host, services, options, parent, write_ready)
    except BaseException:  # noqa: BLE001 (nothing may return into the parent's code, which reports this child's end)
        traceback.print_exc()
    finally:
        os._exit(status)


def _run_child(host: ServerHost, services: list[Service], options: ServingOptions, parent: int,
               write_ready: int) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)    # Ctrl-C reaches the whole group; the parent ends us
    signal.pthread_sigmask(signal.SIG_UNBLOCK, OURS)
    try:
        server = _make_server(host, services, options)
    except InputError as error:
        with suppress(BrokenPipeError):
            os.write(write_ready, f"{error}\n".encode())
        os._exit(error.status)      # with its sockets open: nobody is to hear of that beside the error
    die_with_parent(parent)     # after become(): the kernel forgets it when the user changes (prctl(2))
    try:
        os.write(write_ready, b"\n")
    except BrokenPipeError:
        return 1            # another child could not listen: the parent has ended, and has said so
    os.close(write_ready)
    server.serve()
    return 0


def _make_server(host: ServerHost, services: list[Service], options: ServingOptions) -> ReplayServer:
    keys = [os.urandom(COOKIE_KEY_BYTES) for _ in range(options.balancer)] if options.balancer > 1 else [None]
    endpoints = [Endpoint(service, _listen(host, service.port, options, key),
                          listen_to_datagrams(host.address, service.port) if service.quic is not None else None)
                 for service in services for key in keys]
    logs = _open_logs(host.names, options)
    sites = [site for service in services for site in service.sites]
    own = {site.host for site in sites if site.files}
    directories = _open_directories(own.union(*(site.lenders for site in sites)), options)
    server = ReplayServer(endpoints, Bodies(directories), logs, options.mark,
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


def _open_logs(names: Sequence[str], options: ServingOptions) -> dict[float, tuple[Logs, Logs]]:
    """Open each server's logs by the one-way delay (ms) and TFO off and on."""
    if not options.log_dirs:
        nowhere = dict.fromkeys(names, RequestLog(Path(os.devnull)))
        return {0.0: (nowhere, nowhere)}
    try:
        return {delaynet_ms: ({name: RequestLog(off / name) for name in names},
                              {name: RequestLog(on / name) for name in names})
                for delaynet_ms, (off, on) in options.log_dirs.items()}
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}; give a --logdir that can be written") from None


def _open_directories(names: Iterable[str], options: ServingOptions) -> dict[str, int]:
    try:
        return {name: os.open(options.mirror_dir / name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
                for name in names}
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}; is this a directory of the mirror?") from None


def _await_signal(children: dict[int, str], ready: IO[bytes]) -> int:
    """Say when all children listen, as an empty line of each in `ready` tells; return the signal that is to end them.

    Raises InputError when a line tells why one cannot listen, ExperimentError when a server ends by itself.
    """
    os.set_blocking(ready.fileno(), False)
    heard, count, deadline = b"", len(children), time.monotonic() + STARTING_LIMIT_S
    number: int | None = None
    while number in (None, signal.SIGCHLD):
        starts = (listening := heard.count(b"\n")) < count
        if starts:
            heard += ready.read() or b""
            if problem := heard.strip(b"\n"):
                raise InputError(problem.partition(b"\n")[0].decode())
            if heard.count(b"\n") == count:
                print(f"ready {count}", flush=True)
            elif time.monotonic() > deadline:
                raise ExperimentError(f"only {listening} of {count} servers listen after {STARTING_LIMIT_S:g} s")
        for pid, host in list(children.items()) if number else ():
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del children[pid]
                raise ExperimentError(f"{host}: its server ended (status {os.waitstatus_to_exitcode(status)})")
        found = signal.sigtimedwait(OURS, STARTING_POLL_S) if starts else signal.sigwaitinfo(OURS)
        number = found.si_signo if found else None
    assert number is not None
    return number
