"""Client folders made by code, as the experiment would leave them: small, exact, and plainly not measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.analysis.selection import Selection, select
from harness.files.experiment import write_experiment
from harness.files.pages import sanitise
from harness.files.results import cell_directory, read_results, write_load
from harness.files.text_log import PageLog, Response, Transaction, format_log
from tests.support.made_record import made_record

NEWS, POST = "http://www.news.example", "http://blog.example/2013/post"


def add_load(clientdir: Path, url: str, delaynet_ms: float, run: int, tfo: int, plt_ms: float | None,  # noqa: PLR0917
             requests: int = 5, **changes: Any) -> Path:
    """Write one load's text log and .json; its last transaction ends 100 ms after the load event. Returns the .json.

    `tfo` is a harness.files.transport.Transport.
    """
    directory, page = clientdir / cell_directory(delaynet_ms, run, tfo), sanitise(url)
    last_ms = (plt_ms or 900.0) + 100
    step_ms, log = (last_ms - 50) / max(requests - 1, 1), PageLog(transactions_seen=True)
    for index in range(requests):
        asked = f"{url}/{index or ''}"
        log.transactions.append(Transaction(step_ms * index, step_ms * index + 50, asked))
        log.responses.append(Response("OK", "text/html", "utf-8", asked, None))
    path = write_load(directory, made_record(**{
        "url": url, "page": page, "delaynet_ms": delaynet_ms, "rtt_ms": 2 * delaynet_ms, "tfo": tfo & 1, "run": run,
        "plt_ms": plt_ms, "last_ms": last_ms, "requests": requests, **changes}))
    (directory / page).write_text(format_log(log))
    (directory / f"{page}.har").write_text('{"log": {"version": "1.2", "entries": []}}')
    return path


def make_client(clientdir: Path, delays_ms: Sequence[float] = (10, 100), urls: Sequence[str] = (NEWS, POST),
                runs: int = 4, **experiment: Any) -> Path:
    """Write a complete experiment: with TFO every page is one RTT faster, run 0 twice as slow as the others."""
    for delay_ms in delays_ms:
        write_experiment(clientdir, delay_ms, {
            "name": "Paper", "pages": list(urls), "synthetic": True, "seed": 1, "http": "1.0", "server": "threaded",
            "rtt_ms": 2 * delay_ms, **experiment})
        for run in range(runs):
            for tfo in (0, 1):
                for place, url in enumerate(urls):
                    plt_ms = 1000 + 500 * place + 2 * delay_ms * (3 - tfo) + run
                    add_load(clientdir, url, delay_ms, run, tfo, plt_ms if run else 2 * plt_ms)
    return clientdir


def selected(clientdir: Path, metric: str = "load") -> Selection:
    """Return the rows of a client folder."""
    return select(read_results(clientdir), metric)
