"""Which host names are one site: a registrable domain, the public suffix of a name and one label more.

The public suffixes (https://publicsuffix.org) are those that come with the package publicsuffixlist; nothing is asked
over the network.
"""

from functools import cache

from publicsuffixlist import PublicSuffixList


def registrable_domain(host: str) -> str | None:
    """Return the site that `host`, in ASCII, belongs to; None for an address, a bare name or a public suffix itself."""
    if host.replace(".", "").isdigit() or ":" in host or "." not in host:
        return None
    domain = _suffixes().privatesuffix(host.rstrip(".").lower())
    return str(domain) if domain else None


def site_of(host: str) -> str:
    """Return the registrable domain of `host`, the name itself where it has none: then it is a site of its own."""
    return registrable_domain(host) or host


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
