"""fetch.py --from and --as-of: a page that others recorded becomes a recording like our own."""

import gzip
import json
import subprocess
import sys
from email.message import Message
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.answering import Answer, answering
from tests.support.har_schema import assert_har
from tests.support.made_warc import DAY, IMAGES, PAGE, SCRIPT, picture, site_records, write_warc
from tests.support.ran import ran

pytestmark = [pytest.mark.chrome, pytest.mark.slow]


def fetch(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, ROOT / "fetch.py", "--dir", directory, "--name", "old", "--quiet", "0.5", "--timeout",
               "60", *options, status=0)


def test_a_page_from_a_warc(tmp_path: Path) -> None:
    cut = ("response", "http://gone.test/lost.png", "HTTP/1.1 200 OK", [("Content-Length", "99")], b"cut")
    source = write_warc(tmp_path / "site.warc.gz", *site_records(), cut)
    (tmp_path / "old.pages").write_text(PAGE)
    done = fetch(tmp_path, "--from", str(source))
    for words in ("fit for the experiment", "captured on 2013-03-12; its times are unknown", "1 x not in the archive",
                  "1 answered by what was recorded for a similar URL"):
        assert words in done.stdout
    mirror = tmp_path / "old"
    assert (mirror / "www.old.test" / "style.css").read_bytes() == b"body { }"
    assert gzip.decompress((mirror / "cdn.old.test" / "x.js").read_bytes()) == SCRIPT
    assert (mirror / "cdn.old.test" / "here.png").read_bytes() == picture()
    assert not (mirror / "gone.test").exists()
    log = assert_har(tmp_path / "old.fetchlog" / "httpwww.old.test.har")
    entries = {entry["request"]["url"]: entry for entry in log["entries"]}
    assert all(set(entry["timings"].values()) == {-1} and entry["time"] == 0 for entry in log["entries"])
    assert entries[PAGE]["startedDateTime"].startswith(DAY[:10])
    assert "X-TFO-Lab-Answer" not in json.dumps(log)
    assert entries[f"{PAGE}moved.png"]["response"]["redirectURL"] == "http://cdn.old.test/here.png"
    assert entries["http://gone.test/lost.css"]["_error"] == "not in the archive"
    assert entries["http://gone.test/lost.png"]["_error"].startswith("in the archive without its body (")
    posted = next(entry for entry in log["entries"] if entry["request"]["method"] == "POST")
    assert posted["comment"] == f"a stand-in: recorded for {PAGE}count?t=1363082400000"
    assert "<transactions>" not in (tmp_path / "old.fetchlog" / "httpwww.old.test").read_text()


CAPTURES = {url: (int(line.split()[1]), headers, body) for kind, url, line, headers, body in site_records()
            if kind == "response" and not url.startswith(f"{PAGE}count")}


def captured(path: str, _headers: Message) -> Answer:
    """Answer as the Wayback Machine does: captured headers under names of its own, or none."""
    status, headers, body = CAPTURES.get(path.partition("id_/")[2], (404, [], b""))
    named = {name if name in ("Content-Encoding", "Location") else f"X-Archive-Orig-{name}": value
             for name, value in headers}
    date = {} if status == 404 else {"Memento-Datetime": "Tue, 12 Mar 2013 00:00:00 GMT"}
    return status, {**named, **date, "X-Archive-Src": "x.warc.gz"}, b"body { }" if "chunked" in named.values() else body


def test_a_page_as_of_a_day(tmp_path: Path) -> None:
    (tmp_path / "old.pages").write_text(PAGE)
    asked: list[str] = []

    def answer(path: str, headers: Message) -> Answer:
        asked.append(path)
        return captured(path, headers)

    with answering(answer) as port:
        fetch(tmp_path, "--as-of", "2013-03-12", "--archive", f"http://127.0.0.1:{port}/web", "--no-trial")
    assert len(set(asked)) == len(asked) > IMAGES
    mirror = tmp_path / "old"
    assert (mirror / "cdn.old.test" / "here.png").read_bytes() == picture()
    assert (mirror / "www.old.test" / "style.css").read_bytes() == b"body { }"
    assert not (mirror / "gone.test").exists()
