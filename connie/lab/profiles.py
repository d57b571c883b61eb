"""The four networks of the 2013 report, as far as it is known what they were like."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """A client's network, and how far away from it the addresses of one name are.

    rtts4_ms, rtts6_ms: round-trip times to the name's IPv4 and IPv6 addresses, in ms, without jitter.
    jitter_ms: mean of what queues add to an RTT, in ms (half of it each way, exponentially distributed).
    dns_rtt_ms: round-trip time to the name server. bw_mbit: rate of the client's link.
    """

    name: str
    title: str
    rtts4_ms: tuple[float, ...]
    rtts6_ms: tuple[float, ...]
    jitter_ms: float
    dns_rtt_ms: float
    bw_mbit: float

    @property
    def max_rtt_ms(self) -> float:
        """The farthest address's RTT in ms."""
        return max(*self.rtts4_ms, *self.rtts6_ms)


WIFI = Profile("wifi", "public Wi-Fi, IPv4 only", (38, 42, 50, 80), (), jitter_ms=10, dns_rtt_ms=12, bw_mbit=10)
HOME = Profile("home", "home link, native IPv4 and tunnelled IPv6", (58, 64, 76, 96), (78, 84, 96, 116),
               jitter_ms=4, dns_rtt_ms=15, bw_mbit=20)
SERVER100 = Profile("server100", "server at 100 Mbit/s, IPv4 only", (12, 12.3, 12.8, 14), (),
                    jitter_ms=0.2, dns_rtt_ms=0.5, bw_mbit=100)
SERVER1000 = Profile("server1000", "server at 1 Gbit/s, native dual stack", (4, 4.1, 4.3, 5), (4, 4.1, 4.3, 5),
                     jitter_ms=0.1, dns_rtt_ms=0.3, bw_mbit=1000)
OF_2013 = (WIFI, HOME, SERVER100, SERVER1000)
"""What is known, and what is chosen. Known: the kind of each network; connects and fetches were 5 to 50% faster by
racing on home links and no faster in data centres; and one line, `connie_connect: count 300, ..., per call: 0.0622,
std dev: 0.0030`, whose deviation, divided by n outside the root, was really 0.0030 * sqrt(300) = 0.052 s.

Chosen: the home link such that connie_connect takes about 62 ms there: 58 ms to the nearest address and 4 ms of jitter.
A deviation of 52 ms it has not: that is what one retransmitted SYN (1 s) in 300 calls makes, and nothing is lost here
unless a fault says so. A tunnel's detour: 20 ms on top of each IPv4 RTT. Public Wi-Fi: nearer, with jitter that makes
the order of addresses a matter of luck. Data centres: addresses near each other and a name server next door, so that
there is little to win; RTTs large enough for a millisecond of this machine's own to stay a small part of them. The
spread of the addresses, up to 2.1 times the nearest one, is what a name with servers in several cities has.
"""

NEAR = Profile("near", "for tests: dual stack, close by, without jitter", (20, 32, 44), (26, 38, 50),
               jitter_ms=0, dns_rtt_ms=2, bw_mbit=100)
PROFILES = {profile.name: profile for profile in (*OF_2013, NEAR)}
