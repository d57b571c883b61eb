"""What the client is to measure, and what it says about each connect."""

from dataclasses import dataclass

from connie.lab.scenarios import PROFILES, Scenario, make_scenario

REQUEST = b"GET / HTTP/1.0\r\nHost: sites.test\r\n\r\n"

FLOOR = "nearest alive, alone"
"""A plain connect to the nearest address that is alive, without any name: the RTT as this machine can measure it."""


@dataclass(frozen=True)
class Task:
    """How often and how long what is measured, and whose counters are read.

    profile, faults, strategies: their names. rounds: connects of each strategy with each fault; budget_s: but no more
    once a strategy has spent so many seconds with one; timeout_s: given to every strategy.
    client_pid, interface: a process in the client's namespace, and its interface; site_pids: in those of the sites.
    """

    profile: str
    faults: list[str]
    strategies: list[str]
    rounds: int
    budget_s: float
    timeout_s: float
    seed: int
    client_pid: int = 0
    interface: str = ""
    site_pids: tuple[int, ...] = ()

    @property
    def scenarios(self) -> list[Scenario]:
        """The faults in the profile's network."""
        return [make_scenario(PROFILES[self.profile], fault) for fault in self.faults]


@dataclass(frozen=True)
class Time:
    """One connect. Times in ms from before the name's lookup; None where it failed, and `error` says with what."""

    fault: str
    strategy: str
    connect_ms: float | None
    first_byte_ms: float | None
    address: str
    error: str


@dataclass(frozen=True)
class Cost:
    """What one connect cost, on average of a few.

    sockets: TCP connections the client began (Tcp ActiveOpens). sent_bytes: what left the client's interface, with
    Ethernet headers and questions to the name server. aborted: connections that reached a server and were dropped by
    the client before they carried a request: half open ones (TcpExt EmbryonicRsts), and accepted ones (Tcp
    PassiveOpens) beyond the one that a connect is for. fast_open: SYNs whose data a server accepted (TcpExt
    TCPFastOpenPassive). cpu_ms: processor time of the client and its processes, in ms, starting them included.
    Sources: Linux Documentation/networking/snmp_counter.rst.
    """

    fault: str
    strategy: str
    connects: int
    sockets: float
    sent_bytes: float
    aborted: float
    fast_open: float
    cpu_ms: float


@dataclass(frozen=True)
class Results:
    """All times and costs of one profile."""

    times: list[Time]
    costs: list[Cost]
