"""What is known of the recording before anything runs."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from harness.measure.coverage import RecordedPage
from harness.measure.laboratory import BrowserSettings, ReplayedWeb, fields_of_any
from harness.mirror.answers import RecordedAnswer
from harness.mirror.manifest import Manifest
from tests.support.ordinary import SUDO


@pytest.mark.root
def test_a_link_that_takes_the_mirrors_place_tells_nothing_new(open_to_all: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """Root looks at the sizes of bodies as who called sudo, who may not enter the folder that the link leads to."""
    (open_to_all / "of_root").mkdir(mode=0o700)
    (open_to_all / "of_root" / "body").write_text("secret")
    (open_to_all / "Web").symlink_to(open_to_all / "of_root")
    for variable, number in SUDO.items():
        monkeypatch.setenv(variable, number)
    answer = RecordedAnswer(200, file="body", identity="x")
    recording = SimpleNamespace(transactions=lambda _: [answer], body_file=lambda _: Path("body"), live={}, silent={},
                                manifest=Manifest(), asked_as=lambda url: url)
    page_set = SimpleNamespace(recording=recording, pages=[SimpleNamespace(name="page", url="http://a.test/")],
                                document_bytes={}, files=SimpleNamespace(mirror=open_to_all / "Web"))
    web = SimpleNamespace(page_set=page_set, server="threaded", think_rtts_ms=None, layout=None,
                          servers={})
    chrome = SimpleNamespace(**dict.fromkeys(("browser", "predict", "initiators", "limits", "connection_limit",
                                              "cookies", "pcap")))
    found = fields_of_any(cast(ReplayedWeb, web), cast(BrowserSettings, chrome), None, open_to_all, open_to_all)
    assert found["recorded"] == {"page": RecordedPage({"x": 0}, urls={"x": ""})}
