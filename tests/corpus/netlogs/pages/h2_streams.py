"""Over HTTP/2, of nginx: forty pictures at once, two texts larger than a stream's window, two POSTs, gzip."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection, socket

import trustme

from tests.corpus.pages.site import page, picture

HOST, PICTURES, LARGE = "streams.example", 40, 1_000_000
BODY = "".join(f"<img src=/{number}.svg>" for number in range(PICTURES)) + """<script>(async () => {
const texts = ['/1.bin', '/2.bin'].map((path) => fetch(path).then((answer) => answer.arrayBuffer()));
const sent = ['one', 'two'].map((body) => fetch('/form.json', {method: 'POST', body}).then((answer) => answer.text()));
await Promise.all([...texts, ...sent]); document.title = 'done'; })()</script>"""
CONFIGURATION = """daemon off; master_process off; error_log {0}/error.log; pid {0}/pid;
events {{}}
http {{ access_log off; gzip on; gzip_types image/svg+xml; gzip_min_length 1000; default_type application/octet-stream;
        types {{ text/html html; image/svg+xml svg; application/json json; }}
        server {{ listen 127.0.0.1:{1} ssl http2; ssl_certificate {0}/chain.pem; ssl_certificate_key {0}/chain.pem;
                  root {0}/files; error_page 405 =200 $uri; http2_chunk_size 4k; }} }}
"""


@contextmanager
def served(directory: Path) -> Iterator[None]:
    """Run nginx; `remap` and `ca.pem` are in `directory`."""
    files = directory / "files"
    files.mkdir()
    (files / "index.html").write_text(page("streams", BODY))
    (files / "form.json").write_text('{"form": 1}')
    for number in range(PICTURES):
        (files / f"{number}.svg").write_text(picture(2000 if number % 2 else 500))
    for number in (1, 2):
        (files / f"{number}.bin").write_bytes(b"0123456789" * (LARGE // 10))
    authority = trustme.CA()
    authority.cert_pem.write_to_path(directory / "ca.pem")
    certificate = authority.issue_cert(HOST)
    (directory / "chain.pem").write_bytes(b"".join(part.bytes() for part in (
        certificate.private_key_pem, *certificate.cert_chain_pems, authority.cert_pem)))
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (directory / "remap").write_text(f"{HOST} 127.0.0.1 {port} https\n")
    (directory / "nginx.conf").write_text(CONFIGURATION.format(directory, port))
    with subprocess.Popen(["/usr/sbin/nginx", "-c", directory / "nginx.conf"]) as server:
        try:
            for _ in range(100):
                try:
                    create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield
        finally:
            server.terminate()
