"""A load that counts: what is said when none can be had."""

from typing import cast

import pytest

from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.measure import one_load
from harness.measure.laboratory import Laboratory
from harness.measure.plan import Load
from harness.measure.settings import Settings

LOAD = Load(Page("http://www.one.test/", "httpwww.one.test"), 0, 0)


class WithoutLoadPage:
    """A laboratory whose load_page.py is killed when a load begins."""

    killed, settings = False, Settings()

    def check_companions(self) -> None:
        if self.killed:
            raise ExperimentError("load_page.py ended (killed by SIGKILL): it did not say why")


def test_the_end_of_a_companion_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a traceback: the socket to it is closed."""
    lab = WithoutLoadPage()

    def measure(_lab: Laboratory, _load: Load) -> LoadRecord:
        lab.killed = True
        raise BrokenPipeError

    monkeypatch.setattr(one_load, "record_of", measure)
    with pytest.raises(ExperimentError, match=r"^load_page\.py ended \(killed by SIGKILL\)"):
        one_load.measure_valid_load(cast("Laboratory", lab), LOAD)
