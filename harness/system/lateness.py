"""How late a delay queue let its packets go: counted by itself in shared memory, read by whoever measures a load.

The counts only ever grow, each in eight bytes of its own, so nothing has to be asked or locked: read them at two
moments, and the difference is of what lies between (harness.system.ticker does so all the while). Bucket 0 holds what
was under 10 us late, each next one ends 2% later, the last holds everything from about 72 s: a percentile or a largest
value is at most 2% more than the true one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Lateness:
    """How late the packets of an interval were let go, in ms; all 0.0 when there were none."""

    packets: int
    p50_ms: float
    p99_ms: float
    largest_ms: float


class LatenessCounts(SharedCounts):
    """How many packets were let go so late, by bucket: counted by the one process that delays, read by others."""

    number = BUCKETS

    def count(self, late_s: float) -> None:
        """Count a packet that was let go `late_s` seconds after it was due."""
        self._counts[bucket_of(late_s)] += 1


def lateness_between(before: Sequence[int], after: Sequence[int]) -> Lateness:
    """Return the lateness of the packets counted after `before` was read, and until `after` was."""
    grown = [later - earlier for earlier, later in zip(before, after, strict=True)]
    packets = sum(grown)
    if not packets:
        return Lateness(0, 0.0, 0.0, 0.0)
    return Lateness(packets, _value_at(grown, math.ceil(packets * 0.5)), _value_at(grown, math.ceil(packets * 0.99)),
                    _value_at(grown, packets))


def _value_at(counts: list[int], rank: int) -> float:
    """Return the end, in ms, of the bucket that holds the packet of this rank, counted from 1 for the least late."""
    so_far = 0
    for bucket, count in enumerate(counts):
        so_far += count
        if so_far >= rank:
            return end_ms(bucket)
    raise ValueError(f"rank {rank} of {so_far} packets")
