"""What a request was for, when its answer's type says something else."""

from typing import Any

import pytest

from harness.analysis.timeline import DATA, DOCUMENT, FONT, IMAGE, MEDIA, SCRIPT, kind_of
from harness.files.har import from_har

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
    assert kind_of(from_har(entry)) == kind
