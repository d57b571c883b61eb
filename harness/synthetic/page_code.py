"""The code and tags by which one resource requests another.

Documents define functions in their head where their scripts need them: ``put(kind, url, then, classes)`` requests a
resource ("img seen" is one within the window), and calls ``then`` when it has arrived or failed; ``wait(f, ms)`` calls
``f`` so many ms later; ``late(f)`` calls it once the document is parsed. On measured pages ``work(ms)`` keeps the
processor busy for so long, and ``loaded(f)`` calls ``f`` after the load event.

What the real page asked for before its load event, the made one asks for before its own. Neither a fetch nor a timer
holds that event up: where a short round trip ends all else before they do, what they lead to would come after it, and
the page would be another one, and a fast one. So ``hold()`` holds it up, by a frame with an open document, which is not
completely loaded (HTML Standard, document.open()), and returns the function that lets it go. A fetch is "held" when
something came of it before the load event, or when it stands for a font, which holds that event up in browsers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.synthetic.page_plan import Node, NodeKind

PUT = """\
function hold() {
  var frame = document.createElement("iframe");
  frame.hidden = true;
  (document.body || document.documentElement).appendChild(frame);
  frame.contentDocument.open();
  return function () { frame.contentDocument.close(); };
}
function put(kind, url, then, classes) {
  var d = document, place = d.body || d.documentElement, tags = {css: "link", print: "link", frame: "iframe",
    script: "script", write: "script"}, seen = kind.split(" ")[1], e, go;
  kind = kind.split(" ")[0];
  if (kind == "fetch" || kind == "held") {
    go = kind == "held" && hold();
    fetch(url).then(function (r) { return r.arrayBuffer(); }).catch(function () {}).then(then).finally(go || null);
    return;
  }
  if (kind == "write" && !then && d.currentScript && d.readyState == "loading") {
    d.write('<script src="' + url + '"><\\/script>');
    return;
  }
  if (kind == "wait") {
    e = new XMLHttpRequest();
    try { e.open("GET", url, false); e.send(); } catch (error) {}
    if (then) then();
    return;
  }
  e = d.createElement(tags[kind] || "img");
  if (then) e.onload = e.onerror = then;
  (classes || []).forEach(function (name) { place.appendChild(d.createElement("i")).className = name; });
  if (seen) e.className = seen;
  if (seen && e.tagName == "IMG") { e.width = 96; e.height = 72; }
  if (kind == "print") e.media = kind;
  if (e.tagName == "LINK") { e.rel = "stylesheet"; e.href = url; } else e.src = url;
  if (kind == "beacon") return;
  (e.rel ? d.head : place).appendChild(e);
}
function wait(f, ms) {
  var go = hold();
  setTimeout(function () { f(); go(); }, ms);
}
"""
WORK = """\
function work(ms) { var end = performance.now() + ms; while (performance.now() < end); }
function loaded(f) {
  if (performance.timing.loadEventEnd) f(); else addEventListener("load", function () { setTimeout(f, 0); });
}
"""
LATE = """\
function late(f) { if (document.readyState == "loading") document.addEventListener("DOMContentLoaded", f); else f(); }
"""

LARGE, SMALL, PIXEL = (200, 150), (96, 72), (1, 1)
"""How large images are shown, in pixels. Those of over 10,000 square pixels (and those whose tag tells no size) count
as large: Chrome (from 117 on) asks for the first five large ones of a document with a higher priority, while it still
waits for the head's style sheets and scripts (debugbear.com/blog/chrome-image-request-prioritization)."""
SEEN = "seen"
"""The class of what stands within the window."""

def background_class(node: Node) -> str:
    """The class of the element that shows `node` as its background."""
    return f"bg{node.index}"


def element_class(node: Node) -> str:
    """The classes of that element."""
    return f"{background_class(node)} {SEEN}" if node.seen else background_class(node)


