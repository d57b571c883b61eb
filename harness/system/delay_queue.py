"""Packets that the kernel hands to a process (NFQUEUE), each held until it is due: what every delay of ours is made of.

    iptables (mangle) --NFQUEUE--> forward(): DelayQueue holds each packet until it is due --accept--> on its way

tfo-test/delay_line.py gives all packets of one server one delay, connie/lab/paths.py each address its own. Should the
process be killed, packets are dropped, not passed on undelayed: an experiment without its delay must fail, not look
fast.

Numbers that one process writes and others read lie in memory that they share: nothing has to be asked or locked.

    with sharing(2) as (descriptor, numbers):      # the process that writes inherits the descriptor
        ...                                         # shared_numbers(descriptor)[0] += 1
        numbers.tolist()

The delay line's are, first, SENDERS delays in s, one for each sender's address (`place_of`), which whoever measures
loads writes. Behind them it notes itself how late it let packets go: time is cut into slots, and of each slot only the
latest packet is kept, in a pair of numbers: which slot it is, counted since 1970, and how late that packet was in ms.
"""

import gc
import heapq
import math
import mmap
import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from typing import Any, Protocol

from harness.errors import ExperimentError
from harness.system.libc import call
from harness.system.processes import HIGHEST_PRIORITY, run, terminate_as_interrupt

QUEUE_NUMBER = 1
QUEUE_LENGTH = 100_000
SOCKET_BUFFER_BYTES = 16 << 20
REALTIME_PRIORITY = 50
PR_SET_TIMERSLACK = 29
SO_TIMESTAMPNS = 35
"""Of asm-generic/socket.h; Python has no name for it."""
LOOK_S = 0.005
"""The longest sleep: whoever stops this process for longer is noticed, even when no packet was held meanwhile."""
DEVIATIONS = 2
LEAD_LIMIT_S = 0.0005


class Packet(Protocol):
    """What of netfilterqueue's packets is used."""

    def get_payload(self) -> bytes:
        """Return its first bytes."""

    def get_timestamp(self) -> float:
        """Return when it arrived from the network, in seconds since 1970; 0.0 when nobody noted."""

    def accept(self) -> None:
        """Let it go on."""

    def drop(self) -> None:
        """Lose it."""


class DelayQueue:
    """Packets under way, the one due first on top; of equal ones, the one that came first."""

    def __init__(self, lateness: "memoryview[float] | None" = None) -> None:
        """Note how late packets are let go in `lateness`, pairs of numbers (`note_lateness`)."""
        self._lateness = lateness
        self._held: list[tuple[float, int, Packet]] = []
        self._count = 0
        self.looked_s = time.monotonic()
        """When all that had come was read: what is read now came later than that."""

    def hold(self, packet: Packet, delay_s: float, not_before_s: float = 0.0) -> float:
        """Hold a packet for `delay_s` from when it came, and until the monotonic clock is at `not_before_s`.

        Returns the time at which it is due. A packet that arrives from the network bears the time at which the kernel
        got it (`forward` asks for that). The delay of one without that counts from now.
        """
        now_s = time.monotonic()
        # The clock may be set meanwhile; the packet came after we looked last, whatever the clock says.
        waited_s = min(max(time.time() - (packet.get_timestamp() or math.inf), 0.0), now_s - self.looked_s)
        due_s = max(now_s - waited_s + delay_s, not_before_s)
        self._count += 1
        heapq.heappush(self._held, (due_s, self._count, packet))
        return due_s

    def release_due(self) -> float | None:
        """Let all packets go whose time has come; return the seconds until the next one's, None when none waits."""
        held = self._held
        while held:
            late_s = time.monotonic() - held[0][0]
            if late_s < 0:
                return -late_s
            heapq.heappop(held)[2].accept()
            if self._lateness is not None:
                note_lateness(self._lateness, late_s)
        return None


