"""The bytes of every resource of a page: what requests its children, and filler up to its size.

Contents are made from the last node to the first, because only when a node's content is there is it known whether the
node is large enough to hold its children, or leaves them to its loader (see `page_plan`: lifted).
"""

import contextlib
import random
from calendar import month_name
from dataclasses import dataclass, field
from operator import itemgetter

from harness.synthetic import padding
from harness.synthetic.padding import make_image
from harness.synthetic.page_code import LATE, PUT, SEEN, WORK, Loading, background_class, element_class
from harness.synthetic.page_plan import Node, NodeKind, PagePlan
from harness.synthetic.shape import INLINE, TAG, PageShape

FULL_FRAME = 1500
"""Bytes; smaller frames have only the shortest of texts."""
STYLE = ("body{margin:0 auto;max-width:960px;font:14px/1.5 sans-serif;color:#222;background:#fff}"
         "header{padding:12px 16px;background:#123a5e;color:#fff}section{padding:0 16px}img{margin:4px}"
         ".links{columns:3}i{display:inline-block;width:24px;height:24px;margin:2px}"
         f"section{{margin-top:100vh}}.{SEEN}{{position:fixed;bottom:0}}")
"""What is not seen stands below the window."""
CODE = {NodeKind.SCRIPT: "script", NodeKind.STYLESHEET: "style"}
"""The texts of harness.synthetic.padding that are code."""


class DoesNotFitError(Exception):
    """A node's children need more bytes than it has."""


@dataclass(kw_only=True)
class Contents(Loading):
    """The resources' bodies by index, and who loads what. Redirects and 204s have no body."""

    plan: PagePlan
    shape: PageShape
    seed: int
    bodies: dict[int, bytes] = field(default_factory=dict)

    def rng(self, index: int) -> random.Random:
        """Return the source of a resource's filler."""
        return random.Random(f"{self.seed} content {self.shape.url} {index}")


def make_contents(plan: PagePlan, urls: list[str], seed: int, shape: PageShape) -> Contents:
    """Make the body of every resource of a page. `urls` are the resources' whole URLs, by index."""
    contents = Contents(urls, plan=plan, shape=shape, seed=seed)
    for node in reversed(plan.nodes):
        if not node.no_content:
            contents.bodies[node.final] = _body(contents, node)
    return contents


def _body(contents: Contents, node: Node) -> bytes:
    try:
        body = _HOLDERS[node.kind](contents, node) if node.kind in _HOLDERS else None
    except DoesNotFitError:
        if node.kind is NodeKind.DOCUMENT:
            raise
        body = None
    if body is None:
        contents.lifted[node.index] = node.children
        body = _childless_body(contents, node)
    assert len(body) == node.size_bytes, (node.index, len(body), node.size_bytes)
    return body


def _childless_body(contents: Contents, node: Node) -> bytes:
    """Return the bytes of a node that requests nothing, in its type and size."""
    rng, size = contents.rng(node.final), node.size_bytes
    mime = contents.plan.resources[node.final].mime or "image/gif"
    if node.kind in (NodeKind.IMAGE, NodeKind.BEACON):
        if size < len(padding.SMALLEST_GIF):
            return padding.prose(rng, size).encode("ascii")        # what it was asked for as an image, and was none
        return make_image(mime, size, rng)
    if node.kind in CODE:
        return padding.filler(rng, CODE[node.kind], size).encode("ascii")
    return padding.prose(rng, size).encode("ascii")


def _script(contents: Contents, node: Node) -> bytes:
    rng = contents.rng(node.final)
    calls = contents.put_calls(node.children)
    if len(calls) > node.size_bytes:
        raise DoesNotFitError
    return (padding.filler(rng, "script", node.size_bytes - len(calls)) + calls).encode("ascii")


def _style(contents: Contents, node: Node) -> bytes:
    rng = contents.rng(node.final)
    images = [child for child in node.children if child.kind in (NodeKind.IMAGE, NodeKind.BEACON)
              and not child.no_content and not child.after_load and not contents.lifted.get(child.index)]
    rules = "".join(f'.{background_class(image)} {{ background: url("{contents.urls[image.index]}"); }}\n'
                    for image in images)
    if len(rules) > node.size_bytes:
        raise DoesNotFitError
    contents.backgrounds[node.index] = images
    contents.lifted[node.index] = [child for child in node.children if child not in images]
    return (rules + padding.filler(rng, "style", node.size_bytes - len(rules))).encode("ascii")


def _html(contents: Contents, node: Node) -> bytes:
    """A document or frame, whose children stand where the real page's did, or as soon behind that as there is room."""
    rng = contents.rng(node.final)
    with contextlib.suppress(DoesNotFitError):
        return _placed_html(contents, node, rng)
    return _placed_html(contents, _with_tags(node), rng)


