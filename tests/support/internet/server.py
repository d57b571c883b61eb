"""The test internet on loopback addresses: nginx (TLS, h2) without root, and a CA of its own.

    with serve() as internet:
        internet.remap        # hack_dns file for fetch.py --remap
        internet.ca           # PEM file for fetch.py --ca
        internet.requests()   # what was asked for, "https://host/path" each
"""

import contextlib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import trustme

from experiments.nginx import nginx_program, running_nginx
from harness.network.star import Host as Machine
from harness.system.privileges import passable_temp_root
from tests.support.internet.app import graphql_server
from tests.support.internet.site import EXPIRED, ONLY_HTTP_1, Host, make_hosts
from tests.support.replay_process import free_port

NEEDS_NGINX = pytest.mark.skipif(not nginx_program(), reason="no nginx here; run: sudo ./scripts/setup.sh --tests")
NETWORK = "127.83.0."


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


@contextlib.contextmanager
def serve(more: Mapping[str, Host] | None = None) -> Iterator[Internet]:
    """Run the test internet, with `more` hosts by name; on leaving, end it and remove its files.

    Needs nginx, but no root.
    """
    hosts = {**make_hosts(), **(more or {})}
    with contextlib.ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="tfo-net-", dir=passable_temp_root()))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        directory.chmod(0o755)              # whoever runs fetch.py reads hack_dns file and CA
        silent = stack.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX)))
        silent.bind(str(directory / "silent"))      # takes connections into its queue and never reads
        silent.listen(64)
        stack.enter_context(graphql_server(directory / "graphql"))
        http, tls, tls_http_1 = free_port(), free_port(), free_port()
        servers, remaps = [], []
        for number, (name, host) in enumerate(hosts.items(), start=1):
            address, own_tls = f"{NETWORK}{number}", tls_http_1 if name in ONLY_HTTP_1 else tls
            servers.append(_server(directory, name, host, f"{address}:{http}", f"{address}:{own_tls}"))
            remaps.append(f"{name} {address} {http}\n{name} {address} {own_tls} https\n")
        internet = Internet(directory, hosts)
        internet.remap.write_text("".join(remaps))
        _issue_certificates(internet)
        here = Machine("", "", "", "", os.getpid())
        stack.enter_context(running_nginx(here, directory, CONFIGURATION + "".join(servers)))
        yield internet


def _issue_certificates(internet: Internet) -> None:
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


AGE_S = 30 * 86_400
"""How old the files are, in seconds, as those of most sites. What is not yet a minute old has no strong validator (RFC
9110, section 8.8.2.2), and Chrome asks for the parts of a film otherwise."""
CONFIGURATION = """
    log_format asked '$request_method $scheme://$host$request_uri $status $server_protocol';
    access_log access.log asked; server_tokens off; etag off;
    absolute_redirect off; gzip_min_length 100; lingering_close off; default_type text/html; ssl_protocols TLSv1.3;
"""


def _server(directory: Path, name: str, host: Host, http: str, tls: str) -> str:
    """Write a host's files; return its part of the configuration."""
    http2 = "" if name in ONLY_HTTP_1 else "http2"
    lines = [f"server {{ server_name {name}; root {directory}/nothing;",
             f"ssl_certificate {name}.pem; ssl_certificate_key {name}.key;",
             f"listen {http}; listen {tls} ssl {http2};"]
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
    for word in ("SILENT", "GRAPHQL"):
        blocks = blocks.replace(word, str(directory / word.lower()))
    return "\n    ".join([*lines, blocks]) + "\n}\n"
