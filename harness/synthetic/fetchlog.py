"""The log a recording of a synthetic page would have left: 2013's times, and the answers the servers are to give."""

from harness.files.hack_dns import PORTS
from harness.files.text_log import PageLog, Resolve, Response, Transaction
from harness.synthetic.plan import REDIRECT_STATUS, Node, NodeKind, PagePlan

UNKNOWN_ADDRESS = "192.0.2.1"
"""From TEST-NET-1 (RFC 5737), addresses that belong to nobody: those of 2013 were not kept."""


def make_log(plan: PagePlan, urls: list[str]) -> PageLog:
    """Return the log of a page whose resources have these whole `urls`, by index.

    Every host is resolved at the start of its first request, in no time: how long it took in 2013 was not kept.
    """
    log = PageLog(transactions_seen=True)
    by_end = sorted(plan.resources, key=lambda resource: (resource.end_ms, resource.index))
    log.transactions = [Transaction(resource.start_ms, resource.end_ms, urls[resource.index]) for resource in by_end]
    for resource in plan.resources:
        port = PORTS[urls[resource.index].partition(":")[0]]
        name = f"{resource.host}:{port}"
        if all(resolve.name != name for resolve in log.resolves):
            log.resolves.append(Resolve(resource.start_ms, resource.start_ms, 0, name, f"{UNKNOWN_ADDRESS}:{port}"))
    log.responses = [_response(plan, plan.node_of(resource.index), resource.index, urls) for resource in by_end]
    return log


def _response(plan: PagePlan, node: Node, index: int, urls: list[str]) -> Response:
    resource = plan.resources[index]
    mime = resource.mime or ("application/x-javascript" if node.kind is NodeKind.SCRIPT else "image/gif")
    if resource.redirect_to is not None:
        return Response(REDIRECT_STATUS, mime, resource.charset or "", urls[index], urls[resource.redirect_to])
    status = "No Content" if node.no_content else "OK"
    return Response(status, mime, resource.charset or "", urls[index], None)
