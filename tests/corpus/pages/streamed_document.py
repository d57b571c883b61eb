"""A document that its server sends while it works (React Server Components, Suspense, Remix): three parts, 300 ms
apart, a picture in each.
"""

from tests.corpus.pages.site import Asked, page, picture


def answer(asked: Asked) -> None:
    """Answer the page in pieces, or a picture."""
    if asked.path == "/":
        parts = [(0.3, f"<h2>part {number}</h2><img src=/part{number}.svg>") for number in (1, 2, 3)]
        asked.pieces([(0.0, page("streamed", "")), *parts])
    else:
        asked.answer(picture(), "image/svg+xml")


HOSTS = {"http://streamed.example": answer}
