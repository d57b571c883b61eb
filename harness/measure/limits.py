"""How long a page load may take: the only place where its time limits stand."""

from dataclasses import dataclass

OVERHEAD_LIMIT_S = 40.0
"""How long starting and ending Chrome may take besides the page's own limits before it is called hung."""


@dataclass(frozen=True)
class TimeLimits:
    """Time limits of a load in seconds: until the load event, of silence that ends it, until that silence."""

    load_s: float = 60.0
    quiet_s: float = 1.5
    quiet_limit_s: float = 10.0

    @property
    def total_s(self) -> float:
        """After this long load_page.py itself hangs."""
        return self.load_s + self.quiet_limit_s + OVERHEAD_LIMIT_S
