"""A load whose companion ends meanwhile."""

from typing import cast

import pytest

from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.measure import loads
from harness.measure.laboratory import Laboratory
from harness.measure.plan import Load

LOAD = Load(Page("http://www.one.test/", "httpwww.one.test"), 0, 0)


class WithoutLoadPage:
    """A laboratory whose load_page.py is killed when a load begins."""

    killed = False

    def check_companions(self) -> None:
        if self.killed:
            raise ExperimentError("load_page.py ended (killed by SIGKILL): it did not say why")


def test_the_end_of_a_companion_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a traceback: the socket to it is closed."""
    lab = WithoutLoadPage()

    def measure(_lab: Laboratory, _load: Load) -> LoadRecord:
        lab.killed = True
        raise BrokenPipeError

    monkeypatch.setattr(loads, "measure_load", measure)
    with pytest.raises(ExperimentError, match=r"^load_page\.py ended \(killed by SIGKILL\)"):
        loads.record_of(cast("Laboratory", lab), LOAD)
