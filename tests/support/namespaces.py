"""A network namespace for one test: nothing in it but its loopback."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.network.star import Host
from harness.system.namespaces import inside
from tests.support.ran import ran
from tests.support.waiting import wait_until


@contextmanager
def own_namespace() -> Iterator[int]:
    """Give a process that holds a network namespace of its own, with loopback up. Needs root."""
    with subprocess.Popen(["unshare", "--net", "sleep", "100"]) as holder:
        try:
            home = Path("/proc/self/ns/net").readlink()
            wait_until(lambda: Path(f"/proc/{holder.pid}/ns/net").readlink() != home)
            with inside(holder.pid):
                ran("ip", "link", "set", "lo", "up", status=0)
            yield holder.pid
        finally:
            holder.kill()


@contextmanager
def host_with(setup: str) -> Iterator[Host]:
    """Give a host whose only interface is `lo`, after running `setup` in it."""
    with subprocess.Popen(["unshare", "--net", "sh", "-ec", f"{setup}\necho ready; exec sleep 60"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Host("x", "127.0.0.1", "", "lo", process.pid)
        finally:
            process.kill()
