"""What the table says of loads over loopback, and that what was simulated never stands among what was measured."""

from pathlib import Path
from typing import Any

import pytest

from harness.analysis.selection import select
from harness.files.experiment import write_experiment
from harness.files.results import read_results
from harness.show.protocols import is_simulated
from tests.support.client_folder import make_client
from tests.support.made_har import PAGE, chain
from tests.support.plotted import plot
from tests.support.texts import format_report

REAL: dict[str, Any] = {"network": "loopback", "fastopen_by": "the kernel's, in a network namespace of its own",
        "fastopen_because": ""}
NONE: dict[str, Any] = {"network": "loopback", "tfo": "0", "fastopen_because": "a reason",
        "fastopen_by": "none: what it would do is simulated from the loads without it"}


def test_the_footer_says_what_stood_for_the_network(tmp_path: Path) -> None:
    results = read_results(make_client(tmp_path, tfo="both", **REAL))
    report = format_report(results, select(results, "load"))
    assert report.count("Network: none. Servers on this machine's loopback held their answers back") == 1
    assert "No slow start, no bandwidth" in report
    assert "\nTFO: the kernel's, in a network namespace of its own.\n" in report
    assert not is_simulated(results)


def test_of_a_star_it_says_nothing(tmp_path: Path) -> None:
    results = read_results(make_client(tmp_path, bw_net_mbit=4.0))
    report = format_report(results, select(results, "load"))
    assert "loopback" not in report
    assert not is_simulated(results)


@pytest.mark.parametrize("option", [(), ("--detail",)])
def test_what_is_simulated_stands_in_a_table_of_its_own(tmp_path: Path, option: tuple[str, ...]) -> None:
    client = tmp_path / "client"
    for run in (0, 1, 2):
        chain(3).write(client, run=run)
    write_experiment(client, 50, {"name": "small", "pages": [PAGE], "rtt_ms": 100, "http": "1.0", **NONE})
    said = plot(tmp_path, *option, "--clientdir", client, "--outputdir", tmp_path / "out").stdout
    measured, simulated = said.split("Simulated, not measured (there are no loads with TFO)")
    assert "\t100\t0.624\t-\t-\n" in measured
    assert "no network, servers on loopback" in measured
    assert "\t100\t0.624\t3\t0.324\t-\t-\n" in simulated
