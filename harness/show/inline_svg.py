"""A figure as SVG that stands inside an HTML page: small, with text as text, and with names of its own."""

import io
import re
from xml.sax.saxutils import quoteattr

from matplotlib import rc_context
from matplotlib.figure import Figure

BAR = "bar-"
"""Begins the name (gid) of what report.js can point at: ``bar-GROUP-ROW``, its row in the table beside the figure.
Without ``-ROW`` it is all rows of that group."""
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What no XML file can hold (https://www.w3.org/TR/xml/#charsets); a URL in a log may."""
DROPPED = re.compile(r"<(metadata|style)\b.*?</\1>|(?<=>)\s+(?=<)", re.DOTALL)
"""Elements that the page does not need, and the space between elements."""
ROOT = re.compile(r'.*?<svg [^>]*(viewBox="[^"]*")[^>]*', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
"""Matplotlib escapes both characters in texts and attributes."""
PLACES = re.compile(r'(?<= )d="[^"]*"')
FRACTION = re.compile(r"(\.\d\d)\d+")
NAME = re.compile(r' id="([^"]*)"')
REFERENCE = re.compile(r'((?:href="|url\()#)([\w-]+)')
CLIPPED_BAR = re.compile(r'(<g data-bar="[^>]*>(?:(?!</g>).)*?) clip-path="[^"]*"')


def inline_svg(figure: Figure, key: str, label: str) -> str:
    """Return the figure as an ``svg`` element. `key` begins all names in it, `label` is read to who cannot see it.

    Only names that something refers to are kept, each with `key` before it, since a page has several figures. Places
    are written to 1/100 point.
    """
    drawn = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    svg = DROPPED.sub("", NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawn.getvalue()))
    used = {name for tag in TAG.findall(svg) for _, name in REFERENCE.findall(tag)}

    def own_name(found: re.Match[str]) -> str:
        if found[1].startswith(BAR):
            return f' data-bar="{found[1].removeprefix(BAR)}"'
        return f' id="{key}-{found[1]}"' if found[1] in used else ""

    def shorter(tag: re.Match[str]) -> str:
        named = NAME.sub(own_name, REFERENCE.sub(rf"\g<1>{key}-\2", tag[0]))
        return PLACES.sub(lambda path: FRACTION.sub(r"\1", " ".join(path[0].split())), named)

    svg = CLIPPED_BAR.sub(r"\1", TAG.sub(shorter, svg))
    return ROOT.sub(lambda root: f'<svg {root[1]} role="img" aria-label={quoteattr(label)}', svg, count=1)
