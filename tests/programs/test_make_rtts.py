"""scripts/make_rtts.py: of each server the shortest answer of the text logs, as an upper bound of its RTT."""

import sys
from pathlib import Path

from harness.bootstrap import ROOT
from harness.files.text_log import PageLog, Response, Transaction, format_log
from harness.mirror.servers import read_rtts
from tests.support.ran import ran
from tests.support.small_mirror import chain_of_hosts

FIRST, SECOND = "http://www.nytimes.com/", "http://host1.test/"
TIMES = ((FIRST, 0, 80.25), (f"{FIRST}s.css", 100, 135.5), (f"{FIRST}cached", 140, 140), (SECOND, 150, 350),
         ("http://host2.test/", 350, 651), (f"{SECOND}failed", 150, 151), ("http://elsewhere.test/", 0, 3))


def make(directory: Path) -> tuple[int, str]:
    done = ran(sys.executable, ROOT / "scripts" / "make_rtts.py", "--dir", directory, "--name", "small")
    return done.returncode, done.stdout + done.stderr


def test_the_shortest_answer_of_each_server(tmp_path: Path) -> None:
    chain_of_hosts(tmp_path, 3)
    [log] = [path for path in (tmp_path / "small.fetchlog").iterdir() if path.suffix != ".json"]
    responses = [Response("OK", "text/html", "", url, None) for url, *_ in TIMES if "failed" not in url
                 and "elsewhere" not in url]
    log.write_text(format_log(PageLog(transactions=[Transaction(start, end, url) for url, start, end in TIMES],
                                      responses=responses, transactions_seen=True)))
    path = tmp_path / "small.rtts"
    assert make(tmp_path) == (0, f"{path}: 2 of 3 servers, 35.5 to 200 ms at most\n")
    assert {host: rtt_ms for host, (_, rtt_ms) in read_rtts(path).items()} == {"www.nytimes.com": 35.5,
                                                                              "host1.test": 200}
    assert "\n# host2.test 301.0\n" in path.read_text(), "no server is that far away"
    path.write_text("www.nytimes.com 5\n")
    assert make(tmp_path) == (2, f"{path}: is there already; remove it to have it made anew\n")
    assert path.read_text() == "www.nytimes.com 5\n"


def test_a_log_without_times(tmp_path: Path) -> None:
    chain_of_hosts(tmp_path, 2)
    for log in (tmp_path / "small.fetchlog").iterdir():
        log.write_text("<transactions>\n</transactions>\n" if log.suffix != ".json" else log.read_text())
    status, said = make(tmp_path)
    assert (status, len(said.splitlines())) == (2, 1)
    assert "no text log in it has times; write small.rtts by hand" in said