@dataclass
class Loading:
    """How a page's resources are requested: by their whole `urls`, by index.

    `lifted` has the children, by their parent's index, to request when that parent has arrived; `backgrounds` likewise
    has those images of a stylesheet for which elements must be made.
    """

    urls: list[str]
    lifted: dict[int, list[Node]] = field(default_factory=dict)
    backgrounds: dict[int, list[Node]] = field(default_factory=dict)

    def put_calls(self, nodes: Sequence[Node]) -> str:
        """Return script code that requests `nodes`: at once, or once the document is parsed if they wait for that."""
        script = _Script(self)
        at_once = "".join(script.request(node) for node in nodes if not node.waits)
        script.worked_ms = 0        # what waits worked since the document was parsed: none of that was done before
        waiting = "".join(script.request(node) for node in nodes if node.waits)
        return at_once + (f"late(function(){{{waiting}}});" if waiting else "")

    def put(self, node: Node) -> str:
        """Return the call of PUT's function for `node`: how it is requested, and what follows when it has arrived."""
        children = self.lifted.get(node.index, [])
        kind = node.kind.value
        if node.blocking:
            kind = "write" if node.kind is NodeKind.SCRIPT else "wait"
        elif node.kind is NodeKind.FETCH and (node.holds or any(not child.after_load for child in children)):
            kind = "held"
        elif node.for_print:
            kind = "print"
        elif node.seen:
            kind = f"{NodeKind.IMAGE.value if node.kind is NodeKind.BEACON else kind} {SEEN}"
        arguments = [f'"{kind}"', f'"{self.urls[node.index]}"']
        classes = ",".join(f'"{element_class(image)}"' for image in self.backgrounds.get(node.index, []))
        if children:
            arguments.append(f"function(){{{self.put_calls(children)}}}")
        elif classes:
            arguments.append("null")
        if classes:
            arguments.append(f"[{classes}]")
        return f"put({','.join(arguments)});"

    def tag(self, node: Node) -> str:
        """Return the HTML that requests `node`. Where it has lifted children, the document must define `arrival`'s."""
        address = self.urls[node.index].replace("&", "&amp;")
        is_lifting = bool(self.lifted.get(node.index))
        events = f' onload="after{node.index}()" onerror="after{node.index}()"' if is_lifting else ""
        seen = f' class="{SEEN}"' if node.seen else ""
        if node.kind is NodeKind.STYLESHEET:
            media = ' media="print"' if node.for_print else ""
            return f'<link rel="stylesheet"{media} href="{address}"{events}>\n'
        if node.kind is NodeKind.SCRIPT:
            return f'<script{"" if node.blocking else " async"} src="{address}"{events}></script>\n'
        if node.kind is NodeKind.FRAME:
            return f'<iframe{seen} src="{address}"{events} width="300" height="80"></iframe>\n'
        if node.kind in (NodeKind.BEACON, NodeKind.IMAGE):
            width, height = LARGE if node.large else SMALL if node.kind is NodeKind.IMAGE else PIXEL
            return f'<img{seen} src="{address}"{events} width="{width}" height="{height}" alt="">\n'
        if is_lifting or node.holds:
            return f"<script>{self.put_calls([node])}</script>\n"
        return f'<script>fetch("{self.urls[node.index]}")</script>\n'

    def arrival(self, node: Node) -> str:
        """Return the script function that a tag with lifted children calls when its resource has arrived."""
        return f"function after{node.index}() {{ {self.put_calls(self.lifted[node.index])} }}\n"


@dataclass
class _Script:
    """A script while it is written: `worked_ms` so far, and `worked_later_ms` after the load event."""

    loading: Loading
    worked_ms: int = 0
    worked_later_ms: int = 0

    def request(self, node: Node) -> str:
        """Return the code that requests `node` after as much work, and as long a wait, as in the real page."""
        call = self.loading.put(node)
        if node.after_load:
            own_ms = max(0, node.work_ms - self.worked_later_ms)
            self.worked_later_ms += own_ms
            pause = f"work({own_ms});" if own_ms else ""
            return f"loaded(function(){{{pause}setTimeout(function(){{{call}}},0);}});"
        if node.idle_ms:
            call = f"wait(function(){{{call}}},{node.idle_ms});"
        if node.work_ms > self.worked_ms:       # one after the other, the work of the earlier is part of the later's
            call = f"work({node.work_ms - self.worked_ms});{call}"
            self.worked_ms = node.work_ms
        return call
