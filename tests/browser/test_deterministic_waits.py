"""The injected script in a real Chrome: who waits with a timer, or draws, finds by Date that the time has passed."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.support.own_chrome import asked

pytestmark = pytest.mark.chrome

Found = dict[str, Any]
"""What the page's script found."""
FRAME_MS = 1000 / 60
PAGE = """<!doctype html><title>x</title><script>
/* As lodash debounces: at the end of a timer it asks Date whether the wait is over, and sets the rest anew if not. */
const debounced = wait => new Promise(resolve => {
  const began = Date.now();
  let timers = 0;
  const look = () => {
    timers++;
    const leftMs = wait - (Date.now() - began);
    leftMs > 0 ? setTimeout(look, leftMs) : resolve(timers);
  };
  setTimeout(look, wait);
});
/* As jQuery animates: with each frame it asks Date how far the animation is. */
const animated = (ms, request) => new Promise(resolve => {
  const began = Date.now();
  let frames = 0;
  const draw = () => {
    frames++;
    Date.now() - began < ms && frames < 100 ? request(draw) : resolve(frames);
  };
  request(draw);
});
/* As a game keeps its rate: each timer's end asks for a frame. Returns how long that took. */
const paced = ms => new Promise(resolve => {
  const [began, really] = [Date.now(), performance.now()];
  const draw = () => Date.now() - began < ms ? setTimeout(() => requestAnimationFrame(draw), 1000 / 60) :
    resolve(performance.now() - really);
  draw();
});
const ticks = (count, ms) => new Promise(resolve => {
  const began = Date.now();
  const ticking = setInterval(() => --count || resolve((clearInterval(ticking), Date.now() - began)), ms);
});
/* As pages of 2013 fade: the code that each timer runs is text. */
const faded = ms => new Promise(resolve => {
  let timers = 0;
  window.fade = last => {
    const now = new Date().getTime();
    ms -= now - last;
    ++timers < 200 && ms > 0 ? setTimeout(`fade(${now})`, 30) : resolve(timers);
  };
  setTimeout(`fade(${new Date().getTime()})`, 30);
});
/* As an impatient script polls, with a promise of the timer's or with one that waits for it. */
const timer = () => new Promise(resolve => setTimeout(resolve, 0));
const sleep = async () => { await timer(); };
const polled = async (ms, wait) => {
  const began = Date.now();
  let timers = 0;
  for (; Date.now() - began < ms && timers < 1000; timers++)
    await wait();
  return timers;
};
const inWorker = new Promise(resolve => {
  const code = 'const began = Date.now(); setTimeout(() => postMessage(Date.now() - began), 70)';
  new Worker(URL.createObjectURL(new Blob([code]))).onmessage = message => resolve(message.data);
});
/* It sets its timer before it asks for the first time. */
const ticksInWorker = new Promise(resolve => {
  const code = `let began, ticks = 0;
    const ticking = setInterval(() => {
      began ??= Date.now();
      if (++ticks === 50 || Date.now() - began >= 100) { clearInterval(ticking); postMessage(ticks); }
    }, 20)`;
  new Worker(URL.createObjectURL(new Blob([code]))).onmessage = message => resolve(message.data);
});
const microtasksInWorker = new Promise(resolve => {
  const code = `const own = queueMicrotask;
    let asked = 0;
    self.queueMicrotask = what => { asked++; own(what); };
    setTimeout(() => setTimeout(() => postMessage(asked), 20))`;
  new Worker(URL.createObjectURL(new Blob([code]))).onmessage = message => resolve(message.data);
});
async function probe() {
  const found = {began: Date.now(), really: performance.now()};
  found.debounced = await debounced(120);
  found.frames = await animated(300, requestAnimationFrame);
  found.prefixed = await animated(300, window.webkitRequestAnimationFrame || requestAnimationFrame);
  found.told = await new Promise(resolve => (window.webkitRequestAnimationFrame || requestAnimationFrame)(
    told => resolve(window.webkitRequestAnimationFrame ? told - Date.now() : 0)));
  found.ticked = await ticks(5, 20);
  found.faded = await faded(300);
  found.paced = await paced(600);
  found.inWorker = await inWorker;
  found.ticksInWorker = await ticksInWorker;
  found.microtasksInWorker = await microtasksInWorker;
  found.elapsed = Date.now() - found.began;
  found.really = performance.now() - found.really;
  found.polled = await polled(200, timer);
  await new Promise(requestAnimationFrame);
  found.polledFarther = await polled(200, sleep);
  await new Promise(requestAnimationFrame);     // no timer: of those that follow none is the fifth
  const before = Date.now();
  await new Promise(resolve => setTimeout(resolve, 0));
  await new Promise(resolve => setTimeout(resolve, Infinity));
  await new Promise(resolve => setTimeout(resolve, -(2 ** 40)));
  await new Promise(resolve => setTimeout(resolve, 2 ** 32 + 0.5));
  found.atOnce = Date.now() - before;
  const posted = Date.now();
  found.posted = [await scheduler.postTask(() => 'its answer', {delay: 90}), Date.now() - posted,
                  await scheduler.postTask(() => 'at once')];
  found.given = await new Promise(resolve => setTimeout(function (...given) { resolve([this === window, ...given]); },
                                                        '5', 'x', 'y'));
  found.text = await new Promise(resolve => { window.resolve = resolve; setTimeout('resolve("as text")'); });
  clearTimeout(setTimeout(() => { found.cleared = false; }, 1));
  cancelAnimationFrame(requestAnimationFrame(() => { found.cleared = false; }));
  await new Promise(resolve => setTimeout(resolve, 40));
  found.thrown = [setTimeout, requestAnimationFrame].map(wait => { try { wait(); } catch (e) { return e.name; } });
  found.native = [setTimeout.name, setTimeout.length];
  found.shown = [setTimeout, setInterval, requestAnimationFrame, Date, Date.now, Math.random,
                 Function.prototype.toString].map(String);
  return found;
}
</script>"""

