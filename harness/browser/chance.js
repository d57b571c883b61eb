/* Randomness: Math.random and crypto's have one stream of numbers for each script, seeded by its URL and its frame's.
   Scripts arrive in another order in each load; with one stream for all, none of them would get the same numbers. */

/* FNV-1a, then xorshift32, whose state must not be 0. */
const seed = text => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0 || 0x2013;
};
/* Looked up late: a worker that has not begun has no location, and to ask for it ends Chrome's renderer. The URL of a
   blob is made of randomness that is not ours. */
let frame;
const frameUrl = () => (!globalThis.location ? '' : location.protocol === 'blob:' ? `blob of ${location.origin}` :
  location.origin + location.pathname);
const streams = new Map();
const begin = text => {
  let state = seed(text);
  for (let i = 0; i < 8; i++)             // seeds that differ little: let them part
    state = xorshift(state);
  return state;
};
const step = url => {
  let state = streams.get(url);
  if (state === undefined) {
    frame ??= frameUrl();
    state = begin(`${frame} ${url}`);
  }
  state = xorshift(state);
  streams.set(url, state);
  return state >>> 0;
};
const xorshift = state => {
  state ^= state << 13;
  state ^= state >>> 17;
  return state ^ (state << 5);
};

/* The script that called the function `called`, by V8's stack trace API: the first one with a name that stands below it.
   Code that `eval` made, and the browser's own functions (Array.from({length: 9}, Math.random)), have none. */
const framesLookedAt = 4;
const nameOf = (_error, sites) => {
  for (let i = 0; i < sites.length; i++)
    if (sites[i].getScriptNameOrSourceURL())
      return sites[i].getScriptNameOrSourceURL();
  return sites.length ? sites[0].getEvalOrigin() : '';
};
const V8sError = Error;   // pages may have one of their own: zone.js's lets nobody delete its prepareStackTrace
const {captureStackTrace} = V8sError;
const lookUp = called => {
  const limit = V8sError.stackTraceLimit;
  const prepare = V8sError.prepareStackTrace;
  const holder = {};
  try {
    V8sError.stackTraceLimit = framesLookedAt;
    V8sError.prepareStackTrace = nameOf;
    captureStackTrace(holder, called);
    return withoutNoise(String(holder.stack || ''));
  } catch (problem) {
    return '';
  } finally {
    V8sError.stackTraceLimit = limit;
    if (prepare === undefined)
      delete V8sError.prepareStackTrace;
    else
      V8sError.prepareStackTrace = prepare;
  }
};
/* A blob's URL is made of randomness that is not ours; a query has the time in it, or a number that was drawn. */
const withoutNoise = url => url.replace(/^blob:.*/, 'blob').replace(/[?].*/, query =>
  query.replace(/\b[\da-f-]{16,}\b|\d{8,}|\d+\.\d{4,}/gi, '*'));

/* A lookup takes 10 us, and ten times as much deep in a stack. So of what is drawn in one turn (until the browser comes
   to its microtasks) only the first numbers are looked up: what follows is the last one's. How many these are depends
   on how many lookups there were in this frame; they take a tenth of a second at most. */
const lookupsInTurn = () => (lookups < 1024 ? 8 : lookups < 8192 ? 1 : 0);
let lookups = 0;
let leftInTurn = 0;
let inTurn = false;
let caller = '';
const endTurn = async () => {
  await undefined;
  inTurn = false;
};
const callerOf = called => {
  if (!inTurn) {
    inTurn = true;
    leftInTurn = lookupsInTurn();
    caller = leftInTurn ? caller : 'whoever asks often';
    endTurn();
  }
  if (leftInTurn) {
    leftInTurn--;
    lookups++;
    caller = lookUp(called);
  }
  return caller;
};

const random = () => step(callerOf(random)) / 0x100000000;
Math.random = standsFor(Math.random, random);

if (globalThis.Crypto) {
  const {getRandomValues, randomUUID} = Crypto.prototype;
  const fill = (bytes, url) => {
    for (let i = 0; i < bytes.length; i++)
      bytes[i] = step(url) >>> 24;
    return bytes;
  };
  const values = {getRandomValues(array) {
    getRandomValues.call(this, array);    // throws what it throws: too long, no integers
    fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), `crypto ${callerOf(values)}`);
    return array;
  }}.getRandomValues;
  Crypto.prototype.getRandomValues = standsFor(getRandomValues, values);
  const uuid = {randomUUID() {
    const bytes = fill(new Uint8Array(16), `crypto ${callerOf(uuid)}`);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;  // version 4, RFC 9562
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = '';
    for (const byte of bytes)             // not Array.from, which Prototype.js and MooTools replace by another
      hex += byte.toString(16).padStart(2, '0');
    return hex.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
  }}.randomUUID;
  if (randomUUID)                         // only secure contexts have it
    Crypto.prototype.randomUUID = standsFor(randomUUID, uuid);
}
