"""What is under way on TCP connections: from ss's words, and from the kernel for real."""

import sys
from pathlib import Path

import pytest

from harness.system.tcp_sockets import parse_ss
from tests.support.ran import ran

ROOT = Path(__file__).resolve().parent.parent.parent
IDLE = ("ESTAB 0 0 10.0.0.1:4000 10.0.0.2:8000 cubic wscale:7,7 rto:304 rtt:100.2/0.1 mss:1448 bytes_sent:300 "
        "bytes_acked:301 bytes_received:5000 lastsnd:600 lastrcv:490 lastack:490 minrtt:100.1")


def waits(line: str) -> bool:
    sockets = parse_ss(line)
    return any(each.waits() for each in sockets)


@pytest.mark.parametrize(("line", "expected"), [
    (IDLE, False),
    ("", False),
    ("SYN-SENT 0 1 10.0.0.1:4000 10.0.0.2:8000 cubic rto:1000 unacked:1", True),
    ("FIN-WAIT-1 0 1 10.0.0.1:4000 10.0.0.2:8000 cubic", True),
    ("LAST-ACK 0 1 10.0.0.1:4000 10.0.0.2:8000 cubic", True),
    ("TIME-WAIT 0 0 10.0.0.1:4000 10.0.0.2:8000", False),
    ("LISTEN 0 128 0.0.0.0:22 0.0.0.0:* cubic", False),
    (IDLE.replace("lastsnd:600", "lastsnd:100"), True),                 # a request without an answer yet
    (IDLE.replace("bytes_received:5000 ", ""), True),
    (IDLE.replace("minrtt:100.1", "minrtt:600.1"), True),               # the next packets of an answer are on their way
    (IDLE.replace("minrtt:100.1", "minrtt:300.1"), False),
    (IDLE.replace("mss", "unacked:2 mss"), True),
    (IDLE.replace("mss", "notsent:2 mss"), True),
    (IDLE.replace("bytes_sent:300 ", ""), False),                       # Chrome's spare connection
    (IDLE.replace("ESTAB", "CLOSE-WAIT"), False),
    ("SYN-SENT 0 1 127.0.0.1:4000 127.0.0.1:8000 cubic", False),        # chromedriver and Chrome
    ("SYN-SENT 0 1 [::1]:4000 [::1]:8000 cubic", False),
    ("SYN-SENT 0 1 127.0.0.1:4000 127.84.0.1:8000 cubic", True),        # a server of experiments/localhost.py
    ("SYN-SENT 0 1 [fd00::1]:4000 [fd00::2]:8000 cubic", True)])
def test_what_waits(line: str, expected: bool) -> None:
    assert waits(line) == expected


PROBE = r"""
import socket, time
from harness.system.commands import run
from harness.system.tcp_sockets import under_way
for command in ("ip link set lo up", "ip addr add 10.9.9.1/24 dev lo", "ip link add v0 type veth peer name v1",
                "ip link set v0 up", "ip link set v1 up", "ip addr add 10.7.7.1/24 dev v0",
                "ip neigh add 10.7.7.2 lladdr 02:00:00:00:00:01 dev v0 nud permanent"):
    run(command.split(), "making a network")
def look():
    time.sleep(0.05)
    said.append(under_way())
said = [under_way()]
listener = socket.create_server(("10.9.9.1", 8000))
client = socket.create_connection(("10.9.9.1", 8000))
server, _ = listener.accept()
look()                              # nothing was sent
client.sendall(b"GET / HTTP/1.0\r\n\r\n")
look()                              # no answer yet
server.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
server.close()
look()
lost = socket.socket()
lost.setblocking(False)
lost.connect_ex(("10.7.7.2", 80))   # nobody is there: its SYN is lost
look()
print(said)
"""


@pytest.mark.root
def test_the_kernel_tells_of_requests_without_an_answer_and_of_lost_syns() -> None:
    """In a network namespace of its own. Its address on lo is no loopback address, so it counts."""
    done = ran("unshare", "--net", sys.executable, "-c", PROBE, cwd=ROOT)
    assert done.stdout == "[False, False, True, False, True]\n", done.stderr
