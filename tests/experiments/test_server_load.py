"""A server under a constant rate of requests: what TFO saves it in packets, by the packets themselves."""

import csv
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from experiments.pinned_server import PORT
from harness.bootstrap import ROOT
from harness.system.namespaces import inside
from harness.system.processes import descendants
from tests.support.faults import command_of
from tests.support.internet.server import NGINX
from tests.support.project_copy import copy_project, typed
from tests.support.ran import assert_refused, ran

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timing,
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
RATE = 400
BEFORE_THE_ANSWER = {"off": 5, "on": 3, "refused": 4}
"""Packets of a connection that are no part of the answer and acknowledge none of it. Without TFO: SYN, SYN-ACK, ACK,
request, its ACK. With it the SYN holds the request and the SYN-ACK acknowledges that (RFC 7413, section 4.2.2).
Refused, the request goes again together with the ACK of the SYN-ACK."""
NEARLY_ALL = 0.95
STAR_S = 300.0
PATIENCE_S = 3.0
"""http_load.c's for answers: what waited for them would begin its last request so much later."""

GONE_S = 60.0
KILLED = """
import os, signal, sys
from pathlib import Path
from experiments import pinned_server
from harness.network.star import Host, Star
from harness.system.contained import begin_experiment
begin_experiment("this test")
pinned_server.PORT = int(sys.argv[2])
here = Host("server", "127.0.0.1", "", "lo", os.getpid())
with pinned_server.running_nginx(Star(here, here.pid, {pinned_server.SERVER: here}), Path(sys.argv[1])) as pids:
    print(*pids, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("load") / "project")


@pytest.mark.parametrize("server", ["nginx", "own"])
def test_each_request_in_the_syn_saves_the_server_a_packet(project: Path, server: str, tmp_path: Path) -> None:
    """With TFO neither the SYN-ACK nor the request is acknowledged by a packet of its own.

    That is counted in a capture. How many packets the answer and its acknowledgements take differs from one machine to
    the next: nginx was seen to save 1.7 to 3.7 packets in all on a core that others kept busy.
    """
    command = typed(project, "./experiments/server_load.py", "--server", server, "--rates", str(RATE), "--repeats", "1",
                    "--seconds", "1", "--patience", "0")
    capture = tmp_path / "packets.pcap"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as experiment, \
            captured_at_user(experiment, capture):
        said, _ = experiment.communicate()
    assert experiment.returncode == 0, said
    with (project / "output-figures" / f"server-load-{server}.csv").open() as file:
        samples = {row["mode"]: row for row in csv.DictReader(file)}
    print(said)
    assert {mode: float(row["syn_data"]) for mode, row in samples.items()} == {"off": 0, "on": 1, "refused": 0}
    counts = packets_before_the_answer(capture)
    for mode, packets in BEFORE_THE_ANSWER.items():
        assert counts[mode][packets] >= NEARLY_ALL * counts[mode].total() > 0, (mode, counts)
    assert float(samples["off"]["packets"]) > float(samples["on"]["packets"])
    assert all(0 < float(row["cpu"]) <= 1 for row in samples.values()), "1 where other tests have the core besides"
    assert len(re.findall(rf"^{RATE}\t(?:no TFO|TFO|TFO, cookie refused)\t", said, re.MULTILINE)) == 3
    assert (project / "output-figures" / f"server-load-{server}.png").read_bytes().startswith(b"\x89PNG")


def test_no_nginx_outlives_a_killed_experiment(open_to_all: Path) -> None:
    """Its network would go on with it for ever. The numbers that it prints are those of its own PID namespace."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = ran(sys.executable, "-c", KILLED, open_to_all, port, cwd=ROOT)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout.split()
    deadline_s = time.monotonic() + GONE_S
    while (left := nginx_below(open_to_all)) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert left == []


