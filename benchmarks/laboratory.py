"""The experiment's own laboratory, as tfo.py builds it, with all results in a directory that is thrown away."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from harness import preflight
from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.hack_dns import Remap, write_hack_dns
from harness.links import delayed_links
from harness.loads import Laboratory
from harness.pages import Page
from harness.privileges import browsing_user, invoking_user
from harness.rtt import check_rtts, measure_rtts
from harness.servers import ServerSettings, running_servers
from harness.star import LinkSpeeds, running_star
from tfo import temporary_directory

PORT = 8000


@dataclass(frozen=True)
class Site:
    """The recording that is replayed: its files, its pages, the host names, and the size of each page's document."""

    files: preflight.Files
    pages: list[Page]
    hosts: list[str]
    document_bytes: dict[Page, int]

    def page(self, part: str) -> Page:
        """Return the first page that has `part` in its URL. Raises InputError when there is none."""
        found = next((page for page in self.pages if part in page.url), None)
        if found is None:
            urls = ", ".join(page.url for page in self.pages)
            raise InputError(f"{self.files.pages}: no page with {part!r} in its URL; it has {urls}")
        return found


def read_site(name: str) -> Site:
    """Return the recording NAME of the project. Raises InputError, with the command that makes it, without one."""
    files = preflight.Files(ROOT, name)
    pages, recording = preflight.check_pages(files)
    return Site(files, pages, recording.hosts(), preflight.document_bytes(files, recording, pages))


@contextmanager
def running_laboratory(site: Site, delaynet_ms: float, netem: bool) -> Iterator[Laboratory]:
    """Run star, delay and servers for the whole site, ready for harness.loads.measure_load.

    The delay is netem's or the delay line's. Raises ExperimentError when a measured RTT is not what it should be.
    """
    browser = preflight.check_browser()
    speeds = LinkSpeeds(delay_net_ms=delaynet_ms)
    with ExitStack() as stack:
        work_dir = stack.enter_context(temporary_directory())
        star = stack.enter_context(running_star(site.hosts, speeds, netem))
        stack.enter_context(delayed_links(star, speeds, netem))
        rtts_ms = measure_rtts(star, PORT)
        check_rtts(rtts_ms, speeds.rtt_ms)
        settings = ServerSettings(site.files.mirror, site.files.fetchlog, PORT, "1.0", "threaded",
                                  work_dir / "serverlogs", delaynet_ms, invoking_user())
        stack.enter_context(running_servers(star, settings, work_dir))
        hack_dns = work_dir / "hack_dns"
        write_hack_dns(hack_dns, [Remap(name, host.address, PORT) for name, host in star.servers.items()])
        hack_dns.chmod(0o644)
        yield Laboratory(star, browser, browsing_user(), invoking_user(), work_dir, hack_dns, work_dir / "client",
                         settings.logdir, delaynet_ms, speeds.rtt_ms, rtts_ms, predict=False)
