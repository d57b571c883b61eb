"""One finished experiment of tfo.py on the pages of small.pages: what its files say, for tests that ask much of it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.analysis.row import Row
from harness.analysis.selection import select
from harness.files.load_record import LoadRecord, read_load_record
from harness.files.pages import sanitise
from harness.files.results import Results, read_results
from harness.files.server_log import ServerRequest, read_server_logs
from tests.support.project_copy import experiment


@dataclass(frozen=True)
class Finished:
    """Where it was made, and what it said."""

    base: Path
    said: str

    @property
    def client(self) -> Path:
        """The folder of its results."""
        return self.base / "client"

    @cached_property
    def loads(self) -> list[LoadRecord]:
        """The records of all loads, in the order in which they began."""
        return sorted(map(read_load_record, self.client.glob("*-tfo-*/*.json")), key=lambda load: load.began_s or 0.0)

    def load(self, tfo: int, run: int = 1, url: str = "") -> LoadRecord:
        """Return the record of one load; of the only page if none is named."""
        [found] = [load for load in self.loads if (load.tfo, load.run) == (tfo, run) and url in ("", load.url)]
        return found

    def requests(self, tfo: int) -> list[ServerRequest]:
        """Return what the servers were asked for, at the only RTT."""
        [directory] = (self.base / "serverlogs").glob(f"*-tfo-{tfo}")
        return [request for request in read_server_logs(directory, {}) if request.found != "silent"]

    @cached_property
    def results(self) -> Results:
        """What plot.py reads."""
        return read_results(self.client)

    def row(self, url: str = "") -> Row:
        """Return the row of one page, or the only one."""
        [found] = [row for row in select(self.results, "load").rows if not url or row.page == sanitise(url)]
        return found

    def saved_ms(self, url: str = "") -> float:
        """What TFO saved of a page's PLT, or of the only one's: a difference of medians."""
        row = self.row(url)
        assert row.off.median_ms is not None
        assert row.on.median_ms is not None
        return row.off.median_ms - row.on.median_ms


def measured(base: Path, *options: object, status: int | None = 0) -> Finished:
    """Measure the pages of small.pages in `base`: a warm-up and one load that counts, unless `options` say more."""
    return Finished(base, experiment(base, "--testruns", 2, *options, status=status).stdout)
