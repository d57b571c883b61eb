"""One page load: of what, and how. tfo-test/load_page.py gets it as JSON, its one argument."""

from dataclasses import dataclass, field

import msgspec

from harness.browser.chrome import ChromeSettings
from harness.browser.program import Browser
from harness.errors import InputError
from harness.measure.settings import Settings
from harness.system.privileges import User


@dataclass(frozen=True, kw_only=True)
class PageLoad:
    """The page at `url`, loaded by `user` in `browser`, which is started as `chrome` says, in an empty folder.

    The load ends when nothing moves any more on the network interface `interface`.
    """

    url: str
    interface: str
    user: User
    browser: Browser
    chrome: ChromeSettings
    settings: Settings = field(default_factory=Settings)
    asked_as: str = ""
    """Where to go, if the recording's Chrome made another URL of the page's by itself (HSTS)."""
    nice: int = 0
    """Other programs go before Chrome by nice(1), which servers on its own machine need."""

    def to_json(self) -> str:
        """Return it as one line of JSON."""
        return msgspec.json.encode(self, enc_hook=str).decode()


def read_page_load(text: str) -> PageLoad:
    """Read JSON. Raises InputError."""
    try:
        return msgspec.json.decode(text, type=PageLoad, dec_hook=lambda kind, value: kind(value))
    except (msgspec.DecodeError, ValueError) as error:
        raise InputError(f"load_page.py: not a load: {error}; see harness/measure/page_load.py") from None
