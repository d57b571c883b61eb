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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import trustme

from harness.bootstrap import ROOT
from harness.system import background
from harness.system.namespaces import inside
from harness.system.privileges import User, give, passable_temp_root
from harness.system.processes import stop
from tests.support.internet import today
from tests.support.internet.app import graphql_server
from tests.support.internet.site import EXPIRED, ONLY_HTTP_1, Host, make_hosts
from tests.support.waiting import wait_until

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
NETWORK = "127.83.0."
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


@dataclass(frozen=True)
class Place:
    """Where a host listens."""

    address: str
    http: int
    tls: int


@contextlib.contextmanager
def serve(*, applications: bool = False) -> Iterator[Internet]:
    """Run the test internet; on leaving, end it and remove its files. Needs nginx, but no root.

    With `applications` the pages of today.py are there, too: a second more until it runs.
    """
    http, tls, tls_http_1 = _free_ports(3)
    with behind_nginx(applications=applications) as internet:
        places = {name: Place(f"{NETWORK}{number}", http, tls_http_1 if name in ONLY_HTTP_1 else tls)
                  for number, name in enumerate(internet.hosts, start=1)}
        issue_certificates(internet)
        write_remap(internet, places)
        configuration = write_configuration(internet, "all", places)
        with running_nginx(internet, configuration, places[EXPIRED]):
            yield internet


@contextlib.contextmanager
def behind_nginx(*, applications: bool) -> Iterator[Internet]:
    """Run all that nginx asks for answers, in a folder that is removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="tfo-net-", dir=passable_temp_root()))
    directory.chmod(0o755)              # whoever runs fetch.py reads hack_dns file and CA
    try:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as silent:
            silent.bind(str(directory / "silent"))      # takes connections into its queue and never reads
            silent.listen(64)
            with graphql_server(directory / "graphql"), \
                    _applications(directory) if applications else contextlib.nullcontext():
                yield Internet(directory, make_hosts() | (today.make_hosts() if applications else {}))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _applications(directory: Path) -> Iterator[None]:
    """Run what is not files, in a process of its own: Dash and Flask would stay in ours for ever."""
    (directory / "apps").mkdir()
    command = [sys.executable, str(ROOT / "tests" / "support" / "applications.py"), str(directory / "apps")]
    with background.running(command, "ready", "the applications"):
        yield


@contextlib.contextmanager
def running_nginx(internet: Internet, configuration: Path, place: Place, namespace_pid: int | None = None,
                  environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run nginx, in the network namespace of a process if one is given; it is ready when it listens at `place`."""
    started: dict[str, object] = {"env": {**os.environ, **(environment or {})}}
    if os.geteuid() == 0:
        account = pwd.getpwnam(ACCOUNT)
        give(internet.directory, User(account.pw_name, account.pw_uid, account.pw_gid))
        started |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    command = [str(NGINX), "-p", str(internet.directory), "-e", "error.log", "-c", str(configuration)]
    with inside(namespace_pid) if namespace_pid else contextlib.nullcontext():
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True,
                                   **started)  # type: ignore[call-overload]
    try:
        wait_until(lambda: process.poll() is not None or _listens(place, namespace_pid))
        if process.poll() is not None:
            raise RuntimeError(f"nginx did not start: {(internet.directory / 'error.log').read_text()}")
        yield
    finally:
        stop(process)


def _listens(place: Place, namespace_pid: int | None) -> bool:
    with inside(namespace_pid) if namespace_pid else contextlib.nullcontext(), socket.socket() as client:
        return client.connect_ex((place.address, place.tls)) == 0


def issue_certificates(internet: Internet) -> None:
    """Make the internet's CA, and a certificate and key for each of its hosts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(internet.ca)
    yesterday = datetime.now(timezone.utc) - timedelta(days=1)
    for name in internet.hosts:
        # An expired certificate must not be trusted for its CA's sake: that one comes from a CA nobody knows.
        certificate = (trustme.CA() if name == EXPIRED else authority).issue_cert(
            name, not_before=yesterday - timedelta(days=9), not_after=yesterday if name == EXPIRED else None)
        # Chrome's list of trusted keys is matched against what the server sends, so it sends the CA's, too.
        chain = [*certificate.cert_chain_pems, *([] if name == EXPIRED else [authority.cert_pem])]
        (internet.directory / f"{name}.pem").write_bytes(b"".join(pem.bytes() for pem in chain))
        certificate.private_key_pem.write_to_path(internet.directory / f"{name}.key")


def write_remap(internet: Internet, places: Mapping[str, Place]) -> None:
    """Write the hack_dns file that leads to the hosts at these places."""
    internet.remap.write_text("".join(f"{name} {place.address} {place.http}\n{name} {place.address} {place.tls} https\n"
                                      for name, place in places.items()))


def write_configuration(internet: Internet, name: str, places: Mapping[str, Place], fastopen: int = 0) -> Path:
    """Write the hosts' files and NAME.conf, of an nginx that serves them at their places; return its path.

    With `fastopen` as many connections may wait to be accepted that brought data in their SYN.
    """
    options = f"fastopen={fastopen}" if fastopen else ""
    servers = [_server(internet.directory, host, internet.hosts[host], place, options)
               for host, place in places.items()]
    path = internet.directory / f"{name}.conf"
    path.write_text(CONFIGURATION.replace("PID", f"{name}.pid") + "".join(servers) + "}\n")
    return path


AGE_S = 30 * 86_400
"""How old the files are, in seconds, as those of most sites. What is not yet a minute old has no strong validator (RFC
9110, section 8.8.2.2), and Chrome asks for the parts of a film otherwise."""
CONFIGURATION = """
daemon off; worker_processes 1; master_process off; pid PID;
events { worker_connections 512; }
http {
    log_format asked '$request_method $scheme://$host$request_uri $status $server_protocol';
    log_format connection '$connection'; map $https $is_tls { on 1; default 0; }
    access_log access.log asked; access_log connections.log connection if=$is_tls; server_tokens off; etag off;
    client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
    absolute_redirect off; gzip_min_length 100; lingering_close off; default_type text/html;
    sendfile on; ssl_protocols TLSv1.3;
"""


def _server(directory: Path, name: str, host: Host, place: Place, options: str) -> str:
    http2 = "" if name in ONLY_HTTP_1 else "http2"
    lines = [f"server {{ server_name {name}; root {directory}/nothing;",
             f"ssl_certificate {name}.pem; ssl_certificate_key {name}.key;",
             f"listen {place.address}:{place.http} {options};",
             f"listen {place.address}:{place.tls} ssl {http2} {options};"]
    old_s = time.time() - AGE_S
    for number, (path, file) in enumerate(host.files.items()):
        stored = directory / "files" / name / str(number)
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_bytes(file.body)
        os.utime(stored, (old_s, old_s))
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
