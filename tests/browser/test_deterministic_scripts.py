"""The injected script on pages of a server, in a real Chrome: what tells the time, and randomness script by script."""

import re
from typing import Any

import pytest

from tests.support.answering import serving
from tests.support.own_chrome import asked

pytestmark = pytest.mark.chrome

INSTANT_MS = 1_363_348_800_000
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
SCRIPT = """
(window.found ||= {})['NAME'] = {
  randoms: [Math.random(), Math.random()], uuids: [crypto.randomUUID(), crypto.randomUUID()],
  values: Array.from(crypto.getRandomValues(new Uint16Array(4)))};
setTimeout(() => { found['NAME'].later = Math.random(); found.left = (found.left || 0) + 1; });
"""
PAGE = """<!doctype html><link rel=icon href=data:,><script>
const format = new Intl.DateTimeFormat('en', {dateStyle: 'short', timeStyle: 'medium', timeZone: 'UTC'});
const cookiesKept = said => {
  for (const [name, end] of Object.entries(said)) document.cookie = `${name}=1; path=/; ${end}`;
  return document.cookie.split('; ').map(pair => pair.split('=')[0]).sort();
};
const refuses = (...given) => { try { crypto.getRandomValues(...given); return ''; } catch (e) { return e.name; } };
window.clock = {
  origin: performance.timeOrigin, modified: document.lastModified, formatted: format.format(),
  same: format.format === format.format, given: format.format(0), parts: format.formatToParts().length,
  temporal: globalThis.Temporal ? [Temporal.Now.instant().epochMilliseconds, String(Temporal.Now.plainDateISO('UTC')),
    String(Temporal.Now.zonedDateTimeISO('UTC').year)] : null,
  real: performance[Symbol.for('tfo-lab.timeOrigin')], hidden: Object.keys(performance).length,
  refuses: [refuses(new Uint8Array(65537)), refuses(new Float32Array(1)), refuses(5)],
  returns: (a => crypto.getRandomValues(a) === a)(new Uint8Array(1)),
  timing: performance.timing.toJSON(), began: performance.timing.navigationStart,
  future: performance.timing.loadEventEnd,
  json: performance.toJSON(),
  cookies: cookiesKept({week: 'expires=' + new Date(Date.now() + 7 * 864e5).toUTCString(),
    old: 'expires=Thu, 01-Jan-1970 00:00:01 GMT', ended: 'EXPIRES=' + new Date(Date.now() - 2000).toGMTString(),
    session: 'expires=0', both: 'max-age=60; expires=Thu, 01 Jan 1970 00:00:00 GMT', none: 'path=/'}),
  untouched: [Error.stackTraceLimit, 'prepareStackTrace' in Error]};
</script>SCRIPTS<iframe src="/frame"></iframe>"""
SEEN = """async () => {
  while (!(found.left >= 2 && frames[0].found)) await new Promise(go => setTimeout(go, 10));
  return {clock, found, frame: frames[0].found};
}"""


def answer(path: str) -> tuple[str, str]:
    """Answer /page?ORDER, which loads its scripts in that order, and its frame."""
    path, _, order = path.partition("?")
    if path.endswith(".js"):
        return "text/javascript", SCRIPT.replace("NAME", path[1:-3])
    tags = "".join(f"<script src=/{name}.js></script>" for name in order or "a")
    return "text/html", tags if path == "/frame" else PAGE.replace("SCRIPTS", tags)


@pytest.fixture(scope="module")
def loads() -> list[dict[str, Any]]:
    """Load the page twice with scripts a and b; that their order does not matter: test_chance.py."""
    with serving(answer) as web:
        return asked(*[(f"{web}/page?ab", SEEN)] * 2)


def test_whatever_tells_the_time_of_day_agrees(loads: list[dict[str, Any]]) -> None:
    for clock in (load["clock"] for load in loads):
        assert clock["origin"] == INSTANT_MS
        assert clock["json"]["timeOrigin"] == INSTANT_MS
        assert clock["began"] == clock["timing"]["navigationStart"] == INSTANT_MS
        assert clock["json"]["timing"] == clock["timing"]
        assert INSTANT_MS < clock["timing"]["responseStart"] < INSTANT_MS + 10_000
        assert clock["timing"]["loadEventEnd"] == clock["future"] == 0, "it has not come yet"
        assert clock["modified"] == "03/15/2013 12:00:00"
        assert re.fullmatch(r"3/15/13, 12:00:00.PM", clock["formatted"]), clock["formatted"]
        assert re.fullmatch(r"1/1/70, 12:00:00.AM", clock["given"])
        assert clock["same"]
        assert clock["parts"] > 10
        if clock["temporal"]:
            assert clock["temporal"] == [INSTANT_MS, "2013-03-15", "2013"]


def test_the_harness_still_knows_when_the_page_began(loads: list[dict[str, Any]]) -> None:
    first, second = (load["clock"]["real"] for load in loads)
    assert INSTANT_MS < first < second


def test_scripts_and_frames_get_numbers_of_their_own_in_each_load(loads: list[dict[str, Any]]) -> None:
    assert [(load["found"], load["frame"]) for load in loads] == [(loads[0]["found"], loads[0]["frame"])] * 2
    assert "later" in loads[0]["found"]["a"], "in a callback, too"
    found = [loads[0]["found"]["a"], loads[0]["found"]["b"], loads[0]["frame"]["a"]]
    for kind in ("randoms", "uuids", "values"):
        drawn = [str(part) for script in found for part in script[kind]]
        assert len(set(drawn)) == len(drawn), (kind, drawn)
    assert all(UUID.fullmatch(uuid) for script in found for uuid in script["uuids"])


def test_crypto_refuses_what_it_refuses_and_scripts_see_no_trace_of_ours(loads: list[dict[str, Any]]) -> None:
    wanted = {"refuses": ["QuotaExceededError", "TypeMismatchError", "TypeError"], "returns": True,
              "untouched": [10, False], "hidden": 0, "cookies": ["both", "none", "session", "week"]}
    assert {name: loads[0]["clock"][name] for name in wanted} == wanted, "cookies end by the time that scripts see"
