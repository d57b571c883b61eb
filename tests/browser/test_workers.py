"""The injected script in workers of every kind, in a real Chrome: the same time and randomness in each load."""

from typing import Any

import pytest

from tests.support.answering import serving
from tests.support.own_chrome import asked

pytestmark = pytest.mark.chrome

INSTANT_MS = 1_363_348_800_000
KINDS = {"dedicated", "nested", "module", "blob", "shared", "service"}
PROBE = """{now: Date.now(), origin: performance.timeOrigin, random: Math.random(), uuid: crypto.randomUUID(),
  values: Array.from(crypto.getRandomValues(new Uint16Array(4))), year: new Date().getFullYear()}"""
PAGE = f"""<!doctype html><link rel=icon href=data:,><script>
window.found = {{}};
const take = (kind, worker) => {{ worker.onmessage = (event) => {{ found[kind] = event.data; }}; }};
take('dedicated', new Worker('/dedicated.js'));
take('nested', new Worker('/outer.js'));
take('module', new Worker('/module.js', {{type: 'module'}}));
take('blob', new Worker(URL.createObjectURL(new Blob([`postMessage({PROBE})`]))));
take('shared', new SharedWorker('/shared.js').port);
take('service', navigator.serviceWorker);
navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready)
    .then((registration) => registration.active.postMessage('tell'));
</script>"""
FILES = {
    "/": PAGE, "/dedicated.js": f"postMessage({PROBE})", "/module.js": f"postMessage({PROBE})",
    "/outer.js": "new Worker('/dedicated.js').onmessage = (event) => postMessage(event.data)",
    "/shared.js": f"const found = {PROBE}; onconnect = (event) => event.ports[0].postMessage(found)",
    "/service.js": f"const found = {PROBE}; oninstall = skipWaiting; onmessage = (event) => "
                   "event.source.postMessage(found)"}
SEEN = f"""async () => {{
  while (Object.keys(found).length < {len(KINDS)}) await new Promise(go => setTimeout(go, 20));
  return found;
}}"""


def answer(path: str) -> tuple[str, str]:
    """Answer with FILES."""
    return "text/html" if path == "/" else "text/javascript", FILES.get(path, "")


@pytest.fixture(scope="module")
def loads() -> list[dict[str, Any]]:
    """Return what each kind of worker found in each of two Chromes."""
    with serving(answer) as web:
        return [asked((f"{web}/", SEEN))[0] for _ in range(2)]


def test_every_kind_of_worker_runs(loads: list[dict[str, Any]]) -> None:
    assert [set(load) for load in loads] == [KINDS, KINDS]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_load_sees_the_same_time_and_randomness(loads: list[dict[str, Any]], kind: str) -> None:
    first, second = (load[kind] for load in loads)
    assert (first["now"], first["origin"], first["year"]) == (INSTANT_MS, INSTANT_MS, 2013)
    assert first == second


def test_workers_have_numbers_of_their_own(loads: list[dict[str, Any]]) -> None:
    own = [loads[0][kind] for kind in ("dedicated", "module", "shared", "service")]
    for drawn in ("random", "uuid"):
        assert len({found[drawn] for found in own}) == len(own)
    assert loads[0]["nested"]["uuid"] == loads[0]["dedicated"]["uuid"], "the same script's"
