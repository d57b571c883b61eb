"""The experiment's own laboratory, as tfo.py builds it, with all results in a directory that is thrown away.

And what it replays: the project's pages, with as many hosts besides as a benchmark wants.
"""

import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from harness.bootstrap import ROOT
from harness.files.pages import PageFiles
from harness.measure.laboratory import Laboratory, ReplayedWeb, running_laboratory
from harness.measure.preflight import PageSet, check_browser, check_pages
from harness.network.star import LinkSpeeds

FILE_BYTES = 9500
"""Of the one file of a host that no page has."""


def read_page_set(name: str) -> PageSet:
    """Return the pages NAME of the project. Raises InputError, with the command that makes it, without a recording."""
    return check_pages(PageFiles(ROOT, name))


def laboratory(page_set: PageSet, delaynet_ms: float, *, netem: bool) -> AbstractContextManager[Laboratory]:
    """Run star, delay and servers for all hosts of the pages, with the defaults of tfo.py in everything else."""
    return running_laboratory(LinkSpeeds(delay_net_ms=delaynet_ms), ReplayedWeb(page_set=page_set),
                              check_browser(), netem=netem)


def widen_mirror(page_set: PageSet, count: int, mirror: Path) -> list[str]:
    """Copy the pages' mirror, add hosts to make `count`, and return the names of `count` hosts."""
    shutil.copytree(page_set.files.mirror, mirror)
    more = [f"host{number}.example.test" for number in range(count - len(page_set.hosts))]
    for name in more:
        (mirror / name).mkdir()
        (mirror / name / "file.bin").write_bytes(b"x" * FILE_BYTES)
    return [*page_set.hosts, *more][:count]
