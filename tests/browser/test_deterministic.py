"""The injected script in a real Chrome: the same time and randomness each load, and a Date that scripts cannot tell."""

import re
from typing import Any

import pytest

from tests.support.answering import serving
from tests.support.own_chrome import asked

pytestmark = pytest.mark.chrome

Loads = list[dict[str, Any]]
"""What scripts found in each of two loads."""
INSTANT_MS = 1_363_348_800_000          # `date -d 2013-03-15T12:00Z +%s`000
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
PROBE = """<!doctype html><link rel=icon href=data:,>
<iframe srcdoc="<script>parent.inFrame = Date.now()</script>"></iframe><script>
function probe() {
  const found = {};
  found.now = Array.from({length: 60}, () => Date.now());
  found.randoms = Array.from({length: 1000}, () => Math.random());
  let waited = 0;
  for (const began = +new Date(); +new Date() < began + 50 && waited < 100000;) waited++;
  found.waited = waited;
  const date = new Date();
  found.instance = [date instanceof Date, new Date(0) instanceof Date, {} instanceof Date];
  found.kind = [Object.prototype.toString.call(date), typeof Date, Date.name, Date.length, typeof Date()];
  found.asked = [new Date(0).getTime(), new Date(2013, 2, 15).getTime(), new Date('2001-02-03T04:05:06Z').getTime(),
                 new Date(new Date(77)).getTime(), Date.UTC(1970, 0, 2), Date.parse('1970-01-01T00:00:01Z')];
  found.invalid = [isNaN(new Date(undefined)), isNaN(new Date('x'))];
  found.called = [Date(), Date(0), Date.call(null, 5)].map(Date.parse);
  found.constructors = [date.constructor === Date, Date.prototype.constructor === Date,
                        Object.getPrototypeOf(date) === Date.prototype];
  class Moment extends Date { constructor(...given) { super(...given); this.more = 1; } twice() { return 2 * this; } }
  const moment = new Moment(), early = new Moment(21);
  found.subclass = [moment instanceof Moment, moment instanceof Date, moment.more, early.twice(), moment.getFullYear()];
  found.reflected = Reflect.construct(Date, [], Moment) instanceof Moment;
  found.realClock = performance[Symbol.for('tfo-lab.timeOrigin')];
  found.shownClock = performance.timeOrigin;
  const before = performance.now();
  while (performance.now() === before);
  found.performanceMoves = performance.now() > before;
  found.inFrame = window.inFrame;
  const own = Date.now;
  found.described = Object.getOwnPropertyDescriptor(Date, 'now').value === own;
  Date.now = () => 7;
  found.replaced = Date.now();
  Date.now = own;
  Object.freeze(Date);
  found.frozen = [Date.now() >= atStart, new Date() >= atStart];
  return found;
}
const atStart = Date.now();
</script>"""
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
    """Answer with the probe of Date, the page of two scripts and a frame, the frame, or one of the scripts."""
    if path.endswith(".js"):
        return "text/javascript", SCRIPT.replace("NAME", path[1:-3])
    tags = "".join(f"<script src=/{name}.js></script>" for name in ("a" if path == "/frame" else "ab"))
    return "text/html", {"/probe": PROBE, "/frame": tags}.get(path, PAGE.replace("SCRIPTS", tags))


@pytest.fixture(scope="module")
def loads() -> Loads:
    """Return what the scripts found in two loads of each page; that their order does not matter: test_chance.py."""
    with serving(answer) as web:
        *probed, first, second = asked(*[(f"{web}/probe", "async () => ({...probe(), atStart})")] * 2,
                                       *[(f"{web}/page", SEEN)] * 2)
    return [probed[0] | first, probed[1] | second]


def test_two_loads_see_the_same_time_and_randomness(loads: Loads) -> None:
    first, second = ({name: value for name, value in load.items() if name not in ("realClock", "clock")}
                     for load in loads)
    assert first == second
    assert INSTANT_MS < loads[0]["realClock"] < loads[1]["realClock"], "by which loads are timed"


def test_the_time_moves_on_from_the_instant_of_the_recording_but_slowly(loads: Loads) -> None:
    found = loads[0]
    assert found["atStart"] == found["inFrame"] == INSTANT_MS
    assert found["now"] == sorted(found["now"])
    assert found["now"][-1] - found["now"][0] in (2, 3), "60 questions, 20 to the millisecond"
    assert found["waited"] == pytest.approx(1000, abs=25), "who waits 50 ms by asking is let go"
    assert all(0 <= called - INSTANT_MS < 1000 for called in found["called"]), "as a function it is that time as text"


def test_date_behaves_as_date_does_also_replaced_and_frozen(loads: Loads) -> None:
    """Date.now() of a frozen Date threw a TypeError, and one that a page put in its place was never called."""
    wanted = {"instance": [True, True, False], "kind": ["[object Date]", "function", "Date", 7, "string"],
              "constructors": [True] * 3, "invalid": [True, True], "performanceMoves": True, "replaced": 7,
              "described": True, "frozen": [True, True], "subclass": [True, True, 1, 42, 2013], "reflected": True}
    assert {name: loads[0][name] for name in wanted} == wanted


def test_whatever_tells_the_time_of_day_agrees(loads: Loads) -> None:
    clock = loads[0]["clock"]
    assert {clock["origin"], clock["json"]["timeOrigin"], clock["began"], clock["timing"]["navigationStart"]} == {
        INSTANT_MS}
    assert clock["json"]["timing"] == clock["timing"]
    assert INSTANT_MS < clock["timing"]["responseStart"] < INSTANT_MS + 10_000
    assert clock["timing"]["loadEventEnd"] == clock["future"] == 0, "it has not come yet"
    assert clock["modified"] == "03/15/2013 12:00:00"
    assert re.fullmatch(r"3/15/13, 12:00:00.PM", clock["formatted"]), clock["formatted"]
    assert re.fullmatch(r"1/1/70, 12:00:00.AM", clock["given"])
    assert clock["same"]
    assert clock["parts"] > 10
    assert clock["temporal"] in (None, [INSTANT_MS, "2013-03-15", "2013"])


def test_scripts_and_frames_get_numbers_of_their_own(loads: Loads) -> None:
    found = [loads[0]["found"]["a"], loads[0]["found"]["b"], loads[0]["frame"]["a"]]
    assert "later" in found[0], "in a callback, too"
    for kind in ("randoms", "uuids", "values"):
        drawn = [str(part) for script in found for part in script[kind]]
        assert len(set(drawn)) == len(drawn), (kind, drawn)
    assert all(UUID.fullmatch(uuid) for script in found for uuid in script["uuids"])


def test_crypto_refuses_what_it_refuses_and_scripts_see_no_trace_of_ours(loads: Loads) -> None:
    wanted = {"refuses": ["QuotaExceededError", "TypeMismatchError", "TypeError"], "returns": True,
              "untouched": [10, False], "hidden": 0, "cookies": ["both", "none", "session", "week"]}
    assert {name: loads[0]["clock"][name] for name in wanted} == wanted, "cookies end by the time that scripts see"
