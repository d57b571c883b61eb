"""The log a recording of a synthetic page would have left: 2013's times, and the answers the servers are to give."""

from harness.files.hack_dns import PORTS
from harness.files.text_log import PageLog, Resolve, Response, Transaction
from harness.synthetic.plan import REDIRECT_STATUS, NodeKind, PagePlan
from harness.synthetic.shape import Resource

UNKNOWN_ADDRESS = "192.0.2.1"
"""From TEST-NET-1 (RFC 5737), addresses that belong to nobody: those of 2013 were not kept."""


def make_log(plan: PagePlan, urls: list[str]) -> PageLog:
    """Return the log of a page whose resources have these whole `urls`, by index.

    Every host is resolved at the start of its first request, in no time: how long it took in 2013 was not kept.
    """
    by_end = sorted(plan.resources, key=lambda resource: (resource.end_ms, resource.index))
    first = {f"{resource.host}:{PORTS[resource.scheme]}": resource for resource in reversed(plan.resources)}
    return PageLog(
        resolves=[Resolve(resource.start_ms, resource.start_ms, 0, name, f"{UNKNOWN_ADDRESS}:{name.rpartition(':')[2]}")
                  for name, resource in sorted(first.items(), key=lambda named: named[1].index)],
        transactions=[Transaction(resource.start_ms, resource.end_ms, urls[resource.index]) for resource in by_end],
        responses=[_response(plan, resource, urls) for resource in by_end], transactions_seen=True)


def _response(plan: PagePlan, resource: Resource, urls: list[str]) -> Response:
    node, target = plan.node_of(resource.index), resource.redirect_to
    mime = resource.mime or ("application/x-javascript" if node.kind is NodeKind.SCRIPT else "image/gif")
    status = REDIRECT_STATUS if target is not None else "No Content" if node.no_content else "OK"
    return Response(status, mime, resource.charset or "", urls[resource.index],
                    None if target is None else urls[target])
