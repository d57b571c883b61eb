"""What is known of the recording before anything runs."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from harness.browser.program import Browser
from harness.files.exchange import Answer, Body, Exchange, Place, Request
from harness.measure.coverage import RecordedPage
from harness.measure.laboratory import ReplayedWeb, fields_of_any
from harness.measure.settings import Settings
from harness.mirror.answers import Recorded
from tests.support.ordinary import ORDINARY, acting_as


@pytest.mark.root
def test_a_link_that_takes_the_mirrors_place_tells_nothing_new(open_to_all: Path) -> None:
    """It looks at the sizes of bodies as who called sudo, who may not enter the folder that the link leads to."""
    (open_to_all / "of_root").mkdir(mode=0o700)
    (open_to_all / "of_root" / "body").write_text("secret")
    (open_to_all / "Web").symlink_to(open_to_all / "of_root")
    work_dir = open_to_all / "work"
    work_dir.mkdir()
    os.chown(work_dir, ORDINARY.uid, ORDINARY.gid)
    answer = Recorded(Exchange(request=Request("GET", "")), Place("http", "a.test", "/"),
                      Answer(200, body=Body("body")), identity="x")
    recording = SimpleNamespace(transactions=lambda _: [answer], body_file=lambda _: Path("body"))
    page_set = SimpleNamespace(recording=recording, pages=[SimpleNamespace(name="page", url="http://a.test/")],
                               files=SimpleNamespace(mirror=open_to_all / "Web"))
    web = SimpleNamespace(page_set=page_set, settings=Settings())
    with acting_as(ORDINARY):
        found = fields_of_any(cast(ReplayedWeb, web), cast(Browser, None), None, work_dir, open_to_all)
    assert found["recorded"] == {"page": RecordedPage({"x": 0}, of_a_load=True, urls={"x": "http://a.test/"})}
