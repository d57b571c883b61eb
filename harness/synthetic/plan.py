"""How each resource of a page is loaded, by whom, and when.

Resources that redirect into each other are one *node* of the plan: who loads the first gets the last. The rules:

- **Kind.** The type of a node's last resource says how it is loaded: images by ``<img>``, stylesheets by ``<link>``,
  scripts by ``<script>``, HTML by ``<iframe>`` (under 300 bytes, which is no page, by ``fetch()``), the rest (text,
  JSON, Flash) by ``fetch()``. Without a recorded type it is a GIF beacon, or above 100 bytes a script. A body of 0
  bytes, other than the page's own document, that causes nothing and redirects nowhere is ``204 No Content``, asked for
  by a beacon: an image that is not shown.
- **Size.** As recorded. Where it was not: the median of the known sizes of that type, at most 10000 bytes, and 43
  without a type. A page's own document, when behind redirects, has the size recorded for the page's first resource.
  Redirects themselves are served without a body.
  A page's own document that cannot hold the tags of its children is made as much larger.
- **Parent.** The node of the recorded parent; the children of a redirect belong to the node's last resource.
- **Found late.** A document's child that was first requested after the document's last byte cannot have been found by
  the HTML parser. A script found it: the one among the document's children that had arrived last by then. It requests
  the child when it runs, but not before the document is parsed if the script itself had arrived earlier than that.
  Without such a script the child stays in the document.
- **Static scripts.** A script in a document's HTML stops the parser as it did in 2013, with two exceptions. Before a
  frame it is ``async``: only the parser finds frames, and on links slower than those of 2013 the script would hold it
  up for longer than it did. (The preload scanner, which goes on meanwhile, finds images and no frames.) A script found
  after the document's last byte is ``defer``: Chrome asks for it in its turn behind earlier images.
- **Placed.** Where Chrome said how a resource was found (harness.synthetic.found), it is found so again, at the same
  offset of its document: by a tag, or by a script there. A script that the parser stopped for stops it again. The body
  begins with the first tag that belongs there. A frame that is too small for scripts has tags in their place: a frame's
  requests do not wait for those of the page around it.
- **Early.** What was asked for while its document still came in, and nobody knows where in it that stands, stands
  behind the last tag that was found before. At the document's end it would wait for all scripts that stop the parser.
  Where that is still in the head, a script asks for it: the body would begin there, and with it the style sheets' wait.
  It stands before the style sheets and scripts that it would wait for itself. Few frames have room for such a script.
- **Wanted.** Where Chrome said what priority it gave a request, it gives the same one again. An image that it wanted
  early ("Medium") is shown large, all others small, and those that stood within the window stand there, all others
  below. A style sheet that it wanted last ("VeryLow") is one for printing: nothing waits for it.
- **Measured.** Where a load in today's Chrome was measured (harness.synthetic.measured) it is known what a resource was
  asked for as, which script found what, and how long the page worked or waited in between: none of it is guessed from
  types and times, and whoever requests a node first works and waits for as long. A font is fetched by script.
- **Before the load.** What a fetch or a timer led to before the load event holds that event up (see `loading`), and so
  does a font, for which the real page's waited, too.
- **After the load.** What was asked for after the load event is asked for at that event, all of it side by side, though
  in the real page one thing led to the next: it holds nothing up, and every load would have to wait for the end of it.
- **Head.** Stylesheets and scripts up to the first other child stand in the head, and so do stylesheets found before
  the first later script or frame.
- **Lifted.** A parent that cannot hold the code for its children, because it is too small for it or of a type that
  loads nothing, leaves them to whoever loads it: the loader requests them in the parent's ``load`` (or ``error``)
  event, so that they still wait for the parent. A stylesheet holds its images as backgrounds and has the rest lifted.
  (Which nodes are too small shows when their content is made, in `content`.)
"""

from dataclasses import dataclass, field
from enum import Enum
from statistics import median_low

from harness.analysis.timeline import DATA, DOCUMENT, FONT, IMAGE, MEDIA, SCRIPT, STYLE
from harness.synthetic.shape import EVENT, INLINE, MEDIUM, PARSED, TAG, VERY_LOW, PageShape, Resource

