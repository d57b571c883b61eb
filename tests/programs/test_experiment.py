"""tfo.py on real loads: real star, real Chrome, real TFO, and what it refuses."""

import io
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.files.results import read_results
from harness.measure.command_line import parse_arguments
from harness.measure.version import program_digest
from tests.support.har_schema import assert_har
from tests.support.ordinary import AS_ORDINARY
from tests.support.project_copy import TFO, experiment
from tests.support.ran import assert_refused, ran
from tests.support.small_mirror import ICON, SmallMirror, chain_of_hosts, one_document

SYN_SHARE = 0.99


def records(base: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((base / "client").glob("*/*.json"))]


@pytest.mark.root
@pytest.mark.chrome
def test_a_chain_of_hosts_by_the_kernels_counters(tmp_path: Path) -> None:
    """Three nested frames, each found in the one before, with a style sheet each: six connections.

    What TFO saves of such a chain is measured in test_prediction_chrome.
    """
    base = chain_of_hosts(tmp_path, hosts=3)
    done = experiment(base, "--delaynet", "100", "--testruns", "2")
    loads = records(base)
    assert len(loads[0]["environment"]["measured_rtt_ms"]) == 3
    assert "RTT to 3 servers: " in done.stdout
    assert len(loads) == 4
    assert all(load["valid"] and load["why_not"] == [] and load["requests"] == 6 for load in loads)
    for load in loads:
        passive = load["counters"]["servers"]["TCPFastOpenPassive"]
        assert load["connections_with_request"] == 6
        if not load["tfo"]:
            assert load["syn_data_connections"] == passive == 0
        elif load["run"] > 0:
            assert load["syn_data_connections"] >= SYN_SHARE * 6
            assert passive == load["syn_data_connections"]
    assert_results_are_whole(base)


def assert_results_are_whole(base: Path) -> None:
    results = read_results(base / "client")
    assert results.problems == []
    assert [load.page for load in results.loads] == ["httpwww.nytimes.com"] * 4
    for directory in (base / "client").glob("100-*"):
        har = assert_har(directory / "httpwww.nytimes.com.har")
        assert (har["version"], len(har["entries"])) == ("1.2", 6)
    environment = records(base)[0]["environment"]
    assert "--headless" in " ".join(environment["argv"])
    assert "--no-sandbox" not in environment["argv"]
    assert environment["versions"]["chrome"]
    assert sorted(path.name for path in (base / "serverlogs").iterdir()) == ["100-tfo-0", "100-tfo-1"]
    described = json.loads((base / "client" / "experiment-100.json").read_text())
    assert described["tfo_lab"] == program_digest()
    in_order = sorted(records(base), key=lambda load: load["began_s"])
    assert [load["tfo"] for load in in_order[::2]] in ([0, 1], [1, 0])


BAD_OPTIONS = [
    (["--testruns", "1"], "tfo.py: argument --testruns: '1' is not a whole number from 2 to 1000; see tfo.py --help"),
    (["--port", "80"], "argument --port: '80' is not a whole number from 1024 to 65535"),
    (["--bwnet", "0"], "argument --bwnet: '0' is not a number from 0.1 to 1000"),
    (["--delaynet", "-1"], "argument --delaynet: '-1' is not a number that is 0 or from 0.01 to 60000"),
    (["--delaynet", "450", "--delayhome", "50"], "--delays, --delayhome: together under 500 ms: at an RTT of 1 s"),
    (["--port", "65535"], "--tls-port: there is no port after 65535"),
    (["--tfo", "2"], "invalid choice: '2'"),
    (["--server", "2013", "--http", "1.1"], "--server 2013: speaks HTTP/1.0 only"),
    (["--quiet", "3", "--quiet-limit", "2"], "--quiet: longer than --quiet-limit waits for it"),
    (["--quiet-limit", "601"], "argument --quiet-limit: '601' is not a number from 0.05 to 600"),
    (["--until-ci", "0"], "argument --until-ci: '0' is not a number from 0.01 to 99"),
    (["--until-ci", "3", "--tfo", "1"], "--until-ci: compares TFO off and on"),
    (["--until-ci", "3", "--max-runs", "5"], "--max-runs: at least 6: an interval of fewer than 6 runs"),
    (["--max-runs", "9"], "--max-runs: only together with --until-ci"),
]


@pytest.mark.parametrize(("options", "complaint"), BAD_OPTIONS)
def test_options_that_make_no_experiment(options: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["tfo.py"])
    with pytest.raises(SystemExit) as ended:
        parse_arguments("", options)
    assert (ended.value.code, complaint in capsys.readouterr().err) == (2, True)


@pytest.mark.root
def test_page_that_is_not_in_the_mirror(tmp_path: Path) -> None:
    base = one_document(tmp_path)
    (base / "small.pages").write_text("http://one.test/\n\nhttp://elsewhere.test/\n")
    done = experiment(base, status=2)
    assert done.stderr.startswith(f"{base}/small.pages:3: the document of http://elsewhere.test/ is not in the mirror")
    assert not (base / "client").exists()


@pytest.mark.root
def test_no_chrome_is_one_clear_line(tmp_path: Path) -> None:
    base = one_document(tmp_path)
    done = ran(*TFO, "--dir", base, "--name", "small", env={**os.environ, "TFO_LAB_CHROME": "/nowhere/chrome"})
    assert_refused(done, 69)
    assert done.stderr.startswith("/nowhere/chrome: no Chrome")


@pytest.mark.root
def test_without_root_is_one_clear_line(tmp_path: Path) -> None:
    done = ran(*AS_ORDINARY, *TFO, "--dir", tmp_path)
    assert (done.returncode, done.stderr) == (2, "./tfo.py: needs root for network namespaces; run: sudo ./tfo.py\n")


@pytest.mark.root
@pytest.mark.chrome
def test_dialogs_before_a_late_load_event_do_not_end_the_load(tmp_path: Path) -> None:
    """A page that alerts while its image is on the way: its PLT is the image's, not the dialog's."""
    picture = io.BytesIO()          # a real one: Chrome gives up others as soon as it sees their first bytes
    Image.frombytes("RGB", (220, 220), random.Random(1).randbytes(220 * 220 * 3)).save(picture, "png")
    body = picture.getvalue()
    mirror = SmallMirror(tmp_path)
    mirror.add("http://one.test/", f"<!doctype html>{ICON}<img src=/slow.png>"
               "<script>setTimeout(() => { alert('one'); confirm('two') }, 300)</script>")
    mirror.add("http://one.test/slow.png", body, "image/png")
    base = mirror.finish("http://one.test/")
    experiment(base, "--delaynet", "10", "--bwnet", "1", "--tfo", "0", "--testruns", "2")
    for load in records(base):
        assert load["plt_ms"] > len(body) * 8 / 1000
