"""URLs of exactly the length that the real ones had, which say what they are: ``/img12-8f3c09....png``.

A request must fit into the SYN, so the length counts; the words do not.
"""

import hashlib
from itertools import count

from harness.synthetic.plan import NodeKind, PagePlan
from harness.synthetic.shape import path_of

EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "text/css": ".css", "text/plain": ".txt",
              "application/json": ".json", "application/x-shockwave-flash": ".swf", "text/html": ".html"}
LONGEST_NAME = 60
"""Characters; longer paths get a query, as nearly all of 2013's did."""
LEAST_OF_ANOTHER = 8
"""Characters of a path whose like, such as "/", is taken: there are enough of these."""
LEAST_DIGITS = 7
"""Digits that tell a path from others; where there is no room for more, the path has nothing else."""


def make_paths(plan: PagePlan, page_url: str, seed: int, taken: set[tuple[str, str]]) -> list[str]:
    """Return path and query of each resource of a page, by index.

    Each has exactly its resource's `path_chars` characters, but for a short one that was asked for twice. `taken` holds
    the (host, path) pairs of the pages before this one; the new ones are not among them, and are added. The first
    resource keeps the page's own path.
    """
    paths = []
    for resource in plan.resources:
        name = f"{plan.node_of(resource.index).kind.value}{resource.index}-"
        tries = (_path(f"{seed} {page_url} {resource.index} {number}",
                       max(resource.path_chars, LEAST_OF_ANOTHER if number else 1), name,
                       _extension(plan, resource.index)) for number in count())
        path = path_of(page_url) if resource.index == 0 else next(tries)
        while (resource.host, path) in taken:
            path = next(tries)
        taken.add((resource.host, path))
        paths.append(path)
    return paths


def _extension(plan: PagePlan, index: int) -> str:
    mime = plan.resources[index].mime or ""
    is_script = "javascript" in mime or (not mime and plan.node_of(index).kind is NodeKind.SCRIPT)
    return ".js" if is_script else EXTENSIONS.get(mime or "image/gif", "")


def _path(key: str, length: int, name: str, extension: str) -> str:
    """Return a path of so many characters that no other `key` has."""
    digits = hashlib.sha256(key.encode()).hexdigest()
    if length > LONGEST_NAME:
        start = f"/{name}{digits[:LEAST_DIGITS]}{extension}?id="
        return start + (digits * length)[:length - len(start)]
    room = length - len(f"/{name}{extension}")
    return f"/{name}{digits[:room]}{extension}" if room >= LEAST_DIGITS else f"/{digits[:length - 1]}"