SMALLEST_FRAME = 300
"""Bytes; smaller HTML is fetched by script instead of shown in a frame."""
LARGEST_BEACON = 100
"""Bytes; a larger resource without a type is taken for a script."""
PIXEL = 43
"""Bytes of a transparent GIF of one pixel, the usual beacon: the size of what has neither a recorded type nor size."""
LARGEST_GUESS = 10_000
"""Bytes: the cap on a size that was not recorded."""
REDIRECT_STATUS = "Moved Temporarily"


class NodeKind(Enum):
    """How a node is loaded; the value is its name in the pages' own script."""

    DOCUMENT = "document"
    FRAME = "frame"
    IMAGE = "img"
    BEACON = "beacon"
    STYLESHEET = "css"
    SCRIPT = "script"
    FETCH = "fetch"


MEASURED_KINDS = {DOCUMENT: NodeKind.FRAME, IMAGE: NodeKind.IMAGE, STYLE: NodeKind.STYLESHEET, SCRIPT: NodeKind.SCRIPT,
                  DATA: NodeKind.FETCH, FONT: NodeKind.FETCH, MEDIA: NodeKind.FETCH}
"""How the pages load what a measured page asked for as one of harness.synthetic.shape.KINDS."""


@dataclass(eq=False)
class Node:
    """A resource with the redirects that lead to it; `hops` are their indices, the resource's own last.

    `size_bytes` is of the last. `waits` says that the children's document must be parsed before this node is requested.
    Before it is, whoever requests it waits for the load event if it is to be `after_load`, works for `work_ms` and
    waits for `idle_ms`. What `holds` is fetched by script, but held up the real page's load event. By the rule Wanted
    an image is `large` and `seen` (a frame, if an image in it is), and a style sheet is `for_print`.
    """

    hops: list[int]
    kind: NodeKind
    size_bytes: int
    no_content: bool
    waits: bool = False
    work_ms: int = 0
    idle_ms: int = 0
    after_load: bool = False
    way: str | None = None
    offset: int = 0
    blocking: bool = False
    holds: bool = False
    large: bool = False
    seen: bool = False
    for_print: bool = False
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list)

    @property
    def index(self) -> int:
        """The index of the first request for it."""
        return self.hops[0]

    @property
    def final(self) -> int:
        """The index of the resource that has the content."""
        return self.hops[-1]

    @property
    def opens_body(self) -> bool:
        """Whether its tag stands in no head."""
        return self.kind not in (NodeKind.STYLESHEET, NodeKind.SCRIPT)


@dataclass
class PagePlan:
    """The nodes of one page, in order of their first request."""

    resources: tuple[Resource, ...]
    nodes: list[Node]

    def node_of(self, index: int) -> Node:
        """The node that resource `index` belongs to."""
        return next(node for node in self.nodes if index in node.hops)


def typical_sizes(shapes: list[PageShape]) -> dict[str | None, int]:
    """Return the typical body size in bytes of each MIME type: the median of what was recorded, at most 10000."""
    known: dict[str | None, list[int]] = {}
    for resource in (resource for shape in shapes for resource in shape.resources):
        if resource.size_bytes and resource.redirect_to is None:
            known.setdefault(_type_of(resource), []).append(resource.size_bytes)
    return {mime: min(median_low(sizes), LARGEST_GUESS) for mime, sizes in known.items()}


def make_plan(shape: PageShape, typical: dict[str | None, int]) -> PagePlan:
    """Decide by the rules above how a page's resources are loaded. `typical` is what `typical_sizes` gives."""
    redirected_to = {resource.redirect_to for resource in shape.resources}
    causing = {resource.parent for resource in shape.resources}
    nodes = [_node(shape, resource, causing, typical) for resource in shape.resources
             if resource.index not in redirected_to]
    plan = PagePlan(shape.resources, nodes)
    for node in nodes[1:]:
        parent = shape.resources[node.index].parent
        assert parent is not None    # read_shapes refuses a resource without one, other than the first
        node.parent = _before_load(plan.node_of(parent)) if node.after_load else plan.node_of(parent)
    found = [] if shape.measured else [(node, _finder(plan, node)) for node in nodes[1:]]
    for node, script in found:
        if script is not None:
            assert node.parent is not None
            node.waits = shape.resources[script.final].end_ms < shape.resources[node.parent.final].end_ms
            node.parent = script
    _show(nodes)
    for node in nodes[1:]:
        assert node.parent is not None
        _place_early(node, node.parent, shape.resources)
        node.parent.children.append(node)
    return plan


