"""A transport adapter for requests, racing.

    session = requests.Session()
    session.mount("http://", ConnieAdapter())
    session.mount("https://", ConnieAdapter())
"""

from typing import Any

from requests.adapters import HTTPAdapter

from connie.for_urllib3 import race_in
from connie.race import RaceOptions


class ConnieAdapter(HTTPAdapter):
    """requests' HTTPAdapter, whose connections to servers and HTTP proxies are raced for. Its arguments, and `race`."""

    _race: RaceOptions | None = None        # also of a copy, which requests makes without __init__

    def __init__(self, *arguments: Any, race: RaceOptions | None = None, **keywords: Any) -> None:
        self._race = race                           # first: HTTPAdapter's __init__ calls init_poolmanager
        super().__init__(*arguments, **keywords)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **keywords: Any) -> None:
        """Make the pools for direct connections."""
        super().init_poolmanager(connections, maxsize, block, **keywords)
        race_in(self.poolmanager, self._race)

    def proxy_manager_for(self, proxy: str, **keywords: Any) -> Any:
        """Return the pools for connections through `proxy`. SOCKS has pools of its own, which do not race."""
        new = proxy not in self.proxy_manager
        manager = super().proxy_manager_for(proxy, **keywords)
        if new and not proxy.lower().startswith("socks"):
            race_in(manager, self._race)
        return manager
