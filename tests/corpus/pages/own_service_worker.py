"""A page that loads itself anew once its service worker has taken it over, as applications with updates do: the worker
asks for the document then.
"""

from tests.corpus.pages.site import Asked, page, picture

SCRIPT = """
if (!navigator.serviceWorker.controller) {
  navigator.serviceWorker.addEventListener('controllerchange', () => location.reload());
  navigator.serviceWorker.register('/worker.js');
}
"""
WORKER = """
addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => event.respondWith(fetch(event.request)));
"""


def answer(asked: Asked) -> None:
    """Answer the page, its worker or a picture."""
    if asked.path == "/worker.js":
        asked.answer(WORKER, "text/javascript")
    elif asked.path.endswith(".svg"):
        asked.answer(picture(20_000), "image/svg+xml")
    else:
        pictures = "".join(f"<img src=/{number}.svg>" for number in range(5))
        asked.answer(page("worker", f"{pictures}<script>{SCRIPT}</script>"))


HOSTS = {"https://worker.example": answer}
