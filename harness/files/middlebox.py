"""Middleboxes that do not know TCP Fast Open, as they are typed: a kind, and the share of the paths they stand on.

    strip-option     cuts the option out of the SYN: no cookie is asked for, and data is not taken
    drop-option      drops SYNs with the option, with data or without
    drop-syn-data    drops SYNs with data
    trim-data        cuts the data off the SYN, and lets the handshake go on

Honda et al. (Is It Still Possible to Extend TCP?, IMC 2011) and others found each of them in the Internet.
"""

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from harness.system.options import Decimal, plain, quoted

SHARE = Decimal(0.001, 1)


class Box(str, Enum):
    """What a middlebox does to a SYN."""

    STRIP_OPTION = "strip-option"
    DROP_OPTION = "drop-option"
    DROP_SYN_DATA = "drop-syn-data"
    TRIM_DATA = "trim-data"

    @property
    def drops(self) -> bool:
        """Whether a SYN that it touches is lost: the sender waits for a second (RFC 6298, section 2.1)."""
        return self in (Box.DROP_OPTION, Box.DROP_SYN_DATA)


@dataclass(frozen=True)
class Middlebox:
    """A kind of box on a share of the paths."""

    box: Box
    share: float = 1.0

    def __str__(self) -> str:
        return self.box.value if self.share == 1 else f"{self.box.value}:{plain(self.share)}"

    def on_paths_to(self, servers: Sequence[str], seed: int) -> list[str]:
        """Return the servers that it stands before: the share of them, rounded up, that `seed` chooses."""
        count = math.ceil(self.share * len(servers) - 1e-9)
        return sorted(random.Random(seed).sample(sorted(servers), count))


def read_middlebox(text: str) -> Middlebox:
    """Read ``drop-syn-data`` or, on a tenth of the paths, ``drop-syn-data:0.1``. Raises argparse.ArgumentTypeError."""
    kind, colon, share = text.partition(":")
    try:
        return Middlebox(Box(kind), SHARE(share) if colon else 1.0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quoted(kind)} is no middlebox: {', '.join(box.value for box in Box)}") \
            from None


def middlebox_in_words(text: str) -> str:
    """Return what was typed in the one form that it has. Raises argparse.ArgumentTypeError."""
    return str(read_middlebox(text))
