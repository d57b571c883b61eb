"""A page that sets a cookie and loads itself again, while its pictures are still on their way."""

import time

from tests.corpus.pages.site import Asked, page, picture

FIRST = """<img src=/early.svg><img src=/slow.svg?1><script>document.cookie = 'seen=1';
setTimeout(() => location.reload(), 200);</script>"""
SECOND = "<img src=/early.svg><img src=/late.svg><script>onload = () => { document.title = 'done'; };</script>"


def answer(asked: Asked) -> None:
    """Answer the page by its cookie; /slow.svg takes longer than the first page lives."""
    if asked.path == "/":
        asked.answer(page("reload", SECOND if "seen=1" in asked.headers.get("Cookie", "") else FIRST))
    else:
        time.sleep(3.0 if asked.path.startswith("/slow") else 0.0)
        asked.answer(picture(), "image/svg+xml", Cache_Control="max-age=600" if asked.path == "/early.svg" else
                     "no-store")


HOSTS = {"http://reload.example": answer}
