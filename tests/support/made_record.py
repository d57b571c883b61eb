"""Load records made by code."""

from typing import Any

from harness.files.load_record import FORMAT, LoadRecord


def made_record(**known: Any) -> LoadRecord:
    """Return the record of run 1 of http://a.org at 20 ms RTT without TFO, valid unless `known` says otherwise.

    `known` is JSON, as in the record's file.
    """
    return LoadRecord.from_json({
        "format": FORMAT, "url": "http://a.org", "page": "httpa.org", "delaynet_ms": 10, "rtt_ms": 20, "tfo": 0,
        "run": 1, "valid": True, **known})


def made_answers(*urls: str, **common: Any) -> dict[str, Any]:
    """Return the "answers" of a load that got these URLs, each exactly and as itself, as JSON."""
    each = [{"url": url, "kind": "exact", "identity": url, "status": 200, "bytes": 100, "purpose": "image",
             "critical": False, **common} for url in urls]
    return {"exact": len(urls), "stand_in": 0, "missing": 0, "failed": 0, "each": each}
