"""Finds out whether pages are fit to be measured, before the experiment: each page is loaded once, without any delay.

If that load is hollow (harness.measure.coverage), or its document is not the recorded one, every load of an experiment
would be so, too. But what a page asks for may be chance, so a load that is not good is tried once more. If both failed
by accident, it is left to the experiment.
"""

import sys
from collections.abc import Sequence

from harness.errors import printable
from harness.files.pages import Page
from harness.measure.coverage import RecordedPage, at_any_time
from harness.measure.judge import judged_alone
from harness.measure.laboratory import BrowserSettings, Laboratory, ReplayedWeb, running_laboratory
from harness.measure.loads import record_of
from harness.measure.plan import Load
from harness.measure.reason import TRIES, Blame, Reason, verdict_on_the_page
from harness.network.star import LinkSpeeds
from harness.system.lock import only_experiment


def unfit_pages(web: ReplayedWeb, chrome: BrowserSettings, speeds: LinkSpeeds) -> list[str]:
    """Load each page once at RTT 0; return a line for each that is not fit, with the reason."""
    without_delay = LinkSpeeds(bw_net_mbit=speeds.bw_net_mbit, delay_net_ms=0)
    with only_experiment(), running_laboratory(without_delay, web, chrome, netem=False) as lab:
        lines = [_judge(lab, page) for page in web.page_set.pages]
    return [line for line in lines if line]


def _judge(lab: Laboratory, page: Page) -> str:
    def judged(run: int) -> Sequence[Reason]:
        recorded = lab.recorded.get(page.name, RecordedPage({}))
        return judged_alone(at_any_time(record_of(lab, Load(page, run, 0)), recorded))

    return blamed_on_the_page(page, verdict_on_the_page(map(judged, range(TRIES))))


def say_ready(unfit: Sequence[str], what: str) -> int:
    """Print that `what` can be measured, or why some pages cannot; return the exit status."""
    for line in unfit:
        print(printable(line), file=sys.stderr)
    if not unfit:
        print(f"ready: {what}")
    return 1 if unfit else 0


def blamed_on_the_page(page: Page, verdict: Sequence[Reason]) -> str:
    """Return the line that says why the page is not fit; "" when no reason in the verdict is the page's fault."""
    own = [reason.text for reason in verdict if reason.blame is Blame.PAGE]
    return f"{page.url}: not fit to be measured: {'; '.join(own)}; record it again, or take it out" if own else ""
