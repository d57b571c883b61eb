"""What a request was for, when its answer's type says something else."""

from typing import Any

import pytest

from harness.analysis.causes import cause_of_load_event, dependencies
from harness.analysis.critical_path import critical_path
from harness.analysis.timeline import DATA, DOCUMENT, FONT, IMAGE, MEDIA, SCRIPT, kind_of, make_timeline
from harness.analysis.what_if import saved_ms
from tests.support.made_har import PAGE, MadeLoad

RTT_MS = 100
SITE, OTHER = "http://page.test", "http://ads.test"


def asked(url: str, mime_type: str, method: str = "GET", by: str = SITE, accept: str = "*/*",
          **headers: str) -> dict[str, Any]:
    """Return an entry of a HAR; in the names of `headers` an underscore stands for a hyphen."""
    pairs = {"Accept": accept, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return {"request": {"url": url, "method": method, "headers": [{"name": name, "value": value} for name, value
                                                                  in pairs.items()]},
            "response": {"content": {"mimeType": mime_type}}, "_initiator": by}


@pytest.mark.parametrize(("entry", "kind"), [
    (asked(f"{OTHER}/jsonp", "text/html"), SCRIPT),
    (asked(f"{OTHER}/gone.js", ""), SCRIPT),
    (asked(f"{SITE}/jsonp", "text/html"), DATA),                                # or a script: who knows
    (asked(f"{OTHER}/api", "application/json", Origin=SITE), DATA),
    (asked(f"{OTHER}/film", "application/octet-stream", Range="bytes=0-"), DATA),
    (asked(f"{OTHER}/next", "text/html", Purpose="prefetch"), DATA),
    (asked(f"{OTHER}/beacon", "", method="POST"), DATA),
    (asked(f"{OTHER}/events", "text/event-stream", accept="text/event-stream"), DATA),
    (asked(f"{OTHER}/x", "text/plain", by=""), DATA),
    (asked(f"{OTHER}/x", "text/plain", by="", Referer=f"{SITE}/a"), SCRIPT),
    (asked(f"{SITE}/x", "text/plain", by="", Referer=f"{SITE}/a"), DATA),
    (asked("https://ads.test/jsonp", "application/json", Sec_Fetch_Dest="script"), SCRIPT),
    (asked("https://ads.test/fetched", "application/json", Sec_Fetch_Dest="empty"), DATA),
    (asked("https://ads.test/read.js", "text/javascript", Sec_Fetch_Dest="empty"), DATA),
    (asked("https://ads.test/read.ttf", "font/ttf", Sec_Fetch_Dest="empty"), DATA),
    (asked("https://ads.test/f", "application/octet-stream", Sec_Fetch_Dest="font"), FONT),
    (asked(f"{SITE}/f.WOFF?v=1", "application/octet-stream", Origin=SITE), FONT),
    (asked(f"{OTHER}/f.ttf", "", Origin=SITE), FONT),
    (asked(f"{OTHER}/f", "font/woff2", Origin=SITE), FONT),
    (asked(f"{OTHER}/a", "audio/mpeg"), MEDIA),
    (asked(f"{OTHER}/i", "text/html", accept="image/avif,*/*"), IMAGE),
    (asked(f"{OTHER}/f", "text/plain", accept="text/html,*/*"), DOCUMENT),
    (asked("https://ads.test/f", "text/html", accept="text/html,*/*", Sec_Fetch_Dest="iframe"), DOCUMENT),
    (asked("https://ads.test/part", "text/html", accept="text/html, */*; q=0.01", Sec_Fetch_Dest="empty"), DATA),
    (asked("https://ads.test/i", "image/png", accept="image/png", Sec_Fetch_Dest="empty"), DATA),
    (asked(f"{SITE}/part", "text/html", accept="text/html, */*; q=0.01", X_Requested_With="XMLHttpRequest"), DATA),
])
def test_a_request_is_what_it_was_made_for(entry: dict[str, Any], kind: str) -> None:
    assert kind_of(entry) == kind


def test_the_load_event_waits_for_no_part_of_a_page_that_a_script_fetches() -> None:
    """It came last by chance, over a connection of its own: 3 handshakes were counted, not 2."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", referer="")
    image_end = load.add("http://cdn.test/i", end, "image", wait=230)
    script_end = load.add(f"{PAGE}s.js", end, "script", connect=-1, wait=25)
    fetched_end = load.add("http://part.test/part", script_end, "document", wait=208, fetched=("empty", "cors"))
    assert image_end < fetched_end
    load.plt_ms = fetched_end + 3
    timeline = make_timeline(load.log(), load.record(), load.plt_ms)
    cause = cause_of_load_event(timeline)
    assert cause.request is not None
    assert cause.request.url == "http://cdn.test/i"


def test_the_load_event_waits_for_a_script_whatever_its_type() -> None:
    """A script of another host, called text/html, inserts one called text/plain: 1 of 3 handshakes was counted."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", referer="")
    for host, mime_type in (("ads", "text/html"), ("cdn", "text/plain")):
        end = load.add(f"http://{host}.test/{host}", end, "script")
        load.entries[-1]["response"]["content"]["mimeType"] = mime_type
    load.plt_ms = end + 5
    timeline = make_timeline(load.log(), load.record(), load.plt_ms)
    graph = dependencies(timeline)
    assert sum(step.kind == "connect" for step in critical_path(timeline, graph)) == 3
    assert saved_ms(timeline, graph, RTT_MS) == 3 * RTT_MS
