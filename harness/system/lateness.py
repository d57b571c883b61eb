"""How late a delay queue let its packets go: counted by itself in shared memory, read by whoever measures a load.

The counts only ever grow, each in eight bytes of its own, so nothing has to be asked or locked: read them at two
moments, and the difference is of what lies between (harness.system.ticker does so all the while). Bucket 0 holds what
was under 10 us late, each next one ends 2% later, the last holds everything from about 72 s: a percentile or a largest
value is at most 2% more than the true one.
"""

import math
from collections.abc import Sequence

from harness.system.shared_counts import SharedCounts

FIRST_S = 1e-5
STEP = 1.02
BUCKETS = 799
_LOG_STEP = math.log(STEP)


def bucket_of(late_s: float) -> int:
    """Return the bucket of a lateness in seconds."""
    if late_s < FIRST_S:
        return 0
    return min(BUCKETS - 1, 1 + int(math.log(late_s / FIRST_S) / _LOG_STEP))


def end_ms(bucket: int) -> float:
    """Return where a bucket ends, in ms."""
    return FIRST_S * STEP ** bucket * 1000


class LatenessCounts(SharedCounts):
    """How many packets were let go so late, by bucket: counted by the one process that delays, read by others."""

    number = BUCKETS

    def count(self, late_s: float) -> None:
        """Count a packet that was let go `late_s` seconds after it was due."""
        self._counts[bucket_of(late_s)] += 1


def latest_ms(before: Sequence[int], after: Sequence[int]) -> float:
    """Return how late the latest of the packets was that were counted after `before` was read, and until `after` was.

    0.0 without any.
    """
    return max((end_ms(bucket) for bucket, (earlier, later) in enumerate(zip(before, after, strict=True))
                if later > earlier), default=0.0)
