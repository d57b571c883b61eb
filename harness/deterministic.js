/* Injected before any script of a page, when recording and when replaying: the same time and the same randomness each
   load, so that the URLs a page's scripts put together are the ones in the mirror. Date stands still at a fixed instant
   and moves on by a millisecond every few questions, so that a script that waits by asking does not wait for ever.
   performance.now(), which timing comes from, is left alone. */
(() => {
  const instant = Date.UTC(2013, 2, 15, 12, 0, 0);
  const questionsPerMs = 20;
  const RealDate = Date;
  let questions = 0;
  const now = () => instant + Math.floor(questions++ / questionsPerMs);

  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given, made) => Reflect.construct(target, given.length ? given : [now()], made),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  });
  RealDate.prototype.constructor = globalThis.Date;

  /* xorshift32 */
  let state = 0x2013;
  Math.random = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 0x100000000;
  };
})();
