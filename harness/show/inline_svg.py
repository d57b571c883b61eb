"""A figure as SVG that stands inside an HTML page: small, with text as text, and with names of its own."""

import io
import re
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
BAR = "bar-"
"""Begins the name (gid) of what report.js can point at: ``bar-GROUP-ROW``, its row in the table beside the figure.
Without ``-ROW`` it is all rows of that group."""
DATA_BAR = "data-bar"
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What no XML file can hold (https://www.w3.org/TR/xml/#charsets); a URL in a log may."""
FRACTION = re.compile(r"(\.\d\d)\d+")
REFERENCE = re.compile(r"#([\w-]+)")


def inline_svg(figure: Figure, key: str, label: str) -> str:
    """Return the figure as an ``svg`` element. `key` begins all names in it, `label` is read to who cannot see it."""
    drawn = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawn.getvalue()))
    _drop(root, {f"{{{SVG}}}metadata", f"{{{SVG}}}style"})
    _name(root, key)
    _shorten(root)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label}
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.tostring(root, encoding="unicode")


def _drop(element: ElementTree.Element, tags: set[str]) -> None:
    for child in list(element):
        if child.tag in tags:
            element.remove(child)
        else:
            _drop(child, tags)


def _name(root: ElementTree.Element, key: str) -> None:
    """Keep the names that something refers to, each with `key` before it, since a page has several figures."""
    refer = [(element, name) for element in root.iter() for name, value in element.attrib.items()
             if "#" in value and (name == f"{{{XLINK}}}href" or "url(#" in value)]
    used = {found for element, name in refer for found in REFERENCE.findall(element.attrib[name])}
    for element in root.iter():
        name = element.attrib.pop("id", "")
        if name.startswith(BAR):
            element.set(DATA_BAR, name.removeprefix(BAR))
        elif name in used:
            element.set("id", f"{key}-{name}")
    for element, name in refer:
        element.set(name, REFERENCE.sub(lambda found: f"#{key}-{found[1]}" if found[1] in used else found[0],
                                        element.attrib[name]))


def _shorten(root: ElementTree.Element) -> None:
    """Write places to 1/100 point, and drop the space between elements."""
    for element in root.iter():
        if "d" in element.attrib:
            element.set("d", FRACTION.sub(r"\1", " ".join(element.attrib["d"].split())))
        if element.tag != f"{{{SVG}}}text":
            element.text = None if not (element.text or "").strip() else element.text
        element.tail = None
    for parent in root.iter():
        if DATA_BAR in parent.attrib:
            for child in parent:
                child.attrib.pop("clip-path", None)
