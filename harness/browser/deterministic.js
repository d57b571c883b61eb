/* Injected before any script of a page, a frame or a worker, when recording and when replaying: the same time and the
   same randomness each load, so that the URLs a page's scripts put together are the ones in the mirror, and so that they
   take the same branch. performance.now(), which timing comes from, is left alone.

   Time: Date begins at a fixed instant. When a timer ends, as much time has passed as it was set to, and from one
   frame to the next a sixtieth of a second: who debounces, animates or polls by Date goes on as on any day. While the
   network is waited for Date stands still, since that takes another time in each load; but it moves on by a millisecond
   every few questions, so that a script that waits by asking does not wait for ever. What else tells the time of day
   agrees with it: Temporal.Now, Intl.DateTimeFormat without an argument, performance.timeOrigin and .timing,
   document.lastModified, and when a cookie ends that a script sets. Randomness: chance.js; keys: keys.js.

   The harness needs the real time origin: it is performance[Symbol.for('tfo-lab.timeOrigin')]. And it needs performance
   itself, a name that pages may give to something of their own: it is window[Symbol.for('tfo-lab.performance')]. */
const instant = Date.UTC(2013, 2, 15, 12, 0, 0);
const questionsPerMs = 20;
const RealDate = Date;
const {apply, construct} = Reflect;   // pages may have one of their own: Haxe's classes stood in the window
const browsersNow = Date.now;
let questions = 0;
let waitedMs = 0;
let countsWaits = false;
const now = () => {
  countWaits();
  return instant + Math.floor(waitedMs + questions++ / questionsPerMs);
};
const replaceGetter = (prototype, name, make) => {
  const property = prototype && Object.getOwnPropertyDescriptor(prototype, name);
  if (property && property.get)
    Object.defineProperty(prototype, name, {...property, get: make(property.get)});
};

/* What stands for a native function shows itself as that one: Sentry and others look for `function setTimeout() {
   [native code] }`, and take one of a new frame else, whose waits move another Date. */
const natives = new WeakMap();
const standsFor = (native, own) => {
  natives.set(own, native);
  return own;
};
const {toString} = Function.prototype;
Function.prototype.toString = standsFor(toString, new Proxy(toString, {
  apply: (target, self, given) => apply(target, natives.get(self) || self, given),
}));

globalThis.Date = standsFor(RealDate, new Proxy(RealDate, {
  construct: (target, given, made) => construct(target, given.length ? given : [now()], made),
  apply: () => new RealDate(now()).toString(),
}));
/* Its own, so that pages may replace or freeze it as they may the browser's. */
RealDate.now = standsFor(browsersNow, now);
RealDate.prototype.constructor = globalThis.Date;

/* Let what is called at the end of a wait find that the wait is over. The native functions do the waiting, and what
   they throw is left to them. Code that is text, as in many a page of 2013, runs where theirs does. */
const inGlobalScope = eval;
const countWaitsOf = (name, msOf, repeats, owner = globalThis, timed = found => found) => {
  if (!owner[name])
    return;
  owner[name] = standsFor(owner[name], new Proxy(owner[name], {apply(native, self, given) {
    const [wanted, delay, ...more] = given;
    const isText = typeof wanted === 'string' && msOf === delayMs;
    const handler = isText ? () => { inGlobalScope(wanted); } : wanted;
    if (typeof handler !== 'function')
      return apply(native, self, given);
    let depth = timerDepth + 1;
    let endMs = waitedMs + msOf(delay, depth);
    const waited = function (...found) {
      waitedMs = Math.max(waitedMs, endMs);
      endMs += repeats ? msOf(delay, ++depth) : 0;
      timerDepth = msOf === delayMs ? depth : 0;
      lastFrameMs = msOf === untilFrameMs ? waitedMs : lastFrameMs;
      try {
        return apply(handler, this, timed(found));
      } finally {
        forgetDepth();
      }
    };
    return apply(native, self, [waited, delay, ...more]);
  }}));
};
/* Frames lie a sixtieth of a second apart, whatever timers end between them. If each were as long after the question
   for it, setTimeout(() => requestAnimationFrame(draw), 1000 / 60) would make Date run twice as fast as time. */
const frameMs = 1000 / 60;
let lastFrameMs = 0;
const untilFrameMs = () => Math.max(0, lastFrameMs + frameMs - waitedMs);
/* As the browser reads it: Infinity is no wait at all, and of timers that set each other the fifth and all later ones
   wait for 4 ms at least (HTML, section 8.6; Chromium's dom_timer.cc). */
const delayMs = (delay, depth) => Math.max(depth < 5 ? 0 : 4, delay | 0);
let timerDepth = 0;
/* What a timer's end resolves may set the next timer, at the end of a chain of promises, too: `await sleep(0)` of an
   async function that waits itself is two of them. The browser forgets the depth behind the last one. This is done
   for each timer: by `await`, which stays in V8, where each queueMicrotask leads through Blink. */
const longestChain = 32;
const forgetDepth = async () => {
  for (let left = longestChain; timerDepth && left; left--)
    await undefined;
  timerDepth = 0;
};
/* A worker that has not begun has no timers yet: there the first question comes early enough, or the first timer that
   it sets, which may ask later. */
