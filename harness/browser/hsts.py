"""Hosts that Chrome asks over https alone, whatever a URL says, since it knows that it may (HSTS, RFC 6797).

It leads requests over http on to https by itself then: nothing is sent. Chrome keeps the hosts that have asked for it
in its profile, each by the SHA-256 of its name as DNS writes it (net/http/transport_security_persister.cc).
"""

import base64
import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

LASTS_S = 400 * 86_400
"""More than Chrome's clock is ahead in loads (harness.browser.program)."""


def write_known_hosts(profile: Path, hosts: Sequence[str]) -> None:
    """Have a Chrome that is not started yet know `hosts`."""
    now_s = time.time()
    known = [{"host": _hashed(host), "mode": "force-https", "sts_include_subdomains": False, "sts_observed": now_s,
              "expiry": now_s + LASTS_S} for host in hosts]
    folder = profile / "Default"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "TransportSecurity").write_text(json.dumps({"version": 2, "sts": known}), encoding="utf-8")


def _hashed(host: str) -> str:
    labels = [label.encode("ascii") for label in host.lower().split(".")]
    in_dns = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return base64.b64encode(hashlib.sha256(in_dns).digest()).decode()
