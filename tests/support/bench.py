"""An experiment's loop without a network: each load ends as the test says, without Chrome and without root."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.measure import experiment as module
from harness.measure.evidence import Load
from harness.measure.loads import cell_of
from harness.measure.resume import Stage, stages_of
from harness.measure.rule import Reason
from harness.measure.series import Series
from harness.measure.settings import Settings
from harness.network.star import LinkSpeeds
from harness.system.progress import Steps
from tests.support.made_reason import accident, of_the_page
from tests.support.made_record import made_answers, made_record

FIRST, SECOND = (Page(f"http://{name}.test", f"http{name}.test") for name in ("first", "second"))
LINKS = [LinkSpeeds(delay_net_ms=10), LinkSpeeds(delay_net_ms=50)]
LOST, WRONG = accident("SYN retransmitted by user: 1"), of_the_page("the document answered 404")


@dataclass
class Bench:
    """A laboratory without a network: `failures` says of each load, try by try, why it is not valid."""

    directory: Path
    failures: dict[Load, list[list[Reason]]] = field(default_factory=dict)
    requests: Callable[[Load, int], tuple[str, ...]] = lambda load, _attempt: (load.page.url,)
    done: list[Load] = field(default_factory=list)
    settings = Settings(testruns=3)
    web = SimpleNamespace(page_set=SimpleNamespace(pages=[FIRST, SECOND]))
    delaynet_ms = 10.0
    ends_after = 10**6

    @property
    def client_dir(self) -> Path:
        return self.directory / "client"

    def check_programs_beside(self) -> None:
        if len(self.done) >= self.ends_after:
            raise ExperimentError("the delay line ended (killed by SIGKILL): out of memory")

    def measure_load(self, _lab: object, load: Load) -> LoadRecord:
        self.done.append(load)
        cell = cell_of(self, load)           # type: ignore[arg-type]
        cell.mkdir(parents=True, exist_ok=True)
        (cell / f"{load.page.name}.har").write_text(f"{self.done.count(load)}")
        urls = self.requests(load, self.done.count(load))
        return made_record(url=load.page.url, page=load.page.name, tfo=load.tfo, run=load.run, plt_ms=100.0,
                           experiment="this", requests=1, answers=made_answers(*urls, purpose="document"))

    def reasons(self, _record: LoadRecord) -> list[Reason]:
        failures = self.failures.get(self.done[-1], [])
        tries = self.done.count(self.done[-1])
        return list(failures[tries - 1]) if tries <= len(failures) else []

    def stages(self, resume: Path | None = None, **settings: Any) -> list[Stage]:
        """Return what is to be done at 20 and 100 ms; of what is in the folder `resume`, if one is given, the rest."""
        known = {"pages": [FIRST.url, SECOND.url], "rtt_ms": 20, "tfo": "both", "http": "1.0", "server": "threaded"}
        return stages_of([FIRST, SECOND], replace(self.settings, **settings), LINKS, [known, known], resume)

    def run(self, monkeypatch: pytest.MonkeyPatch, retries: int = 2, stage: Stage | None = None) -> Series:
        monkeypatch.setattr(module, "record_of", self.measure_load)
        monkeypatch.setattr(module, "alone", self.reasons)
        monkeypatch.setattr(module, "found_in", lambda _: {"id": "this"})
        self.settings = replace(self.settings, retries=retries)
        stage = stage or self.stages()[0]
        return module.measure(self, stage, Steps(len(stage.to_do)))     # type: ignore[arg-type]
