"""The test internet on loopback addresses: nginx (TLS, h2) without root, and a CA of its own.

    with serve() as internet:   # with the pages of today.py, too: serve(applications=True)
        internet.remap        # hack_dns file for fetch.py --remap
        internet.ca           # PEM file for fetch.py --ca
        internet.requests()   # what was asked for, "https://host/path" each
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import trustme

from harness.bootstrap import ROOT
from harness.system import companions
from harness.system.privileges import User, give, passable_temp_root
from harness.system.processes import stop
from tests.support.internet import today
from tests.support.internet.app import graphql_server
from tests.support.internet.site import EXPIRED, ONLY_HTTP_1, Host, make_hosts

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
NETWORK = "127.83.0."
START_S = 10.0
ACCOUNT = "nobody"


@dataclass(frozen=True)
class Internet:
    """A running test internet. `hosts` is what it serves."""

    directory: Path
    hosts: dict[str, Host]

    @property
    def remap(self) -> Path:
        """The hack_dns file that leads to it."""
        return self.directory / "remap"

    @property
    def ca(self) -> Path:
        """The certificate of its CA, as PEM."""
        return self.directory / "ca.pem"

    def requests(self) -> list[str]:
        """Return "METHOD URL" of every request so far that is over, in order of their ends."""
        return (self.directory / "access.log").read_text().splitlines()

    def requests_per_connection(self) -> list[int]:
        """Return how many requests each TLS connection has carried that carried one, in ascending order."""
        return sorted(Counter((self.directory / "connections.log").read_text().split()).values())


@contextlib.contextmanager
def serve(*, applications: bool = False) -> Iterator[Internet]:
    """Run the test internet; on leaving, end it and remove its files. Needs nginx, but no root.

    With `applications` the pages of today.py are there, too: a second more until it runs.
    """
    directory = Path(tempfile.mkdtemp(prefix="tfo-net-", dir=passable_temp_root()))
    directory.chmod(0o755)              # whoever runs fetch.py reads hack_dns file and CA
    try:
        hosts = make_hosts() | (today.make_hosts() if applications else {})
        ports = _free_ports(3)
        addresses = {name: f"{NETWORK}{number}" for number, name in enumerate(hosts, start=1)}
        _write(directory, hosts, addresses, ports)
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as silent:
            silent.bind(str(directory / "silent"))      # takes connections into its queue and never reads
            silent.listen(64)
            with graphql_server(directory / "graphql"), \
                    _applications(directory) if applications else contextlib.nullcontext(), \
                    _nginx(directory, (addresses[EXPIRED], ports[1])):
                yield Internet(directory, hosts)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _applications(directory: Path) -> Iterator[None]:
    """Run what is not files, in a process of its own: Dash and Flask would stay in ours for ever."""
    (directory / "apps").mkdir()
    command = [sys.executable, str(ROOT / "tests" / "support" / "applications.py"), str(directory / "apps")]
    with companions.running(command, "ready", "the applications"):
        yield


@contextlib.contextmanager
def _nginx(directory: Path, address: tuple[str, int]) -> Iterator[None]:
    user: dict[str, object] = {}
    if os.geteuid() == 0:
        account = pwd.getpwnam(ACCOUNT)
        give(directory, User(account.pw_name, account.pw_uid, account.pw_gid))
        user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    command = [str(NGINX), "-p", str(directory), "-e", "error.log", "-c", str(directory / "nginx.conf")]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, **user)  # type: ignore[call-overload]
    try:
        deadline = time.monotonic() + START_S
        while socket.socket().connect_ex(address):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"nginx did not start: {(directory / 'error.log').read_text()}")
            time.sleep(0.02)
        yield
    finally:
        stop(process)


def _write(directory: Path, hosts: dict[str, Host], addresses: dict[str, str], ports: list[int]) -> None:
    """Write the certificates, files, configuration and hack_dns file of the internet."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(directory / "ca.pem")
    servers = []
    http, tls, tls_http_1 = ports
    lines = []
    for name, host in hosts.items():
        yesterday = datetime.now(timezone.utc) - timedelta(days=1)
        # An expired certificate must not be trusted for its CA's sake: that one comes from a CA nobody knows.
        certificate = (trustme.CA() if name == EXPIRED else authority).issue_cert(
            name, not_before=yesterday - timedelta(days=9), not_after=yesterday if name == EXPIRED else None)
        # Chrome's list of trusted keys is matched against what the server sends, so it sends the CA's, too.
        chain = [*certificate.cert_chain_pems, *([] if name == EXPIRED else [authority.cert_pem])]
        (directory / f"{name}.pem").write_bytes(b"".join(pem.bytes() for pem in chain))
        certificate.private_key_pem.write_to_path(directory / f"{name}.key")
        listen = f"{tls_http_1} ssl" if name in ONLY_HTTP_1 else f"{tls} ssl http2"
        servers.append(_server(directory, name, host, [f"{addresses[name]}:{http}", f"{addresses[name]}:{listen}"]))
        lines += [f"{name} {addresses[name]} {http}\n",
                  f"{name} {addresses[name]} {tls_http_1 if name in ONLY_HTTP_1 else tls} https\n"]
    (directory / "remap").write_text("".join(lines))
    (directory / "nginx.conf").write_text(CONFIGURATION + "".join(servers) + "}\n")


CONFIGURATION = """
daemon off; worker_processes 1; master_process off; pid nginx.pid;
events { worker_connections 512; }
http {
    log_format asked '$request_method $scheme://$host$request_uri $status $server_protocol';
    log_format connection '$connection'; map $https $is_tls { on 1; default 0; }
    access_log access.log asked; access_log connections.log connection if=$is_tls; server_tokens off; etag off;
    client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
    absolute_redirect off; gzip_min_length 100; lingering_close off; default_type text/html;
    sendfile on; ssl_protocols TLSv1.3;
"""


def _server(directory: Path, name: str, host: Host, listens: list[str]) -> str:
    lines = [f"server {{ server_name {name}; root {directory}/nothing;",
             f"ssl_certificate {name}.pem; ssl_certificate_key {name}.key;"]
    lines += [f"listen {listen};" for listen in listens]
    for number, (path, file) in enumerate(host.files.items()):
        stored = directory / "files" / name / str(number)
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_bytes(file.body)
        mime_type, _, charset = file.mime_type.partition("; charset=")
        more = [*file.options, f"charset {charset};"] if charset else file.options
        lines.append(f"location = {path} {{ types {{ }} default_type {mime_type}; {' '.join(more)} "
                     f"root {stored.parent}; rewrite ^ /{number} break; }}")
    blocks = "\n    ".join(host.locations)
    for word in ("SILENT", "GRAPHQL", "APPS"):
        blocks = blocks.replace(word, str(directory / word.lower()))
    return "\n    ".join([*lines, blocks]) + "\n}\n"


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in sockets]
