"""Numbers in shared memory: how long the delay line holds packets, written by whoever measures loads, and how late it
let them go, written by itself.

Numbers that one process writes and others read lie in memory that they share: nothing has to be asked or locked.

    with sharing(2) as (descriptor, numbers):      # the process that writes inherits the descriptor
        ...                                         # shared_numbers(descriptor)[0] += 1
        numbers.tolist()

The delay line has SENDERS delays in s, one for each sender's address (`place_of`). Lateness stands behind them: it cuts
time into slots, and of each slot only the latest packet is kept, in a pair of numbers: which slot it is, counted since
1970, and how late that packet was in ms.
"""

import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

EACH_BYTES = 8

SENDERS = 2**16
"""The star has one bridge, and so 1023 hosts, from 10.0.0.1 on: two bytes of the address tell them apart."""
SLOT_S = 0.1
SLOTS = 2**17
"""So many pairs there are, for 3.6 hours; no load takes that long."""


def shared_numbers(descriptor: int) -> "memoryview[float]":
    """Return the numbers in the memory behind a descriptor, as floating-point numbers."""
    return memoryview(mmap.mmap(descriptor, 0)).cast("d")


@contextmanager
def sharing(count: int) -> Iterator[tuple[int, "memoryview[float]"]]:
    """Give fresh memory for so many numbers, all 0, while this lasts: its descriptor, for who writes, and the numbers.

    It has no name in any folder (memfd_create(2)).
    """
    descriptor = os.memfd_create("tfo-lab-numbers")
    try:
        os.ftruncate(descriptor, EACH_BYTES * count)
        yield descriptor, shared_numbers(descriptor)
    finally:
        os.close(descriptor)


def place_of(address: bytes) -> int:
    """Return where the delay of the packets stands that come from this IPv4 address, in the network's byte order."""
    return int.from_bytes(address[-2:], "big")


def note_lateness(pairs: "memoryview[float]", late_s: float) -> None:
    """Note a packet that was let go now, `late_s` seconds after it was due."""
    slot = int(time.time() / SLOT_S)
    place = slot % SLOTS * 2
    pairs[place + 1] = max(late_s * 1000, pairs[place + 1]) if pairs[place] == slot else late_s * 1000
    pairs[place] = slot


def latest_ms(pairs: "memoryview[float]", start_s: float, end_s: float) -> float:
    """Return how late the latest of the packets was that were let go between two moments, in s since 1970.

    To SLOT_S; 0.0 without any.
    """
    slots = range(int(start_s / SLOT_S), int(end_s / SLOT_S) + 1)
    return max((pairs[slot % SLOTS * 2 + 1] for slot in slots if pairs[slot % SLOTS * 2] == slot), default=0.0)
