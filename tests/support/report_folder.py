"""A client folder for the report: one page as really measured (tests/data/report), and one that means harm."""

import json
import shutil
from itertools import product
from pathlib import Path

from harness.files.experiment import write_experiment
from tests.support.client_folder import add_load
from tests.support.made_har import MadeLoad, entry_of

MEASURED = Path(__file__).resolve().parent.parent / "data" / "report" / "client"
"""Run 1 of the project's own Wikipedia page at 100 ms RTT, TFO off and on; most headers of the HAR are cut."""
WIKI = "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"
EVIL = "http://evil.example/</script><script>window.pwned=1</script>?&lt;b&gt;'\"<img src=x onerror=window.pwned=2>"
ERROR = "net::ERR_<i>ABORTED</i>"


def make_report_folder(clientdir: Path) -> Path:
    """Two pages at 20 and 100 ms RTT, three runs each; run 3 of the evil page at 100 ms with TFO is not valid."""
    experiment = json.loads((MEASURED / "experiment-50.json").read_text(encoding="utf-8"))
    for delay_ms in (10, 50):
        write_experiment(clientdir, delay_ms, {**experiment, "pages": [WIKI, EVIL], "delaynet_ms": delay_ms,
                                               "rtt_ms": 2 * delay_ms, "testruns": 4})
    for delay_ms, run, tfo in product((10, 50), (1, 2, 3), (0, 1)):
        # The measured load is taken for one at any delay, a little longer in every run; so its times prove nothing.
        made = clientdir / f"{delay_ms:g}-{run}-tfo-{tfo}"
        shutil.copytree(MEASURED / f"50-1-tfo-{tfo}", made)
        for path in made.glob("*.json"):
            record = json.loads(path.read_text(encoding="utf-8"))
            record.update(delaynet_ms=delay_ms, rtt_ms=2 * delay_ms, run=run,
                          plt_ms=record["plt_ms"] + 9 * run * (1 + tfo))
            path.write_text(json.dumps(record), encoding="utf-8")
        _add_evil(clientdir, delay_ms, run, tfo)
    add_load(clientdir, EVIL, 50, 3, 1, 800, valid=False, why_not=["SYN retransmitted by <b>user</b>: 1"])
    return clientdir


def _add_evil(clientdir: Path, delay_ms: float, run: int, tfo: int) -> None:
    urls = [f"{EVIL}/{index or ''}" for index in range(5)]
    kinds = {1: "stand-in", 4: "failed"}
    answers = [{"url": url, "kind": kinds.get(index, "exact"), "error": ERROR if index == 4 else ""}
               for index, url in enumerate(urls)]
    path = add_load(clientdir, EVIL, delay_ms, run, tfo, 900 - 2 * delay_ms * tfo + run,
                    failed_requests={ERROR: 1} if run == 1 else {},
                    answers={"exact": 3, "stand_in": 1, "missing": 0, "failed": 1, "each": answers})
    load = MadeLoad(0.0, [entry_of({
        "at": 1000 * place, "url": url, "headers": {}, "bytes": 7, "blocked": 1, "connect": 30, "ssl": 10, "wait": 15,
        "receive": 4, "connection": f"<u>{place}</u>", "extra": {"_error": ERROR} if place == 4 else {}})
        for place, url in enumerate(urls)])
    for entry in load.entries:
        entry["response"]["statusText"] = "<b>OK</b>"
    path.with_suffix(".har").write_text(json.dumps({"log": load.written()}), encoding="utf-8")
