"""Forms of one file under several names, of which each browser takes the best that it knows.

A page offers a font in several formats, and an image in several sizes and formats. Today's Chrome asks for the newest
(.woff2, .webp), an older browser asked for what it knew. So a recording holds one form, and a load asks for another.
"""

import re

IMAGE_SIZE = re.compile(r"-[0-9]{2,5}x[0-9]{2,5}(?=\.(?:jpe?g|png|gif|webp|avif)$)", re.IGNORECASE)
"""As WordPress names an image's sizes, of which each browser chooses by its window and its age."""
FONT = re.compile(r"\.(?:woff2?|[ot]tf)$", re.IGNORECASE)
"""Formats that Chrome reads. It looks into the file, whatever its name and its type say."""
TYPEKIT, TYPEKIT_FONT = "use.typekit.net", re.compile(r"(?<=/)[adl]$")
"""There the last letter of a path names the format: ``a`` OpenType, ``d`` WOFF, ``l`` WOFF2."""
IMAGE = re.compile(r"(?:\.(?:jpe?g|png|gif|webp|avif)){1,3}$", re.IGNORECASE)
"""Also two of them: some sites make ``photo.jpg.webp`` of ``photo.jpg``. Not any number: from each of 8000 on it would
be looked for again."""
PICTURE = re.compile(r"\.(?:jpe?g|png|webp|avif)$", re.IGNORECASE)
NEW_IMAGE = re.compile(r"\.(?:webp|avif)$", re.IGNORECASE)
"""Formats that a page offers beside an older one (``<picture>``), which is what an older browser took."""


def without_size(path: str) -> str:
    """Return an image's path without its size; any other path as it is."""
    return IMAGE_SIZE.sub("", path)


def without_format(host: str, path: str) -> str | None:
    """Return the path of a host's font or image without its format; None for what is neither."""
    if host == TYPEKIT and path.startswith("/af/"):
        return TYPEKIT_FONT.sub("", path)
    if FONT.search(path):
        return FONT.sub(" (font)", path)
    return IMAGE.sub(" (image)", path) if IMAGE.search(path) else None


def is_never_empty(path: str) -> bool:
    """Say whether a path, or a file's name in a mirror, is that of a font or picture, which have some bytes at least.

    A beacon is often a ``.gif`` without any.
    """
    name = path.partition("?")[0]
    return FONT.search(name) is not None or PICTURE.search(name) is not None


def may_be_in_another_format(path: str) -> bool:
    """Say whether a request for this path may get the same file in another format, if that is what was recorded."""
    return not IMAGE.search(path) or NEW_IMAGE.search(path) is not None
