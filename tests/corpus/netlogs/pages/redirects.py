"""Redirects through one URL: /go leads elsewhere each time, the page comes by way of /gate, which leads back to it."""

from urllib.parse import parse_qs, urlsplit

from tests.corpus.pages.site import Asked, page, picture

BODY = """<img src=/go?to=/a.svg><img src=/go?to=/b.svg><script>(async () => {
for (const to of ['/one', '/two', '/one']) await fetch('/go?number', {method: 'POST', body: to});
document.title = 'done'; })()</script>"""


def answer(asked: Asked) -> None:
    """Answer the page once the gate has set its cookie."""
    url = urlsplit(asked.path)
    if url.path == "/" and "gate=1" not in asked.headers.get("Cookie", ""):
        asked.answer(status=302, Location="/gate")
    elif url.path == "/gate":
        asked.answer(status=302, Location="/", Set_Cookie="gate=1")
    elif url.path == "/go":
        asked.answer("gone", status=303, Location=asked.sent.decode() or parse_qs(url.query)["to"][0])
    elif url.path == "/":
        asked.answer(page("redirects", BODY))
    elif url.path.endswith(".svg"):
        asked.answer(picture(), "image/svg+xml")
    else:
        asked.answer(f'"{url.path}"', "application/json")


HOSTS = {"http://redirects.example": answer}
