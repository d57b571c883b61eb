"""How a race is run."""

import math
from dataclasses import dataclass, field
from typing import Any

from connie.addresses import Preference
from connie.cache import CACHE, DnsCache


@dataclass(frozen=True)
class RaceOptions:
    """The keyword options of connie_connect, for what connects on its caller's behalf: connie.http, the adapters.

    max_attempts: handshakes under way at the same time, at most; None: as many as there are addresses. An address that
        never answers keeps its place until the kernel gives it up (Linux: about 2 minutes), so that with as many dead
        addresses in front as there are places the others wait.
    stagger: seconds between the starts of two attempts (RFC 8305 recommends 0.25); 0: all at once. A failed attempt
        makes the next one start without waiting.
    prefer: an address family or several (socket.AF_INET6) to begin with; families take turns. None: getaddrinfo's.
    cache: where names are looked up; None asks each time anew.
    """

    max_attempts: int | None = None
    stagger: float = 0.0
    prefer: Preference = None
    cache: DnsCache | None = field(default=CACHE)

    def __post_init__(self) -> None:
        """Raise ValueError for options that make no race."""
        if self.max_attempts is not None and self.max_attempts < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}, and a race needs at least 1")
        if not 0 <= self.stagger < math.inf:
            raise ValueError(f"stagger is {self.stagger}, and has to be seconds, 0 or more")


class Racing:
    """Stands before a class of others', takes `race` besides its arguments, and keeps it."""

    def __init__(self, *arguments: Any, race: RaceOptions | None = None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._race = RaceOptions() if race is None else race
