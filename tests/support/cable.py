"""Two network namespaces joined by a cable: 10.9.0.1 and 10.9.0.2, with IPv6 fd09::1 and fd09::2. Needs root."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.system.namespaces import inside
from tests.support.namespaces import own_namespace
from tests.support.ran import ran


@contextmanager
def joined_namespaces() -> Iterator[tuple[int, int]]:
    """Give a process in each of the two, while this lasts."""
    with own_namespace() as near, own_namespace() as far:
        with inside(near):
            ran("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", far, status=0)
        for last, pid in enumerate((near, far), start=1):
            with inside(pid):
                ran("sh", "-ec", f"ip link set cable up; ip addr add 10.9.0.{last}/24 dev cable; "
                    f"[ ! -e /proc/net/if_inet6 ] || ip addr add fd09::{last}/64 dev cable nodad", status=0)
        yield near, far
