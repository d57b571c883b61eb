"""Chrome's shim: TFO on connections to other hosts, nothing else changed, and a wall clock some days ahead."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system.fastopen import OFF, ON, difference, read_counters, set_fastopen
from tests.support.namespaces import joined_namespaces
from tests.support.ran import ran
from tests.support.started import started

SOURCE = ROOT / "tfo-test" / "chrome_shim.c"
DAY_S = 86_400
@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile it as scripts/setup.sh does."""
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    ran("gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl", status=0)
    return library


def preloaded(*libraries: Path, days: str | None = None) -> dict[str, str]:
    """Return an environment with `libraries` preloaded and TFO_LAB_CLOCK_DAYS set (None: not)."""
    others = {name: value for name, value in os.environ.items() if name != "TFO_LAB_CLOCK_DAYS"}
    return {**others, "LD_PRELOAD": " ".join(map(str, libraries)), "PYTHONPATH": str(ROOT),
            **({} if days is None else {"TFO_LAB_CLOCK_DAYS": days})}


CLOCKS = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.time.restype = ctypes.c_long
both = (ctypes.c_long * 2)()
libc.gettimeofday(both, None)
stored = ctypes.c_long()
returned = libc.time(ctypes.byref(stored))
assert returned == stored.value
print(time.time(), time.clock_gettime(5), both[0], libc.time(None), returned)
print(time.monotonic(), time.clock_gettime(time.CLOCK_MONOTONIC_RAW), time.clock_gettime(time.CLOCK_BOOTTIME))
try:
    time.clock_gettime(999)
except OSError as error:
    print(error.errno)
"""


@pytest.mark.parametrize(("days", "shift_days"), [("100", 100), ("-3", -3), (None, 0), ("many", 0)])
def test_every_way_to_ask_for_the_wall_clock_is_shifted_and_no_other_clock(shim: Path, days: str | None,
                                                                           shift_days: int) -> None:
    said = ran(sys.executable, "-c", CLOCKS, status=0, env=preloaded(shim, days=days)).stdout
    wall, others, error = said.splitlines()
    assert [float(seconds) - time.time() for seconds in wall.split()] == [pytest.approx(shift_days * DAY_S, abs=5)] * 5
    real = [time.monotonic(), time.clock_gettime(time.CLOCK_MONOTONIC_RAW), time.clock_gettime(time.CLOCK_BOOTTIME)]
    assert [float(seconds) for seconds in others.split()] == [pytest.approx(seconds, abs=5) for seconds in real]
    assert int(error) == 22, "EINVAL"


HAS_IPV6 = " lo\n" in (Path("/proc/net/if_inet6").read_text() if Path("/proc/net/if_inet6").exists() else "")
SERVER = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = socket.socket(family)
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
server.bind((sys.argv[1], 8000))
server.listen(16)
print("ready", flush=True)
while True:
    with server.accept()[0] as client:
        client.sendall(client.recv(100).upper())
"""
FETCH = """
import select, socket, sys
address, blocking = sys.argv[1], sys.argv[2] == "blocking"
for _ in range(3):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as client:
        client.setblocking(blocking)
        print(client.connect_ex((address, 8000)), end=" ")
        select.select([], [client], [])
        client.send(b"hello")
        select.select([client], [], [])
        assert client.recv(100) == b"HELLO"
"""


@dataclass(frozen=True)
class TwoHosts:
    """Two network namespaces joined by a cable; servers listen on the far host and on the near one's loopback."""

    near: int
    shim: Path

    def run(self, code: str, *arguments: str, shim: bool = True) -> str:
        """Run a Python program on the near host, with the shim or without."""
        return ran("nsenter", f"--net=/proc/{self.near}/ns/net", sys.executable, "-c", code, *arguments, status=0,
                   env=preloaded(*[self.shim] * shim)).stdout

    def fetched(self, address: str, how: str = "blocking", *, shim: bool = True) -> tuple[str, int]:
        """Fetch three times; return what connect() gave, and how many connections carried data in the SYN."""
        before = read_counters(self.near)
        said = self.run(FETCH, address, how, shim=shim)
        return said, difference(read_counters(self.near), before)["TCPFastOpenActive"]


@pytest.fixture
def hosts(shim: Path) -> Iterator[TwoHosts]:
    with ExitStack() as stack:
        near, far = stack.enter_context(joined_namespaces())
        set_fastopen([near, far], ON)
        for pid, address in ((far, "10.9.0.2"), (near, "127.0.0.1"), *([(far, "fd09::2")] if HAS_IPV6 else [])):
            stack.enter_context(started("nsenter", f"--net=/proc/{pid}/ns/net", sys.executable, "-c", SERVER, address))
        yield TwoHosts(near, shim)


@pytest.mark.root
@pytest.mark.parametrize(("address", "how", "said", "with_data"), [
    ("10.9.0.2", "blocking", "0 0 0 ", 2),
    pytest.param("fd09::2", "blocking", "0 0 0 ", 2, marks=pytest.mark.skipif(not HAS_IPV6, reason="no IPv6 here")),
    # 115 EINPROGRESS: no cookie yet, an ordinary handshake; then 0: connected as far as one can tell, nothing sent yet.
    ("10.9.0.2", "non-blocking", "115 0 0 ", 2), ("127.0.0.1", "blocking", "0 0 0 ", 0)])
def test_tfo_to_other_hosts_from_the_second_connection_on(hosts: TwoHosts, address: str, how: str, *, said: str,
                                                          with_data: int) -> None:
    assert hosts.fetched(address, how) == (said, with_data)
    assert hosts.fetched(address, shim=False) == ("0 0 0 ", 0)
    assert hosts.fetched(address) == ("0 0 0 ", with_data and 3), "the cookie is kept"
    set_fastopen([hosts.near], OFF)
    assert hosts.fetched(address) == ("0 0 0 ", 0)


CONNECT_ONCE = """
import ctypes, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
address = socket.AF_INET.to_bytes(2, sys.byteorder) + int(sys.argv[1]).to_bytes(2, "big") + socket.inet_aton("10.9.0.2")
ctypes.set_errno(77)
print(libc.connect(client.fileno(), address + bytes(8), 16), ctypes.get_errno())
"""


@pytest.mark.root
@pytest.mark.parametrize("tfo", [OFF, ON])
def test_errno_is_the_connects_own(hosts: TwoHosts, tfo: int) -> None:
    set_fastopen([hosts.near], tfo)  # OFF: the shim's own setsockopt() fails with EOPNOTSUPP
    assert hosts.run(CONNECT_ONCE, "8001") == "-1 111\n", "ECONNREFUSED"
    assert hosts.run(CONNECT_ONCE, "8000") == "0 77\n", "as it was before"
