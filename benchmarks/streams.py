#!/usr/bin/env python3
"""Measure the replay server over HTTP/2: streams/s of a page of many modules, and its processor time an answer.

    benchmarks/streams.py                                       # nginx beside it, where it is installed
    benchmarks/streams.py --beside ../other/tfo-test/http_tfo.py

All modules are asked for as Chrome asks, over one connection on loopback with TLS, at most 100 at a time. What is
compared takes turns, so that a machine that is slow for a while is so for all. Numbers are medians of the rounds.
"""

import contextlib
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from hpack import Encoder

from benchmarks.started_servers import await_port, await_ready, free_port, nginx_program
from harness.errors import ExperimentError, run_main
from harness.network.servers import HTTP_TFO
from harness.system.options import ROUNDS, OptionParser
from tests.support.https_recording import HttpsRecording

HOST = "www.example.test"
BODY_BYTES = 900
HEADERS = (
    ("Server", "nginx"), ("Date", "Sat, 21 Nov 2026 09:00:00 GMT"), ("Content-Type", "text/javascript; charset=utf-8"),
    ("Last-Modified", "Fri, 13 Nov 2026 09:00:00 GMT"), ("ETag", '"6731b2f0-384"'), ("Cache-Control", "max-age=600"),
    ("Access-Control-Allow-Origin", "*"), ("X-Content-Type-Options", "nosniff"), ("Accept-Ranges", "bytes"))
ASKED = (
    ("sec-ch-ua-platform", '"Linux"'), ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like "
     "Gecko) Chrome/143.0.0.0 Safari/537.36"), ("sec-ch-ua", '"Chromium";v="143", "Not A(Brand";v="24"'),
    ("sec-ch-ua-mobile", "?0"), ("origin", f"https://{HOST}"), ("accept", "*/*"), ("sec-fetch-site", "same-origin"),
    ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "script"), ("referer", f"https://{HOST}/"),
    ("accept-encoding", "gzip, deflate, br, zstd"), ("accept-language", "en-US,en;q=0.9"), ("priority", "u=1"))
AT_ONCE = 100
"""Requests under way, as Chrome has at most where a server allows no more."""
WINDOW = 2**31 - 1
HEADERS_FRAME, END_STREAM, END_STREAM_AND_HEADERS = 1, 1, 5
PREFACE = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\6\4\0\0\0\0\0" + b"\0\4" + WINDOW.to_bytes(4, "big")
           + b"\0\0\4\x08\0\0\0\0\0" + (WINDOW - 65_535).to_bytes(4, "big"))
"""With settings (INITIAL_WINDOW_SIZE), and a larger window of the connection (RFC 9113, section 3.4, 6.5 and 6.9)."""
NGINX = """daemon off; user root; worker_processes 1; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{ access_log {home}/access.log; client_body_temp_path {home}/1; proxy_temp_path {home}/2;
fastcgi_temp_path {home}/3; uwsgi_temp_path {home}/4; scgi_temp_path {home}/5; types {{ text/javascript js; }}
keepalive_requests 100000;
server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate {cert}; ssl_certificate_key {key}; root {root};
add_header Cache-Control max-age=600; add_header Access-Control-Allow-Origin *;
add_header X-Content-Type-Options nosniff; }} }}
"""


