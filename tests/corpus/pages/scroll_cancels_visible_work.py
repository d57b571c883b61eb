"""A page that fetches ahead what the links in sight lead to, as next/link and quicklink do: what is still in sight a
moment later is asked for, so whoever scrolls at once never sees it.
"""

from tests.corpus.pages.site import Asked, page

LINKS = "".join(f"<a href=/post/{number}>post {number}</a> " for number in range(5))
SCRIPT = """
const waiting = new Map();
const seen = new IntersectionObserver(entries => entries.forEach(entry => {
  if (entry.isIntersecting)
    waiting.set(entry.target, setTimeout(() => fetch(entry.target.href + '?_rsc=1'), 150));
  else
    clearTimeout(waiting.get(entry.target));
}), {rootMargin: '200px'});
document.querySelectorAll('a').forEach(link => seen.observe(link));
"""


def answer(asked: Asked) -> None:
    """Answer the page or a fragment."""
    asked.answer(page("in sight", f"<p>{LINKS}</p><div style='height:5000px'></div><script>{SCRIPT}</script>")
                 if asked.path == "/" else f"fragment of {asked.path}")


HOSTS = {"http://sight.example": answer}
