"""A page as a recording saw it, made from events of a net-log."""

from pathlib import Path

from harness.record.page import PageRecording, evaluate
from harness.record.visit import Visit
from tests.support.made_netlog import MadeNetLog

PAGE = "http://a.test/"


def seen(log: MadeNetLog, tmp_path: Path, **visit: object) -> PageRecording:
    report = Visit(start_tick=1000, end_tick=1000.0 + len(log.events), loaded=True, quiet=True, document_uri=PAGE)
    for name, value in visit.items():
        setattr(report, name, value)
    return evaluate(PAGE, report, log.write(tmp_path / "netlog.json"))
