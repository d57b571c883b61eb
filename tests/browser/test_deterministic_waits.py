"""The injected script in a real Chrome: who waits with a timer, or draws, finds by Date that the time has passed."""

from typing import Any

import pytest

from tests.support.own_chrome import answer_of

pytestmark = pytest.mark.chrome

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
const ticks = (count, ms) => new Promise(resolve => {
  const began = Date.now();
  const ticking = setInterval(() => --count || resolve((clearInterval(ticking), Date.now() - began)), ms);
});
/* As an impatient script polls. */
const polled = async ms => {
  const began = Date.now();
  let timers = 0;
  for (; Date.now() - began < ms && timers < 1000; timers++)
    await new Promise(resolve => setTimeout(resolve, 0));
  return timers;
};
const inWorker = new Promise(resolve => {
  const code = 'const began = Date.now(); setTimeout(() => postMessage(Date.now() - began), 70)';
  new Worker(URL.createObjectURL(new Blob([code]))).onmessage = message => resolve(message.data);
});
async function probe() {
  const found = {began: Date.now(), really: performance.now()};
  found.debounced = await debounced(120);
  found.frames = await animated(300, requestAnimationFrame);
  found.prefixed = await animated(300, window.webkitRequestAnimationFrame || requestAnimationFrame);
  found.ticked = await ticks(5, 20);
  found.inWorker = await inWorker;
  found.elapsed = Date.now() - found.began;
  found.really = performance.now() - found.really;
  found.polled = await polled(200);
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
  found.native = [setTimeout.name, setTimeout.length, /native code/.test(setTimeout)];
  return found;
}
</script>"""

CHROME = """
from urllib.parse import quote
page = sys.stdin.read()
driver = start(browser, ChromeSettings(Path(work_dir)))
try:
    driver.get("data:text/html," + quote(page))
    print(json.dumps(driver.execute_async_script("probe().then(arguments[0], e => arguments[0](String(e)))")))
finally:
    end(driver)
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Return what the page's script found."""
    answer = answer_of(CHROME, given=PAGE)
    assert isinstance(answer, dict), answer
    return answer


def test_waits_end_by_date_as_by_any_clock(found: dict[str, Any]) -> None:
    assert found["debounced"] == 1, "the first timer's end is the wait's"
    assert found["frames"] in range(16, 20), "18 sixtieths of a second are 300 ms; a few questions count, too"
    assert found["prefixed"] in range(16, 20), "by its old name, too"
    assert found["posted"] == ["its answer", pytest.approx(90, abs=1), "at once"]
    assert 100 <= found["ticked"] <= 102
    assert 70 <= found["inWorker"] <= 71
    assert found["atOnce"] <= 1, "what does not wait takes no time"
    assert found["polled"] in range(45, 60), "50 waits of 4 ms, but for the first ones"


def test_date_is_not_ahead_of_the_real_time(found: dict[str, Any]) -> None:
    """By more than two frames: the first may be drawn at once, and they may come a little faster."""
    assert found["elapsed"] <= found["really"] + 2 * FRAME_MS


def test_the_functions_do_what_they_did(found: dict[str, Any]) -> None:
    assert found["given"] == [True, "x", "y"]
    assert found["text"] == "as text"
    assert "cleared" not in found
    assert found["thrown"] == ["TypeError", "TypeError"]
    assert found["native"] == ["setTimeout", 1, True]
