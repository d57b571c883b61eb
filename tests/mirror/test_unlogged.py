"""Files of a mirror of 2013's format that no log names: which URLs they answer."""

from pathlib import Path

from harness.files.text_log import read_log
from harness.mirror.paths import md5_name, write_file
from harness.mirror.recording import read_recording
from harness.mirror.unlogged import unlogged_answers

SCRIPT, SHEET, BEACON = (f"/{letter}/{letter * 70}.js?x=1&y=2" for letter in "abc")
"""Too long for names: their files are called by an MD5."""


def test_files_that_no_log_names(tmp_path: Path) -> None:
    mirror, logs = tmp_path / "old", tmp_path / "old.fetchlog"
    for url in ("http://a.test/", "http://a.test/logged.js", "http://b.test/deep/plain.css", f"http://b.test{SCRIPT}",
                f"http://c.test{SHEET}", f"http://c.test{BEACON}", "http://d.test/x"):
        write_file(mirror, url, b"body")
    write_file(mirror, "http://b.test/deep/plain.css", f"@import '//c.test{SHEET.replace('&', '&amp;')}'".encode())
    logs.mkdir()
    (logs / "first").write_text(
        "<responses>\nstatus       | mime_type       | charset | url -> redirect_url\n"
        "          OK | text/javascript |         | http://a.test/logged.js -> nil\n</responses>\n")
    (logs / "second").write_text(
        f"*** Renamed {SCRIPT} to /{md5_name(SCRIPT)} ***\n"
        "<resolves>\n  1.0 |  2.0 |  1.0 |   0 | c.test:80 ->  192.0.2.1:80\n</resolves>\n")
    read = {name: read_log(logs / name) for name in ("first", "second")}
    assert read["second"].problems == []
    answers = list(unlogged_answers(read_recording(mirror, logs), mirror, read))
    assert {answer.url: (answer.page, answer.status) for answer in answers} == {
        "http://a.test/": ("first", 200), "http://b.test/deep/plain.css": ("first", 200),
        f"http://b.test{SCRIPT}": ("second", 200), f"http://c.test{SHEET}": ("second", 200),
        "http://d.test/x": ("first", 200)}      # the beacon's URL can be told by nothing
