"""URLs of exactly the length they had in 2013, made of words, with an extension that fits the type."""

import random

from harness.errors import InputError
from harness.synthetic.plan import NodeKind, PagePlan

DIRECTORIES = ("img", "static", "media", "assets", "common", "site", "lib", "nav", "home", "parts", "misc", "web")
WORDS = ("header", "story", "thumb", "banner", "menu", "footer", "photo", "chart", "video", "list", "frame", "logo",
         "button", "panel", "spacer", "track", "widget", "corner")
PARAMETERS = ("id", "ref", "page", "slot", "size", "tile", "zone", "part", "lang", "view", "site", "mode")
EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "text/css": ".css", "text/plain": ".txt",
              "application/json": ".json", "application/x-shockwave-flash": ".swf", "text/html": ".html"}
LONGEST_WITHOUT_QUERY = 100
"""Characters; longer paths get a query, as nearly all of 2013's did."""


TRIES = 1000
"""Random paths of a length that are tried until one is free."""
LEAST_OF_ANOTHER = 8
"""Characters of a path whose like, such as "/", is taken: there are enough of these."""


def page_path(url: str) -> str:
    """Return path and query of a page's URL, ``/`` when it has none."""
    rest = url.split("://", 1)[1]
    return "/" + rest.split("/", 1)[1] if "/" in rest else "/"


def make_paths(plan: PagePlan, page_url: str, seed: int, taken: set[tuple[str, str]]) -> list[str]:
    """Return path and query of each resource of a page, by index.

    Each has exactly its resource's `path_chars` characters, but for a short one that was asked for twice. `taken` holds
    the (host, path) pairs of the pages before this one; the new ones are not among them, and are added. The first
    resource keeps the page's own path. Raises InputError where a host has more resources than there are such paths.
    """
    paths = []
    for resource in plan.resources:
        rng = random.Random(f"{seed} url {page_url} {resource.index}")
        if resource.index == 0:
            path = page_path(page_url)
        elif resource.path_chars == 1:
            path = "/"
        else:
            path = _path(rng, resource.path_chars, _extension(plan, resource.index))
        for _ in range(TRIES):
            if (resource.host, path) not in taken:
                break
            path = _path(rng, max(resource.path_chars, LEAST_OF_ANOTHER), _extension(plan, resource.index))
        if (resource.host, path) in taken:
            raise InputError(f"{page_url}: {resource.host} has too many resources whose paths have "
                             f"{resource.path_chars} characters (resource {resource.index})")
        taken.add((resource.host, path))
        paths.append(path)
    return paths


def _extension(plan: PagePlan, index: int) -> str:
    mime = plan.resources[index].mime
    if mime is not None and "javascript" in mime:
        return ".js"
    if mime is None:
        return ".js" if plan.node_of(index).kind is NodeKind.SCRIPT else ".gif"
    return EXTENSIONS.get(mime, "")


def _path(rng: random.Random, length: int, extension: str) -> str:
    """No directory has a dot and every file has one, so that none of them ever needs to be both."""
    if length > LONGEST_WITHOUT_QUERY:
        base = _plain_path(rng, rng.randrange(24, 60), extension)
        return _cut(base + "?" + "&".join(_parameter(rng) for _ in range(length // 6)), length)
    return _plain_path(rng, length, extension)


def _plain_path(rng: random.Random, length: int, extension: str) -> str:
    if length < len("/x" + extension):
        extension = ""
    room = length - len("/x" + extension)
    directories = ""
    while len(directories) + 12 < room and directories.count("/") < 5:
        directories += "/" + rng.choice(DIRECTORIES)
    stem = "/" + "-".join(rng.choice(WORDS) + str(rng.randrange(10, 100)) for _ in range(length // 5 + 1))
    if room < 6:    # too short for a word: letters and digits
        stem = "/" + "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(6))
    return directories + _cut(stem, length - len(extension) - len(directories)) + extension


def _parameter(rng: random.Random) -> str:
    value = str(rng.randrange(1, 10**rng.randrange(2, 7))) if rng.random() < 0.6 else rng.choice(WORDS)
    return f"{rng.choice(PARAMETERS)}={value}"


def _cut(text: str, length: int) -> str:
    """Cut `text` to `length`; a separator left at the end becomes a digit."""
    text = text[:length]
    return text[:-1] + "7" if text[-1] in "-=&?" else text
