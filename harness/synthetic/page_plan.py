"""How each resource of a page is loaded, by whom, and when, as its shape says.

Resources that redirect into each other are one *node* of the plan: who loads the first gets the last. The rules:

- **Kind.** Images are loaded by ``<img>``, style sheets by ``<link>``, scripts by ``<script>``, documents by
  ``<iframe>``, the rest, fonts among it, by ``fetch()``. A body of 0 bytes, other than the page's own document, that
  causes nothing and redirects nowhere is ``204 No Content``. An image of that kind, or of LARGEST_BEACON bytes or less,
  is a beacon: an image that is not shown.
- **Size.** As recorded. Redirects are served without a body. A page's own document that cannot hold the tags of its
  children is made as much larger.
- **Placed.** What was a tag is one again, at the same offset of its document; a script that ran there is there again,
  and one that the parser stopped for stops it again. The body begins with the first tag that belongs there. A frame
  that is too small for scripts has tags in their place: a frame's requests do not wait for those of the page around it.
- **Early.** What was asked for while its document still came in, and nobody knows where in it that stands, stands
  behind the last tag that was found before. At the document's end it would wait for all scripts that stop the parser.
  Where that is still in the head, a script asks for it: the body would begin there, and with it the style sheets' wait.
  It stands before the style sheets and scripts that it would wait for itself. Few frames have room for such a script.
- **Wanted.** An image that Chrome wanted early ("Medium") is shown large, all others small, and those that stood within
  the window stand there, all others below. A style sheet that it wanted last ("VeryLow") is one for printing: nothing
  waits for it.
- **Work.** Whoever requests a node first works and waits for as long as the real page did.
- **Before the load.** What a fetch or a timer led to before the load event holds that event up (see `page_code`), and
  so does a font, for which the real page's waited, too.
- **After the load.** What was asked for after the load event is asked for at that event, all of it side by side, though
  in the real page one thing led to the next: it holds nothing up, and every load would have to wait for the end of it.
- **Lifted.** A parent that cannot hold the code for its children, because it is too small for it or of a type that
  loads nothing, leaves them to whoever loads it: the loader requests them in the parent's ``load`` (or ``error``)
  event, so that they still wait for the parent. A style sheet holds its images as backgrounds and has the rest lifted.
  (Which nodes are too small shows when their content is made, in `content`.)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from harness.analysis.asked_for import DATA, DOCUMENT, FONT, IMAGE, MEDIA, SCRIPT, STYLE
from harness.synthetic.shape import EVENT, INLINE, MEDIUM, PARSED, TAG, VERY_LOW, PageShape, Resource

LARGEST_BEACON = 100
"""Bytes; an image that has more is shown."""
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


NODE_KINDS = {DOCUMENT: NodeKind.FRAME, IMAGE: NodeKind.IMAGE, STYLE: NodeKind.STYLESHEET, SCRIPT: NodeKind.SCRIPT,
              DATA: NodeKind.FETCH, FONT: NodeKind.FETCH, MEDIA: NodeKind.FETCH}
"""How the pages load what the real page asked for as one of harness.synthetic.shape.KINDS."""


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
    way: str = EVENT
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

    resources: list[Resource]
    nodes: list[Node]

    def __post_init__(self) -> None:
        """Note the node that each resource belongs to."""
        self._nodes = {index: node for node in self.nodes for index in node.hops}

    def node_of(self, index: int) -> Node:
        """The node that resource `index` belongs to."""
        return self._nodes[index]


def make_plan(shape: PageShape) -> PagePlan:
    """Decide by the rules above how a page's resources are loaded."""
    redirected_to = {resource.redirect_to for resource in shape.resources}
    causing = {resource.parent for resource in shape.resources}
    nodes = [_node(shape, resource, causing) for resource in shape.resources if resource.index not in redirected_to]
    plan = PagePlan(shape.resources, nodes)
    for node in nodes[1:]:
        parent = shape.resources[node.index].parent
        assert parent is not None    # read_shapes refuses a resource without one, other than the first
        node.parent = _before_load(plan.node_of(parent)) if node.after_load else plan.node_of(parent)
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


def _place_early(node: Node, document: Node, resources: Sequence[Resource]) -> None:
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


def _node(shape: PageShape, first: Resource, causing: set[int | None]) -> Node:
    """Return the node that begins with `first`, by the rules Kind, Size and Wanted."""
    hops = [first.index]
    while (target := shape.resources[hops[-1]].redirect_to) is not None:
        hops.append(target)
    final = shape.resources[hops[-1]]
    no_content = final.size_bytes == 0 and final.index not in causing and first.index > 0
    kind = NODE_KINDS[final.kind] if first.index else NodeKind.DOCUMENT
    if kind is NodeKind.IMAGE and (no_content or final.size_bytes <= LARGEST_BEACON):
        kind = NodeKind.BEACON
    return Node(hops, kind, final.size_bytes, no_content, work_ms=first.work_ms,
                idle_ms=0 if first.after_load else first.idle_ms, after_load=first.after_load, way=first.way,
                offset=first.offset, blocking=first.blocking, waits=first.way == PARSED,
                holds=final.kind == FONT and not first.after_load,
                large=final.kind == IMAGE and first.priority == MEDIUM, seen=first.seen,
                for_print=final.kind == STYLE and first.priority == VERY_LOW)
