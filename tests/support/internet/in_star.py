"""The test internet in a star: each of its hosts is an nginx of its own on the host of the star that bears its name.

So a page can be loaded from the servers that it was recorded from over the very network that its replay is loaded over.
They have the clock of the Chrome that loads it: by another one all that they date would be old, and Chrome would ask
again for what it has.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from harness.browser.program import CLOCK_SHIFT_DAYS, require_shim
from harness.network.star import Host, Star
from harness.system.commands import run
from harness.system.netns import inside
from tests.support.internet.server import (
    Internet,
    Place,
    behind_nginx,
    issue_certificates,
    running_nginx,
    write_configuration,
    write_remap,
)

HTTP, TLS = 18080, 18443
"""The ports; those of the replay's servers, which may listen beside it, are others."""
FASTOPEN_QUEUE = 256


@contextmanager
def serve_in_star(star: Star) -> Iterator[Internet]:
    """Run the test internet, with the pages of today.py, on the hosts of a star that a recording of it was made for."""
    with behind_nginx(applications=True) as internet, ExitStack() as stack:
        places = {name: Place(server.address, HTTP, TLS) for name, server in star.servers.items()
                  if name in internet.hosts}
        issue_certificates(internet)
        write_remap(internet, places)
        clock = shutil.copy(require_shim(), internet.directory)     # where nginx's user can read it
        environment = {"LD_PRELOAD": str(clock), "TFO_LAB_CLOCK_DAYS": str(CLOCK_SHIFT_DAYS)}
        for name, place in places.items():
            _prefer_cubic(star.servers[name])
            configuration = write_configuration(internet, name, {name: place}, FASTOPEN_QUEUE)
            stack.enter_context(running_nginx(internet, configuration, place, star.servers[name].pid, environment))
        yield internet


def _prefer_cubic(server: Host) -> None:
    """Have its connections control congestion by CUBIC, as the replay's do (harness.system.tcp).

    A route can say so (ip-route(8), congctl); the sysctl of a namespace takes only what all users may choose.
    """
    with inside(server.pid):
        run(["ip", "route", "replace", "10.0.0.0/8", "dev", server.interface, "proto", "kernel", "scope", "link", "src",
             server.address, "congctl", "cubic"], "choosing CUBIC")