def main() -> int:
    """Run the benchmark."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--modules", type=ROUNDS, default=642, help="answers a round (default: %(default)s)")
    parser.add_argument("--rounds", type=ROUNDS, default=15, help="rounds of each (default: %(default)s)")
    parser.add_argument("--beside", type=Path, action="append", default=[], metavar="HTTP_TFO",
                        help="the tfo-test/http_tfo.py of another version, to be compared")
    options = parser.parse_args()
    requests = written_requests(options.modules)
    with tempfile.TemporaryDirectory(prefix="tfo-lab-benchmark-") as scratch, contextlib.ExitStack() as running:
        home = Path(scratch)
        home.chmod(0o755)
        record(home, options.modules)
        servers = {str(program): running.enter_context(replay(home, program))
                   for program in (HTTP_TFO, *(path.absolute() for path in options.beside))}
        if nginx_program():
            servers["nginx"] = running.enter_context(nginx(home))
        rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
        for _ in range(options.rounds + 1):
            for name, (port, pid) in servers.items():
                rounds[name].append(measure(port, pid, requests))
    for name, (_, *counted) in rounds.items():
        rate, cpu_us = (statistics.median(values) for values in zip(*counted, strict=True))
        print(f"{name[-60:]:60s} {rate:8.0f} streams/s   {cpu_us:6.0f} us of processor time an answer")
    return 0


def record(home: Path, modules: int) -> None:
    """Write a recording of a page and its modules."""
    recorded = HttpsRecording(home)
    for number in range(modules):
        recorded.add(f"https://{HOST}/modules/part-{number}.js", b"export const x = 1;\n" * (BODY_BYTES // 20), HEADERS)
    recorded.finish(f"https://{HOST}/")


def written_requests(modules: int) -> list[bytes]:
    """Return the HEADERS frame of each request, in the order in which one connection has them."""
    encoder, frames = Encoder(), []
    for number in range(modules):
        block = encoder.encode([(":method", "GET"), (":authority", HOST), (":scheme", "https"),
                                (":path", f"/modules/part-{number}.js"), *ASKED])
        frames.append(len(block).to_bytes(3, "big") + bytes((HEADERS_FRAME, END_STREAM_AND_HEADERS))
                      + (2 * number + 1).to_bytes(4, "big") + block)
    return frames


@contextlib.contextmanager
def replay(home: Path, program: Path) -> Iterator[tuple[int, int]]:
    """Run a replay server; yield its port and the pid of the process that answers."""
    port = free_port()
    argv: list[str | Path] = [
        program, "--mirror", home / "Web", "--fetchlog", home / "Web.fetchlog", "--host", HOST, "--port",
        str(free_port()), "--tls-port", str(port), "--authority", home / "authority", "--logdir", home / f"logs-{port}"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            await_ready(process)
            [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split() or [str(process.pid)]
            yield port, int(child)
        finally:
            process.send_signal(signal.SIGTERM)


@contextlib.contextmanager
def nginx(home: Path) -> Iterator[tuple[int, int]]:
    """Run nginx with the same files; yield its port and its worker's pid."""
    port, config = free_port(), home / "nginx.conf"
    cert, key = home / "cert.pem", home / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", f"/CN={HOST}", "-keyout", key, "-out", cert], check=True, capture_output=True)
    config.write_text(NGINX.format(home=home, port=port, root=home / "Web" / HOST, cert=cert, key=key))
    with subprocess.Popen([nginx_program() or "nginx", "-p", home, "-c", config], stderr=subprocess.DEVNULL) as process:
        try:
            await_port(port)
            while not (workers := Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
                time.sleep(0.02)        # its master listens first
            yield port, int(workers[0])
        finally:
            process.send_signal(signal.SIGTERM)


def measure(port: int, pid: int, requests: list[bytes]) -> tuple[float, float]:
    """Ask for all over a new connection; return streams/s and the server's processor time an answer, in us.

    Raises ExperimentError when the server ends the connection before all are answered.
    """
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", port)) as plain, \
            context.wrap_socket(plain, server_hostname=HOST) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(PREFACE)
        before_s, began_s = processor_s(pid), time.perf_counter()
        ask_all(connection, requests)
        took_s = time.perf_counter() - began_s
        return len(requests) / took_s, (processor_s(pid) - before_s) * 1e6 / len(requests)


def ask_all(connection: ssl.SSLSocket, requests: list[bytes]) -> None:
    """Ask for all, at most AT_ONCE at a time, and read all answers."""
    asked, ended, data = 0, 0, b""
    while ended < len(requests):
        more = requests[asked:ended + AT_ONCE]
        if more:
            connection.sendall(b"".join(more))
            asked += len(more)
        came = connection.recv(65_536)
        if not came:
            raise ExperimentError(f"the server ended the connection after {ended} answers")
        data, at = data + came, 0
        while len(data) - at >= 9 and len(data) - at >= 9 + (length := int.from_bytes(data[at:at + 3], "big")):
            ended += data[at + 3] in (0, 1) and data[at + 4] & END_STREAM
            at += 9 + length
        data = data[at:]


def processor_s(pid: int) -> float:
    """Return the seconds of a processor that all threads of a process have had, to the nanosecond."""
    spent = [(task / "schedstat").read_text().split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(map(int, spent)) / 1e9


if __name__ == "__main__":
    run_main(main)