def _show(nodes: list[Node]) -> None:
    """Let those frames be seen in which an image is; all parents are known."""
    for node in nodes:
        above = node.parent if node.seen else None
        while above is not None:
            above.seen = above.seen or above.kind is NodeKind.FRAME
            above = above.parent


def _place_early(node: Node, document: Node, resources: tuple[Resource, ...]) -> None:
    """Give a node a place in its document by the rule Early; the document's children so far are in order."""
    at_once = node.way == EVENT and not (node.after_load or node.work_ms or node.idle_ms or node.blocking)
    if document.kind in (NodeKind.DOCUMENT, NodeKind.FRAME) and at_once and (
            resources[node.index].start_ms < resources[document.final].end_ms):
        tags = [other for other in document.children if other.way == TAG]
        node.way, node.offset = TAG, max((other.offset for other in tags), default=0)
        if document.kind is NodeKind.DOCUMENT and node.opens_body and not any(other.opens_body for other in tags):
            awaited = [other.offset for other in tags if other.blocking or other.kind is NodeKind.STYLESHEET]
            node.way, node.offset = INLINE, min([node.offset, *(offset - 1 for offset in awaited)])


def _before_load(node: Node) -> Node:
    """The node, or the next one above it that was not asked for after the load event; parents are set in order."""
    while node.after_load and node.parent is not None:
        node = node.parent
    return node


def _type_of(resource: Resource) -> str | None:
    """The MIME type, with one name for the three that scripts go by."""
    return "javascript" if resource.mime is not None and "javascript" in resource.mime else resource.mime


def _node(shape: PageShape, first: Resource, causing: set[int | None], typical: dict[str | None, int]) -> Node:
    """Return the node that begins with `first`, by the rules Kind and Size."""
    hops = [first.index]
    while (target := shape.resources[hops[-1]].redirect_to) is not None:
        hops.append(target)
    final = shape.resources[hops[-1]]
    size_bytes = shape.resources[0].size_bytes if first.index == 0 and not shape.measured else final.size_bytes
    no_content = size_bytes == 0 and final.index not in causing and first.index > 0
    if size_bytes is None:
        size_bytes = PIXEL if final.mime is None else typical.get(_type_of(final), PIXEL)
    kind = _kind(final, size_bytes) if final.kind is None else MEASURED_KINDS[final.kind]
    if first.index == 0:
        kind = NodeKind.DOCUMENT
    elif (no_content and final.kind in (None, IMAGE)) or (kind is NodeKind.IMAGE and size_bytes <= LARGEST_BEACON):
        kind = NodeKind.BEACON
    return Node(hops, kind, size_bytes, no_content, work_ms=first.work_ms,
                idle_ms=0 if first.after_load else first.idle_ms, after_load=first.after_load, way=first.way,
                offset=first.offset, blocking=first.blocking, waits=first.way == PARSED,
                holds=final.kind == FONT and not first.after_load,
                large=final.kind == IMAGE and first.priority == MEDIUM, seen=first.seen,
                for_print=final.kind == STYLE and first.priority == VERY_LOW)


def _kind(final: Resource, size_bytes: int) -> NodeKind:
    mime = _type_of(final)
    if mime is None:
        return NodeKind.BEACON if size_bytes <= LARGEST_BEACON else NodeKind.SCRIPT
    if mime.startswith("image/"):
        return NodeKind.IMAGE
    if mime == "text/html":
        return NodeKind.FRAME if size_bytes >= SMALLEST_FRAME else NodeKind.FETCH
    return {"text/css": NodeKind.STYLESHEET, "javascript": NodeKind.SCRIPT}.get(mime, NodeKind.FETCH)


def _finder(plan: PagePlan, node: Node) -> Node | None:
    """The script that found a document's child, or None when the document itself did or the parent is no document."""
    parent, resources = node.parent, plan.resources
    assert parent is not None
    start_ms = resources[node.index].start_ms
    if parent.kind not in (NodeKind.DOCUMENT, NodeKind.FRAME) or start_ms <= resources[parent.final].end_ms:
        return None
    arrived = [other for other in plan.nodes if other.kind is NodeKind.SCRIPT and other.parent is parent
               and resources[other.final].end_ms <= start_ms]
    return max(arrived, key=lambda other: (resources[other.final].end_ms, other.index), default=None)
