"""Build a star of two servers in whatever namespace, with whatever programs, this is started; print what it is like.

One JSON object: the RTTs measured (ms), how many SYNs were sent again meanwhile, and all IPv6 addresses in the star.
"""

import json
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import run_main
from harness.network.links import delaying
from harness.network.needs import check_kernel, kernel_has_netem
from harness.network.rtt import check_rtts, measure_rtts
from harness.network.star import LinkSpeeds, running_star
from harness.system.fastopen import read_counters
from harness.system.namespaces import inside

PORT = 8000


def main() -> int:
    """Build, measure, print."""
    links, netem = LinkSpeeds(delay_net_ms=10), kernel_has_netem()
    check_kernel(delay_line=not netem)
    with ExitStack() as stack:
        star = stack.enter_context(running_star(["one.test", "two.test"], links, netem))
        stack.enter_context(delaying(star, netem=netem)).change(links)
        measured_ms = measure_rtts(star, PORT)
        check_rtts(measured_ms, links.rtt_ms)
        ipv6 = []
        for pid in [*star.pids, star.switch_pid]:
            with inside(pid):
                table = Path("/proc/thread-self/net/if_inet6")
                lines = table.read_text().splitlines() if table.exists() else []
            ipv6 += [line for line in lines if not line.endswith(" lo")]
        again = read_counters(star.user.pid)["TCPSynRetrans"]
    print(json.dumps({"measured_ms": measured_ms, "sent_again": again, "ipv6": ipv6}))
    return 0


if __name__ == "__main__":
    run_main(main)
