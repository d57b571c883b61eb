"""nginx as one process on a host: what the project's own server is held against, and whose load is measured."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import ExperimentError, InputError
from harness.network.star import Host
from harness.system.namespaces import inside
from harness.system.privileges import browsing_user, give
from harness.system.processes import bound_to_us, stop

STARTED_WITHIN_S = 20.0
CONFIGURATION = """daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 30000; }}
http {{ sendfile on; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
        scgi_temp_path s; {of_http} }}
"""
"""Without a master, so that the process that we start is the server. Paths are relative to its folder."""
FILES = """access_log access.log; types {{ text/html html; application/javascript js; }} root root; server_tokens off;
        etag off; keepalive_requests 1000000; server {{ listen {address}:{port}; listen {address}:{tls_port} ssl http2;
        ssl_protocols TLSv1.3; ssl_certificate chain.pem; ssl_certificate_key chain.pem; }}"""
"""As that of the test internet (tests/support/internet/server.py): heads are as large as they were recorded there."""


def nginx_program() -> str | None:
    """Return the path of nginx, which Debian keeps out of an ordinary user's PATH; None where there is none."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@contextmanager
def running_nginx(host: Host, home: Path, of_http: str, prefix: Sequence[str] = ()) -> Iterator[int]:
    """Run nginx on `host`, as a user without rights, whose folder `home` becomes; give its process.

    `of_http` is the configuration's part about http, and `prefix` a command that starts it, taskset(1), say. Raises
    InputError when it is not installed, ExperimentError when it does not start.
    """
    nginx, user = nginx_program(), browsing_user()
    if nginx is None:
        raise InputError("nginx: not installed; run: sudo apt-get install nginx-light")
    (home / "nginx.conf").write_text(CONFIGURATION.format(of_http=of_http))
    command = bound_to_us([*prefix, nginx, "-p", str(home), "-e", "error.log", "-c", str(home / "nginx.conf")])
    with inside(host.pid):
        is_root = os.geteuid() == 0
        if is_root:
            give(home, user)
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            user=user.uid if is_root else None, group=user.gid if is_root else None,
            extra_groups=[] if is_root else None)
    try:
        deadline_s = time.monotonic() + STARTED_WITHIN_S
        while not (home / "nginx.pid").exists():        # it is written when nginx listens
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise ExperimentError(f"nginx did not start: {(home / 'error.log').read_text()}")
            time.sleep(0.02)
        yield process.pid
    finally:
        stop(process)


@contextmanager
def serving_files(host: Host, home: Path, root: Path, pems: bytes, port: int) -> Iterator[int]:
    """Run nginx in a new folder `home` with a copy of the files below `root`; give its process.

    It listens on `port`, and over TLS, with a key and its certificates in `pems`, on the next one. Raises as
    `running_nginx`.
    """
    shutil.copytree(root, home / "root")
    (home / "chain.pem").write_bytes(pems)
    with running_nginx(host, home, FILES.format(address=host.address, port=port, tls_port=port + 1)) as pid:
        yield pid
