"""How many SYNs came to a middlebox, and how many of them it touched: counted by it, read beside each load."""

from harness.system.shared_counts import SharedCounts


class SynCounts(SharedCounts):
    """Two counts: of the SYNs that were seen, and of those that were touched."""

    number = 2

    def count(self, *, touched: bool) -> None:
        """Count a SYN."""
        self._counts[0] += 1
        self._counts[1] += touched