@pytest.fixture(scope="module")
def found() -> Found:
    """Return what the page's script found."""
    answer, = asked((f"data:text/html,{quote(PAGE)}", "probe"))
    assert isinstance(answer, dict), answer
    return answer


def test_waits_end_by_date_as_by_any_clock(found: Found) -> None:
    assert found["debounced"] == 1, "the first timer's end is the wait's"
    assert found["frames"] in range(16, 20), "18 sixtieths of a second are 300 ms; a few questions count, too"
    assert found["prefixed"] in range(16, 20), "by its old name, too"
    assert -1 <= found["told"] <= 0, "a prefixed frame tells the time of day; it told the real one"
    assert found["posted"] == ["its answer", pytest.approx(90, abs=1), "at once"]
    assert 100 <= found["ticked"] <= 102
    assert found["faded"] in (9, 10), "ten timers of 30 ms; it took hundreds, since those of text did not count"
    assert 70 <= found["inWorker"] <= 71
    assert found["ticksInWorker"] == 6, "five waits of 20 ms behind the first tick"
    assert found["atOnce"] <= 1, "what does not wait takes no time"
    assert found["polled"] in range(45, 60), "50 waits of 4 ms, but for the first ones"
    assert found["polledFarther"] in range(45, 60), "it took 80 times as long: only the first promise's timers counted"


def test_date_is_not_ahead_of_the_real_time(found: Found) -> None:
    """By more than two frames: the first may be drawn at once, and they may come a little faster."""
    assert found["elapsed"] <= found["really"] + 2 * FRAME_MS
    assert found["paced"] >= 600 - 2 * FRAME_MS, "it took half of that: both waits counted in full"


def test_the_functions_do_what_they_did(found: Found) -> None:
    assert found["given"] == [True, "x", "y"]
    assert found["text"] == "as text"
    assert "cleared" not in found
    assert found["thrown"] == ["TypeError", "TypeError"]
    assert found["microtasksInWorker"] == 0, "32 were asked for at the end of each timer"
    assert found["native"] == ["setTimeout", 1]
    names = ("setTimeout", "setInterval", "requestAnimationFrame", "Date", "now", "random", "toString")
    assert found["shown"] == [f"function {name}() {{ [native code] }}" for name in names], "as Sentry looks for it"
