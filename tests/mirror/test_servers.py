"""How far away the recorded servers were: by the recording's HARs, and by NAME.rtts, which goes before them.

`rtts.jsonl` has a recording a line: URLs with what is told of their connections, what is `written` in NAME.rtts, the
RTT to each server, and which of these are `assumed`. A text log knows none: it has `hosts` alone.

And the layouts that a recording offers: `layouts.jsonl`, one a line. `pages` are what each page got from which address;
`servers` None: the layout cannot be made. Lines of NAME.rtts that are none: tests/corpus/texts.jsonl.
"""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.files.exchange import Answer, Exchange, Request
from harness.files.har_entry import from_har
from harness.files.pages import PageFiles
from harness.mirror.exchanges import PageExchanges
from harness.mirror.recording import Recording
from harness.mirror.servers import RecordedRtts, make_layout, recorded_rtts
from tests.support.noted import each_case


@each_case("mirror/rtts.jsonl")
def test_how_far_away_servers_were(case: dict[str, Any], tmp_path: Path) -> None:
    exchanges = []
    for url, known in case["recorded"]:
        response = {"status": known.get("status", 200), "httpVersion": known.get("version", "h2")}
        exchanges.append(from_har({"request": {"url": url}, "response": response, **known}))
    files = PageFiles(tmp_path, "Web")
    if "written" in case:
        files.rtts.write_text(case["written"])
    recording = Recording([PageExchanges("page", exchanges)], dict.fromkeys(case.get("hosts", ()), frozenset()))
    with pytest.raises(InputError, match=case["refused"]) if "refused" in case else nullcontext():
        found = recorded_rtts(files, recording)
        assert found == RecordedRtts(case["rtts_ms"], tuple(case.get("assumed", ())))
        assert found.median_ms == case["median_ms"]


@each_case("mirror/layouts.jsonl")
def test_which_hosts_share_a_server(case: dict[str, Any]) -> None:
    pages = [PageExchanges(page, [Exchange(request=Request("GET", url), answer=Answer(200), address=address)
                                  for url, address in answers]) for page, answers in case["pages"].items()]
    recording = Recording(pages, {"www.one.test": frozenset()})
    with nullcontext() if case["servers"] else pytest.raises(InputError):
        layout = make_layout(case["layout"], recording)
        assert layout.servers(recording.hosts()) == case["servers"]
