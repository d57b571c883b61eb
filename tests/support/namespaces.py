"""A network namespace for one test: nothing in it but its loopback."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.system.netns import inside
from tests.support.replay_process import wait_until


@contextmanager
def own_namespace() -> Iterator[int]:
    """Give a process that holds a network namespace of its own, with loopback up. Needs root."""
    with subprocess.Popen(["unshare", "--net", "sleep", "100"]) as holder:
        try:
            home = Path("/proc/self/ns/net").readlink()
            wait_until(lambda: Path(f"/proc/{holder.pid}/ns/net").readlink() != home)
            with inside(holder.pid):
                subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=10)
            yield holder.pid
        finally:
            holder.kill()