const countWaits = () => {
  if (countsWaits)
    return;
  countsWaits = true;
  for (const name of ['setTimeout', 'setInterval'])
    if ((Object.getOwnPropertyDescriptor(globalThis, name) || {}).get)
      delete globalThis[name];
  countWaitsOf('setTimeout', delayMs, false);
  countWaitsOf('setInterval', delayMs, true);
  countWaitsOf('requestAnimationFrame', untilFrameMs, false);
  /* First asked for by jQuery 1.6 and others. It tells its callbacks the time of day, as Date does. */
  countWaitsOf('webkitRequestAnimationFrame', untilFrameMs, false, globalThis, () => [now()]);
  if (globalThis.Scheduler)
    countWaitsOf('postTask', options => Number(options && options.delay) || 0, false, Scheduler.prototype);
};
if (globalThis.document)
  countWaits();
const withFirst = name => Object.defineProperty(globalThis, name, {configurable: true, enumerable: true,
  get() {
    countWaits();
    return globalThis[name];
  },
  set(value) {
    Object.defineProperty(globalThis, name, {value, configurable: true, enumerable: true, writable: true});
  }});
for (const name of ['setTimeout', 'setInterval'])
  if (!(name in globalThis))
    withFirst(name);

const formats = new WeakMap();      // the same function each time it is asked for, as ECMA-402 has it
const orNow = date => (date === undefined ? now() : date);
replaceGetter(Intl.DateTimeFormat.prototype, 'format', get => function () {
  const real = get.call(this);
  if (!formats.has(this))
    formats.set(this, date => real(orNow(date)));
  return formats.get(this);
});
const {formatToParts} = Intl.DateTimeFormat.prototype;
Intl.DateTimeFormat.prototype.formatToParts = {formatToParts(date) {
  return formatToParts.call(this, orNow(date));
}}.formatToParts;

if (globalThis.Temporal) {
  const {Now, Instant} = Temporal;
  const zone = Now.timeZoneId.bind(Now);
  const fromEpoch = Instant.fromEpochMilliseconds.bind(Instant);
  const zoned = (where = zone()) => fromEpoch(now()).toZonedDateTimeISO(where);
  Now.instant = () => fromEpoch(now());
  Now.zonedDateTimeISO = zoned;
  Now.plainDateTimeISO = where => zoned(where).toPlainDateTime();
  Now.plainDateISO = where => zoned(where).toPlainDate();
  Now.plainTimeISO = where => zoned(where).toPlainTime();
}

if (globalThis.document) {
  Object.defineProperty(performance, Symbol.for('tfo-lab.timeOrigin'), {value: performance.timeOrigin});
  Object.defineProperty(globalThis, Symbol.for('tfo-lab.performance'), {value: performance});
}
replaceGetter(globalThis.Performance && Performance.prototype, 'timeOrigin', () => () => instant);
/* All times of the old clock are moved by as much, but for 0: not yet. The native toJSON asks no getter. */
if (globalThis.PerformanceTiming) {
  const {prototype} = PerformanceTiming;
  const names = Object.keys(prototype).filter(name => name !== 'toJSON');
  const began = Object.getOwnPropertyDescriptor(prototype, 'navigationStart').get;
  for (const name of names)
    replaceGetter(prototype, name, get => function () {
      const time = get.call(this);
      return time && instant + time - began.call(this);
    });
  prototype.toJSON = {toJSON() {
    return Object.fromEntries(names.map(name => [name, this[name]]));
  }}.toJSON;
}
if (globalThis.Performance) {
  const {toJSON} = Performance.prototype;
  Performance.prototype.toJSON = {toJSON() {
    const found = {...toJSON.call(this), timeOrigin: instant};
    return found.timing ? {...found, timing: this.timing.toJSON()} : found;
  }}.toJSON;
}
const two = number => String(number).padStart(2, '0');
const date = new RealDate(instant);
const modified = `${two(date.getMonth() + 1)}/${two(date.getDate())}/${date.getFullYear()} ` +
                 `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
replaceGetter(globalThis.Document && Document.prototype, 'lastModified', () => () => modified);

/* A cookie ends by the browser's clock, which is another: it is told how long the cookie lasts. What is no date for a
   cookie (RFC 6265, section 5.1.1) is left as it is. */
const isCookieDate = /[a-z]{3}.*\d:\d+:\d|\d:\d+:\d.*[a-z]{3}/i;
const lasting = cookie => cookie.replace(/;\s*expires\s*=([^;]*)/gi, (said, end) => {
  const seconds = Math.round((RealDate.parse(end) - instant - waitedMs) / 1000);
  return isNaN(seconds) || !isCookieDate.test(end) ? said : `; max-age=${Math.max(0, seconds)}`;
});
const cookie = globalThis.Document && Object.getOwnPropertyDescriptor(Document.prototype, 'cookie');
if (cookie && cookie.set)
  Object.defineProperty(Document.prototype, 'cookie', {...cookie, set: {cookie(text) {
    cookie.set.call(this, /max-age/i.test(text) ? text : lasting(String(text)));
  }}.cookie});
/* The other way to set a cookie, in service workers, too, takes its end as a time of the browser's clock in ms. */
if (globalThis.CookieStore) {
  const {set} = CookieStore.prototype;
  CookieStore.prototype.set = {set(cookie, ...more) {
    const end = cookie && cookie.expires;
    const lastingAsLong = end === undefined || end === null ? cookie :
      Object.create(cookie, {expires: {value: Number(end) - instant - waitedMs + browsersNow()}});
    return apply(set, this, arguments.length ? [lastingAsLong, ...more] : []);
  }}.set;
}
