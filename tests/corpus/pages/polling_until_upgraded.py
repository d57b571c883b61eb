"""What Socket.IO does at first: it polls until another connection (there a WebSocket, here a stream of events) says
that it works, which it does after the load event. The second poll hangs until then.
"""

import threading

from tests.corpus.pages.site import Asked, page, picture

SCRIPT = """
let polls = 0, upgraded = false;
const events = new EventSource('/stream');
events.onmessage = () => { upgraded = true; events.close(); };
(async () => {
  while (!upgraded) {
    polls++;
    const token = Math.random().toString(36).slice(2, 8);
    await (await fetch(`/poll?sid=q7Xk&t=${token}&n=${Math.min(polls, 2)}`)).text();
  }
})();
"""
upgraded = threading.Event()


def answer(asked: Asked) -> None:
    """Answer the page, a poll, or the stream of events."""
    path = asked.path.partition("?")[0]
    if path == "/":
        asked.answer(page("polls", f"<script>{SCRIPT}</script><img src=/a.svg>"))
    elif path == "/poll" and asked.path.endswith("n=1"):
        upgraded.clear()
        asked.answer("hello", "text/plain")
    elif path == "/poll":
        upgraded.wait(25)
        asked.answer("noop", "text/plain")
    elif path == "/stream":
        asked.pieces(_events(), "text/event-stream")
    else:
        asked.answer(picture(), "image/svg+xml")


def _events() -> list[tuple[float, str]]:
    threading.Timer(0.65, upgraded.set).start()
    return [(0.0, ": hi\n\n"), (0.6, "data: upgraded\n\n"), (20.0, "")]


HOSTS = {"http://poll.example": answer}