def _with_tags(frame: Node) -> Node:
    """Let a frame without room for scripts ask by tags for what a script of its text asked for."""
    for child in frame.children:
        if child.way == INLINE and not (child.idle_ms or child.after_load):
            child.way = TAG
    return frame


def _placed_html(contents: Contents, node: Node, rng: random.Random) -> bytes:
    places = _places(contents, node)
    body_at = next((number for number, (_, _, is_seen) in enumerate(places) if is_seen), len(places))
    pieces = [_head(contents, node), *(code for _, code, _ in places)]
    pieces[body_at] += _body_start(contents, node)
    end = "</section>\n</body>\n</html>\n" if _is_full(node) else ""
    room = node.size_bytes - sum(map(len, pieces)) - len(end)
    if room < 0 and node.kind is NodeKind.DOCUMENT:
        node.size_bytes, room = node.size_bytes - room, 0
    if room < 0:
        raise DoesNotFitError
    html = pieces[0]
    for number, ((offset, _, _), code) in enumerate(zip(places, pieces[1:], strict=True)):
        gap = min(room, max(0, offset - len(html)))
        room -= gap
        html += (padding.comment if number < body_at else padding.filler)(rng, "html", gap) + code
    return (html + padding.filler(rng, "html", room) + end).encode("ascii")


def _places(contents: Contents, node: Node) -> list[tuple[int, str, bool]]:
    """Return where in a document what stands that requests its children, and whether it opens the body, in order."""
    tags = [child for child in node.children if child.way == TAG and not child.after_load]
    places = [(child.offset, contents.tag(child), child.opens_body)
              for child in tags]
    scripts: dict[int, list[Node]] = {}
    for child in node.children:
        if child not in tags:
            scripts.setdefault(child.offset if child.way == INLINE else node.size_bytes, []).append(child)
    places += [(offset, f"<script>{contents.put_calls(nodes)}</script>\n",
                offset == node.size_bytes) for offset, nodes in scripts.items()]
    return sorted(places, key=itemgetter(0))


def _is_full(node: Node) -> bool:
    return node.size_bytes >= FULL_FRAME


def _head(contents: Contents, node: Node) -> str:
    """Return a document's head, with the functions that its scripts need."""
    arrivals = "".join(contents.arrival(child) for child in node.children
                       if contents.lifted.get(child.index) and child.kind is not NodeKind.FETCH
                       and child.way == TAG)
    work_ms = contents.shape.work_ms if node.kind is NodeKind.DOCUMENT else 0
    code = f"{PUT}{LATE}{arrivals}" if _needs_put(contents, node) else ""
    if code or work_ms:
        code = WORK + code
    if work_ms:
        code += f"addEventListener('load', function () {{ work({work_ms}); }});\n"
    script = f"<script>\n{code}</script>\n" if code else ""
    if not _is_full(node):
        return f"<!DOCTYPE html><title>Synthetic</title>{script}"
    charset = contents.plan.resources[node.final].charset or "utf-8"
    no_icon = '<link rel="icon" href="data:,">'     # no request for /favicon.ico
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="{charset}">\n'
            f"<title>Synthetic page: {contents.shape.url}</title>\n"
            f"{no_icon}\n<style>{STYLE}</style>\n{script}")


def _body_start(contents: Contents, node: Node) -> str:
    elements = "".join(f'<i class="{element_class(image)}"></i>' for child in node.children
                       for image in contents.backgrounds.get(child.index, []))
    if not _is_full(node):
        return f"<p>Synthetic frame</p>{elements}"
    if node.kind is NodeKind.FRAME:
        return f"</head>\n<body>\n<section>\n<p><b>Synthetic frame</b> of {node.size_bytes} bytes.</p>\n{elements}"
    year, number = contents.shape.month.split("-")
    month = f"{month_name[int(number)]} {year}"
    return ("</head>\n<body>\n<header>\n<h1>Synthetic page</h1>\n<p>TFO Lab made this page to measure how long pages "
            f"take to load. It stands in for {contents.shape.url} as it was in {month}: as many "
            "resources, of the same types and sizes, from hosts of the same names, each found by the same means, and "
            "nothing of the real page's content. The people behind that page have no part in this one.</p>\n</header>\n"
            f"<section>\n{elements}")


def _needs_put(contents: Contents, node: Node) -> bool:
    """Whether a script of this document, or the arrival of one of its resources, requests others."""
    return any(child.idle_ms or child.after_load or child.way != TAG or child.holds or contents.lifted.get(child.index)
               or (child.kind is NodeKind.SCRIPT and child.children) for child in node.children)


_HOLDERS = {NodeKind.DOCUMENT: _html, NodeKind.FRAME: _html, NodeKind.SCRIPT: _script, NodeKind.STYLESHEET: _style}
