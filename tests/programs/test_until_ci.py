"""One real experiment with --until-ci and --pcap: what it did is what its files say, and tshark reads its captures."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.files.results import read_results
from tests.support import project_copy
from tests.support.small_mirror import chain_of_hosts

pytestmark = [pytest.mark.root, pytest.mark.chrome]

PAGE = "httpwww.nytimes.com"
COOKIE_BYTES = 8
"""Length of Linux's cookies (RFC 7413 allows 4 to 16)."""


@dataclass(frozen=True)
class Experiment:
    """A finished experiment: three hosts, two requests each; at first two runs, and one more for an interval."""

    client: Path
    output: str

    def records(self) -> list[dict[str, Any]]:
        """Return the records of all loads in the order in which they began."""
        found = [json.loads(path.read_text()) for path in self.client.glob("*/*.json")]
        return sorted(found, key=lambda record: float(record["began_s"]))

    def syns(self, run: int, tfo: int) -> list[list[str]]:
        """Return of each SYN the browser sent: the cookie, whether it asks for one, and the bytes of data in it."""
        fields = [word for name in ("tcp.options.tfo.cookie", "tcp.options.tfo.request", "tcp.len")
                  for word in ("-e", name)]
        command = ["tshark", "-r", str(self.client / f"50-{run}-tfo-{tfo}" / f"{PAGE}.pcap"),
                   "-Y", "tcp.flags.syn == 1 && tcp.flags.ack == 0", "-T", "fields", *fields]
        return [line.split("\t") for line in subprocess.check_output(command, text=True).splitlines()]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Measure once for all tests."""
    base = chain_of_hosts(tmp_path_factory.mktemp("until-ci"), hosts=3)
    return Experiment(base / "client", measured(base))


def measured(base: Path, *more: str) -> str:
    """Measure; return what was printed."""
    return project_copy.experiment(base, "--testruns", "2", "--delaynet", "50", "--until-ci", "99", "--min-pairs", "2",
                                   "--max-runs", "5", "--pcap", *more).stdout


def test_pairs_are_added_until_the_interval_is_narrow(experiment: Experiment) -> None:
    assert "http://www.nytimes.com/: improvement known to +-" in experiment.output
    assert "(95% interval of 2 pairs) after 2 measured runs\n" in experiment.output
    assert "[  1/<=12]" in experiment.output
    assert "[  6/6]" in experiment.output
    assert "6 of 6 page loads are valid" in experiment.output


def test_a_whole_experiment_is_resumed_in_a_line_that_counts_all_its_loads(experiment: Experiment) -> None:
    """Those beyond --testruns, too."""
    assert measured(experiment.client.parent, "--resume").endswith("100 ms: all 6 page loads are there already\n")


def test_the_experiment_file_tells_what_was_done(experiment: Experiment) -> None:
    description = json.loads((experiment.client / "experiment-50.json").read_text())
    done = [[record["url"], record["run"], record["tfo"]] for record in experiment.records()]
    assert [run for _, run, _ in done] == [0, 0, 1, 1, 2, 2]
    assert [tfo for _, _, tfo in done] in ([0, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0])
    assert [description[name] for name in ("until_ci", "max_runs", "min_pairs")] == [99, 5, 2]
    table = (experiment.client / "loads.csv").read_text().splitlines()
    assert len(table) == 1 + len(done)
    results = read_results(experiment.client)
    assert (results.problems, len(results.loads)) == ([], 6), "captures are not taken for pages"


def test_cookie_and_data_are_in_the_syns_with_tfo(experiment: Experiment) -> None:
    for run in (1, 2):
        syns = experiment.syns(run, tfo=1)
        assert len(syns) == 6
        for cookie, request, data_bytes in syns:
            assert len(bytes.fromhex(cookie)) == COOKIE_BYTES
            assert (request, int(data_bytes) > 100) == ("", True), "a whole HTTP request"


def test_the_warm_up_asks_for_cookies(experiment: Experiment) -> None:
    syns = experiment.syns(run=0, tfo=1)
    assert sum(request != "" for _, request, _ in syns) == 3, "one a host"


def test_without_tfo_syns_carry_nothing(experiment: Experiment) -> None:
    for run in (0, 1, 2):
        assert experiment.syns(run, tfo=0) == [["", "", "0"]] * 6


def test_captures_are_whole(experiment: Experiment) -> None:
    """No packet is missing: each connection of the load is there to the end, with all its data."""
    for record in experiment.records():
        capture = record["capture"]
        assert (capture["dropped"], capture["problem"]) == (0, None)
        path = experiment.client / f"50-{record['run']}-tfo-{record['tfo']}" / f"{PAGE}.pcap"
        read = subprocess.check_output(["tshark", "-r", str(path), "-T", "fields", "-e", "tcp.flags.fin",
                                        "-e", "tcp.analysis.lost_segment", "-e", "tcp.analysis.ack_lost_segment"],
                                       text=True).splitlines()
        assert len(read) == capture["packets"] > 6 * 7, "SYN, SYN-ACK, request, answer, FIN, FIN, ACK at the least"
        fins = [line.split("\t")[0] for line in read]
        assert sum(fin in ("1", "True") for fin in fins) == 2 * 6
        assert not [line for line in read if any(line.split("\t")[1:])]
