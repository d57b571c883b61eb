"""One page load: of what, and how. tfo-test/load_page.py gets it as JSON, its one argument."""

from dataclasses import asdict, dataclass, field

import msgspec

from harness.errors import InputError
from harness.measure.settings import Settings


@dataclass(frozen=True, kw_only=True)
class PageLoad:
    """The page at `url`, loaded by the user `uid`, `gid` with an empty folder `work_dir` of its own.

    Chrome is led by the file `hack_dns` (lines of hostname ip port [https]), and the load ends when nothing moves any
    more on the network interface `interface`. An empty `binary`, `driver` or `shim` means the first one found.
    """

    url: str
    work_dir: str
    hack_dns: str
    interface: str
    uid: int
    gid: int
    settings: Settings = field(default_factory=Settings)
    asked_as: str = ""
    """Where to go, if the recording's Chrome made another URL of the page's by itself (HSTS)."""
    user_agent: str = ""
    """What Chrome says that it is; empty: what it says by itself."""
    binary: str = ""
    driver: str = ""
    shim: str = ""
    trusted_key: str | None = None
    """Fingerprint of the servers' certificate authority."""
    key_shares: int | None = None
    """Where Chrome's table of key exchange groups is, to replace it (harness.browser.client_hello)."""
    socket_limits: int | None = None
    """Where Chrome's limits of connections are, for --connections-per-host (harness.browser.connection_limit)."""
    initiators: bool = False
    """Whether to write down what caused each request, which takes time."""
    loopback_tfo: bool = False
    """Whether to use TFO towards servers on loopback, too."""
    nice: int = 0
    """Other programs go before Chrome by nice(1), which servers on its own machine need."""

    def to_json(self) -> str:
        """Return it as one line of JSON."""
        return msgspec.json.encode(asdict(self)).decode()


def read_page_load(text: str) -> PageLoad:
    """Read JSON. Raises InputError."""
    try:
        return msgspec.json.decode(text, type=PageLoad)
    except (msgspec.DecodeError, ValueError) as error:
        raise InputError(f"load_page.py: not a load: {error}; see harness/measure/page_load.py") from None
