"""Shapes and loads of made pages, for the tests of harness.synthetic."""

from collections.abc import Sequence

from harness.analysis.timeline import Timeline, make_timeline
from harness.files.load_parts import Initiator
from harness.synthetic.measured import make_shape
from harness.synthetic.shape import Resource
from tests.support.made_har import PAGE, MadeLoad

TWO = "http://two.test/"
WORK_MS, TIMER_MS, LAST_MS = 30, 400, 7


def load(rtt_ms: float, told: Sequence[Initiator] = ()) -> Timeline:
    """A script works for WORK_MS and asks for an image, whose arrival sets a timer that fetches data.

    Beside it comes a style sheet that in the load without delay ends just before the image is asked for: by chance.
    """
    made = MadeLoad(0.0)
    end = made.add(PAGE, 0, "document", referer="", connect=rtt_ms, wait=rtt_ms, receive=20)
    made.add(f"{TWO}beside.css", end + 1, "style", connect=rtt_ms, wait=rtt_ms, receive=WORK_MS + 13)
    script_end = made.add(f"{TWO}s.js", end + 2, connect=rtt_ms, wait=2 * rtt_ms, receive=10)
    image_end = made.add(f"{TWO}i.png", script_end + WORK_MS, "image", connect=rtt_ms, wait=rtt_ms, receive=60)
    made.add(f"{TWO}poll?x=1#part", image_end + TIMER_MS, "data", connect=rtt_ms, wait=rtt_ms, receive=3)
    made.plt_ms = image_end + LAST_MS
    return make_timeline(made.log(), made.record(), made.plt_ms, told)


TEXT = f"<title>x</title>\n<link href={TWO}beside.css><script src={TWO}s.js></script>"
SAID = (Initiator(PAGE, "other"), Initiator(f"{TWO}beside.css", "parser", PAGE, 1, 30, blocking=True),
        Initiator(f"{TWO}s.js", "parser", PAGE, 1, 60, blocking=True), Initiator(f"{TWO}i.png", "script", PAGE, 1, 80),
        Initiator(f"{TWO}poll?x=1", "script", f"{TWO}s.js", synchronous=True))
"""The text of that page's document, and what Chrome says of its requests."""
SHAPE = make_shape(PAGE, "2026-11", load(0), load(100))
"""The shape of these loads."""
RESOURCE = Resource(0, "a.test", "http", "text/html", None, 5000, 1, None, None, 0, 9, "document")