class Alarm:
    """How long before a packet is due to end a sleep: processors that were idle take a while to wake.

    The estimate is TCP's of a round trip (RFC 6298): the mean of what sleeps took too long, plus mean deviations of it.
    A sleep that ended early is followed by looking at the clock until the packet is due, which costs processor time: at
    most LEAD_LIMIT_S a packet.
    """

    def __init__(self) -> None:
        self._mean_s = 0.0
        self._deviation_s = 0.0

    def lead_s(self) -> float:
        """Return how much too long the next sleep may be."""
        return min(self._mean_s + DEVIATIONS * self._deviation_s, LEAD_LIMIT_S)

    def overslept(self, late_s: float) -> None:
        """Learn from a sleep that ended so late, but not from a stop: no processor takes LEAD_LIMIT_S to wake."""
        if late_s < LEAD_LIMIT_S:
            self._deviation_s += (abs(late_s - self._mean_s) - self._deviation_s) / 4
            self._mean_s += (late_s - self._mean_s) / 8


def forward(kernel_queue: Any, held: DelayQueue) -> None:
    """Hold and release packets until interrupted."""
    descriptor, alarm = kernel_queue.get_fd(), Alarm()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)     # the kernel stamps packets while any socket asks
        while True:
            held.looked_s = time.monotonic()
            due_in_s = held.release_due()
            sleep_s = LOOK_S if due_in_s is None else max(min(due_in_s - alarm.lead_s(), LOOK_S), 0.0)
            fell_asleep_s = time.monotonic()
            # select, since epoll's timeout counts in whole milliseconds.
            ready, _, _ = select.select([descriptor], [], [], sleep_s)
            if ready:
                kernel_queue.run(block=False)
            elif sleep_s:
                alarm.overslept(time.monotonic() - fell_asleep_s - sleep_s)


def delay_packets(hold: Callable[[Packet], None], held: DelayQueue, rules: Sequence[Sequence[str]],
                  programs: Sequence[str] = ("iptables",), *, head_bytes: int = 0,
                  queue_number: int = QUEUE_NUMBER) -> None:
    """Be a delay: have `hold` put every packet that matches `rules` into `held`, and let it go when it is due.

    `hold` can read the first `head_bytes` of a packet, and may let it go or drop it itself. Prints `ready` when packets
    are being delayed. Lasts until SIGTERM or Ctrl-C, and takes its rules with it. Raises ExperimentError.
    """
    from netfilterqueue import COPY_META, COPY_PACKET, NetfilterQueue

    terminate_as_interrupt()
    queue = NetfilterQueue()
    queue.bind(queue_number, hold, max_len=QUEUE_LENGTH, mode=COPY_PACKET if head_bytes else COPY_META,
               range=head_bytes, sock_len=SOCKET_BUFFER_BYTES)
    try:
        be_punctual()
        with queued_packets(rules, programs, queue_number):
            print("ready", flush=True)
            forward(queue, held)
    except KeyboardInterrupt:
        pass
    finally:
        queue.unbind()


@contextmanager
def queued_packets(rules: Sequence[Sequence[str]], programs: Sequence[str], queue_number: int) -> Iterator[None]:
    """Send the packets that match one of `rules` (of the table mangle) to this queue while this lasts."""
    with ExitStack() as undo:
        for program, rule in product(programs, rules):
            target = [*rule, "-j", "NFQUEUE", "--queue-num", str(queue_number)]
            run([program, "-w", "-t", "mangle", "-A", *target], "sending packets to a queue")
            undo.callback(run, [program, "-w", "-t", "mangle", "-D", *target], "taking a queue's rules back")
        yield


def be_punctual() -> None:
    """Real-time priority, exact timers, no garbage collection: lateness here is an error in every RTT.

    Where the first is refused, the highest ordinary one (tfo.py records that). Raises ExperimentError without either.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    except PermissionError:    # no CAP_SYS_NICE; or RT_GROUP_SCHED, and a cgroup without cpu.rt_runtime_us (sched(7))
        try:
            os.setpriority(os.PRIO_PROCESS, 0, HIGHEST_PRIORITY)
        except PermissionError:
            raise ExperimentError("no priority over other programs here, and without it packets would be late; "
                                  "give the container --privileged: docs/install.md") from None
    call("prctl", PR_SET_TIMERSLACK, 1, 0, 0, 0)


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
