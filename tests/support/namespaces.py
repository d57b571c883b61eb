"""Network namespaces for one test: one with nothing in it but its loopback, or two joined by a cable. Needs root."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.network.star import Host
from harness.system.namespaces import inside
from tests.support.ran import ran
from tests.support.started import started


@contextmanager
def host_with(setup: str) -> Iterator[Host]:
    """Give a host whose only interface is `lo`, after running `setup` in it."""
    with started("unshare", "--net", "sh", "-ec", f"{setup}\necho ready; exec sleep 100") as process:
        yield Host("x", "127.0.0.1", "", "lo", process.pid)


@contextmanager
def own_namespace() -> Iterator[int]:
    """Give a process that holds a network namespace of its own, with loopback up."""
    with host_with("ip link set lo up") as host:
        yield host.pid


@contextmanager
def joined_namespaces() -> Iterator[tuple[int, int]]:
    """Give a process in each of two: 10.9.0.1 and 10.9.0.2, with IPv6 fd09::1 and fd09::2."""
    with own_namespace() as near, own_namespace() as far:
        with inside(near):
            ran("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", far, status=0)
        for last, pid in enumerate((near, far), start=1):
            with inside(pid):
                ran("sh", "-ec", f"ip link set cable up; ip addr add 10.9.0.{last}/24 dev cable; "
                    f"[ ! -e /proc/net/if_inet6 ] || ip addr add fd09::{last}/64 dev cable nodad", status=0)
        yield near, far