def nginx_below(directory: Path) -> list[int]:
    """Return the processes, all over the machine, whose command line names the directory."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if str(directory) in command_of(pid)]


@contextmanager
def captured_at_user(experiment: "subprocess.Popen[str]", path: Path) -> Iterator[None]:
    """Capture what passes `user`'s interface, from when there is one until the star is taken down, or this ends."""
    deadline_s = time.monotonic() + STAR_S
    user = None
    while user is None:
        assert experiment.poll() is None, "it ended before there was a star"
        assert time.monotonic() < deadline_s, "no star"
        user = next((pid for pid in descendants(experiment.pid) if "mininet:user" in command_of(pid)
                     and not Path(f"/proc/{pid}/ns/net").samefile("/proc/self/ns/net")), None)       # not at once
    with inside(user):
        tcpdump = subprocess.Popen(["tcpdump", "-i", "any", "-s", "160", "-B", "16384", "-w", str(path), "tcp", "port",
                                    str(PORT)], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        tcpdump.terminate()
        tcpdump.wait()


def packets_before_the_answer(capture: Path) -> dict[str, Counter[int]]:
    """Return for each mode how many connections had so many packets that are no part of the answer, nor acknowledge it.

    A connection's mode shows in its packets: whether its SYN held data, and whether the SYN-ACK acknowledged that.
    """
    fields = ("tcp.stream", "tcp.dstport", "tcp.flags.syn", "tcp.flags.fin", "tcp.len", "tcp.seq", "tcp.ack")
    lines = subprocess.check_output(["tshark", "-r", str(capture), "-T", "fields",
                                     *(word for field in fields for word in ("-e", field))], text=True).splitlines()
    before: Counter[str] = Counter()
    data_in_syn, data_taken = set(), set()
    for line in lines:
        stream, port, *rest = line.split("\t")
        syn, fin = (field in ("1", "True") for field in rest[:2])
        length, sequence, acknowledged = map(int, rest[2:])
        to_server = int(port) == PORT
        if syn and to_server and length:
            data_in_syn.add(stream)
        if syn and not to_server and acknowledged > 1:
            data_taken.add(stream)
        before[stream] += acknowledged <= 1 if to_server else sequence <= 1 and not (length or fin)
    found: dict[str, Counter[int]] = {mode: Counter() for mode in BEFORE_THE_ANSWER}
    for stream, packets in before.items():
        found["on" if stream in data_taken else "refused" if stream in data_in_syn else "off"][packets] += 1
    return found


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("client") / "http_load"
    ran(shutil.which("gcc") or "gcc", "-O2", "-o", program, ROOT / "experiments" / "http_load.c", "-lm", status=0)
    return program


def test_the_client_begins_requests_at_its_rate_and_counts_what_was_not_answered(client: Path) -> None:
    """Nobody listens: all fail, and the rate is held all the same."""
    said = ran(client, "127.0.0.1", "9", "/", "1000", "0.5", "0", status=0).stdout
    found = re.fullmatch(r'\{"begun": 500, "answered": 0, "failed": 500, "seconds": ([\d.]+), "latencies_us": \[\]\}\n',
                         said)
    assert found, said
    assert 0.5 <= float(found[1]) < PATIENCE_S, "500 at 1000 a second, and no answer is waited for"


@pytest.mark.parametrize(("sent", "answered"), [(5000, 20), (4999, 0), (0, 0)])
def test_half_an_answer_is_none(client: Path, sent: int, answered: int) -> None:
    """An answer that its server broke off counted, and as a quick one."""

    def answer(listener: socket.socket) -> None:
        for _ in range(20):
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5000\r\n\r\n" + bytes(sent))

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        answering = pool.submit(answer, listener)
        said = ran(client, "127.0.0.1", listener.getsockname()[1], "/", "100", "0.2", "0", status=0).stdout
        answering.result()
    assert (json.loads(said)["answered"], json.loads(said)["failed"]) == (answered, 20 - answered)


def test_a_low_rate_is_held_as_well_as_a_high_one(client: Path) -> None:
    """Of 20 requests in a second it was said that they took 0.95 s: 21 a second, which does not count."""
    said = ran(client, "127.0.0.1", "9", "/", "20", "1", "0", status=0).stdout
    assert json.loads(said)["begun"] == 20
    assert 1 <= json.loads(said)["seconds"] < PATIENCE_S
    done = ran(sys.executable, ROOT / "experiments" / "server_load.py", "--rates", "1", "--seconds", "0.5")
    assert_refused(done)
    assert " 0.5 s" in done.stderr
