"""How long a page load may take: the only place where its time limits stand."""

from dataclasses import dataclass

OVERHEAD_LIMIT_S = 40.0
"""How long starting and ending Chrome may take besides the page's own limits before it is called hung."""


@dataclass(frozen=True)
class TimeLimits:
    """Time limits of a load in seconds.

    `load_s` is how long the load event may take. After it, the load ends once the network has been silent for
    `quiet_s`, or at the latest after `quiet_limit_s`.
    """

    load_s: float = 60.0
    quiet_s: float = 1.5
    quiet_limit_s: float = 10.0

    @property
    def total_s(self) -> float:
        """A load_page.py that runs for longer than this hangs."""
        return self.load_s + self.quiet_limit_s + OVERHEAD_LIMIT_S
