"""What scripts draw, and the keys they make, in Chrome: the same in each load, in whatever order scripts come.

In workers of every kind, too, which see the same time besides.
"""

from typing import Any

import pytest

from tests.support.answering import serving
from tests.support.own_chrome import asked

pytestmark = pytest.mark.chrome

Answers = dict[str, list[Any]]
Loads = list[dict[str, Any]]
"""What one Chrome said, by what it was asked; what each kind of worker found in each of two Chromes."""
WAYS = {
    "at once": "done(Math.random())",
    "by the browser's own functions": "done(Array.from({length: 3}, Math.random).join())",
    "in code that is text": "done(eval('Math.random()') + (new Function('return Math.random()'))())",
    "in a timer": "setTimeout(() => done(Math.random()))",
    "behind a promise": "fetch('/empty').then(answer => answer.text()).then(() => done(crypto.randomUUID()))",
    "in an async function": "(async () => { await fetch('/empty'); done(nanoid()); })()",
    "many in one turn": "setTimeout(() => { for (let i = 0; i < 5000; i++) Math.random(); done(Math.random()); })",
    "many in many turns": """(async () => {
        for (let i = 0; i < 300; i++) { await undefined; Math.random(); }
        done(Math.random()); })()""",
}
"""How a script draws something, and says what it was."""
SCRIPT = """(() => {
  const nanoid = () => [...crypto.getRandomValues(new Uint8Array(21))].map(byte => byte & 63).join();
  const done = found => { drawn.NAME = String(found); left--; };
  WAY
})();"""
PAGE = """<!doctype html><link rel=icon href=data:,><script>
const drawn = {};
let left = 2;
const add = name => new Promise(resolve => document.head.append(Object.assign(document.createElement('script'),
  {src: `/${name}.js?WAY&t=${Math.floor(performance[Symbol.for('tfo-lab.timeOrigin')])}`, onload: resolve})));
(async () => { for (const name of 'ORDER') await add(name); })();
</script>"""
DRAWN = "async () => { while (left) await new Promise(go => setTimeout(go, 10)); return drawn; }"
EMPTY = "<!doctype html><link rel=icon href=data:,>"


def answer(path: str) -> tuple[str, str]:
    """Answer /?WAY&ORDER with a page, /NAME.js?WAY with a script that draws in that way."""
    name, _, query = path[1:].partition("?")
    if name.endswith(".js"):
        way = list(WAYS.values())[int(query.partition("&")[0])]
        return "text/javascript", SCRIPT.replace("NAME", name[:-3]).replace("WAY", way)
    way, _, order = query.partition("&")
    return "text/html", PAGE.replace("WAY", way).replace("ORDER", order) if order else EMPTY


LOOKUPS = """async () => {
  let lookups = 0, kept = () => '';
  Object.defineProperty(Error, 'prepareStackTrace', {configurable: true, get: () => kept,
    set: value => { lookups += value !== kept; kept = value; }});
  const began = performance.now();
  for (let i = 0; i < 1e6; i++) Math.random();
  const inOneTurn = [lookups, performance.now() - began];
  for (let i = 0; i < 20000; i++) { await undefined; Math.random(); }
  return [...inOneTurn, lookups];
}"""


KEYS = """async () => {
  const made = [];
  const subtle = crypto.subtle;
  const usual = {publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256'};
  const text = new Uint8Array([1, 2, 3]);
  const ALGORITHMS = [
    [{name: 'ECDSA', namedCurve: 'P-256'}, ['sign', 'verify']],
    [{name: 'ECDSA', namedCurve: 'P-384'}, ['sign', 'verify']],
    [{name: 'ECDSA', namedCurve: 'P-521'}, ['sign', 'verify']],
    [{name: 'ECDH', namedCurve: 'P-256'}, ['deriveBits']],
    [{name: 'ECDH', namedCurve: 'P-384'}, ['deriveBits']],
    [{name: 'ECDH', namedCurve: 'P-521'}, ['deriveBits']],
    [{name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, ...usual}, ['sign', 'verify']],
    [{name: 'RSA-PSS', modulusLength: 1024, ...usual}, ['sign']],
    [{name: 'RSA-OAEP', modulusLength: 1024, ...usual}, ['encrypt', 'decrypt']],
    [{name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, ...usual}, ['sign', 'verify']],
    [{name: 'RSA-PSS', modulusLength: 2048, ...usual}, ['sign']],
    [{name: 'RSA-OAEP', modulusLength: 2048, ...usual}, ['encrypt', 'decrypt']],
    [{name: 'RSASSA-PKCS1-v1_5', modulusLength: 3072, ...usual}, ['sign', 'verify']],
    [{name: 'RSA-PSS', modulusLength: 3072, ...usual}, ['sign']],
    [{name: 'RSA-OAEP', modulusLength: 3072, ...usual}, ['encrypt', 'decrypt']],
    [{name: 'RSASSA-PKCS1-v1_5', modulusLength: 4096, ...usual}, ['sign', 'verify']],
    [{name: 'RSA-PSS', modulusLength: 4096, ...usual}, ['sign']],
    [{name: 'RSA-OAEP', modulusLength: 4096, ...usual}, ['encrypt', 'decrypt']],
    [{name: 'rsa-oaep', modulusLength: 2048, publicExponent: new Uint8Array([3]), hash: 'SHA-1'}, ['decrypt']],
    ['Ed25519', ['sign', 'verify']],
    [{name: 'X25519'}, ['deriveKey']],
    [{name: 'AES-GCM', length: 128}, ['encrypt']],
    [{name: 'AES-CBC', length: 128}, ['decrypt']],
    [{name: 'AES-CTR', length: 128}, ['encrypt']],
    [{name: 'AES-KW', length: 128}, ['wrapKey']],
    [{name: 'AES-GCM', length: 256}, ['encrypt']],
    [{name: 'AES-CBC', length: 256}, ['decrypt']],
    [{name: 'AES-CTR', length: 256}, ['encrypt']],
    [{name: 'AES-KW', length: 256}, ['wrapKey']],
    [{name: 'HMAC', hash: 'SHA-384'}, ['sign']],
    [{name: 'HMAC', hash: 'SHA-1', length: 77}, ['verify']]];
  for (const [algorithm, usages] of ALGORITHMS) {
    const key = await subtle.generateKey(algorithm, true, usages);
    const parts = key.type ? [key] : [key.publicKey, key.privateKey];
    const used = parts.map(part => [part.type, part.extractable, ...part.usages]);
    let works = true;
    if (usages.includes('sign') && usages.includes('verify') && !key.type) {
      const how = {name: parts[0].algorithm.name, hash: 'SHA-256'};
      works = await subtle.verify(how, key.publicKey, await subtle.sign(how, key.privateKey, text), text);
    }
    if (usages.includes('encrypt') && usages.includes('decrypt')) {
      const how = {name: parts[0].algorithm.name};
      works = new Uint8Array(await subtle.decrypt(how, key.privateKey,
        await subtle.encrypt(how, key.publicKey, text)))[2] === 3;
    }
    const hidden = await subtle.generateKey(algorithm, false, usages);
    made.push({algorithm, usages, exported: await Promise.all(parts.map(part => subtle.exportKey('jwk', part))), used,
               works, size: parts[0].algorithm.modulusLength, wanted: algorithm.modulusLength,
               hidden: (hidden.privateKey || hidden).extractable});
  }
  return made;
}"""
REFUSED = """async () => Promise.all([
  [{name: 'ECDSA', namedCurve: 'P-256'}, true, []], [{name: 'ECDSA', namedCurve: 'P-999'}, true, ['sign']],
  [{name: 'AES-GCM', length: 7}, true, ['encrypt']], [{name: 'AES-GCM'}]
].map(given => crypto.subtle.generateKey(...given).then(() => '', problem => problem.name)))"""
IN_WORKER = """() => new Promise(resolve => {
  const code = `crypto.subtle.generateKey('Ed25519', true, ['sign']).then(({publicKey}) =>
    crypto.subtle.exportKey('jwk', publicKey)).then(key => postMessage(key.x), problem => postMessage('' + problem))`;
  new Worker(URL.createObjectURL(new Blob([code]))).onmessage = message => resolve(message.data);
})"""


@pytest.fixture(scope="module")
def answers() -> Answers:
    """Return what one Chrome said: what scripts drew, a page's keys in two loads, what else is asked below."""
    with serving(answer) as web:
        *drawn, one, two, refused, in_worker, lookups = asked(
            *((f"{web}/?{way}&{order}", DRAWN) for way in range(len(WAYS)) for order in ("ab", "ab", "ba")),
            *((f"{web}/empty", script) for script in (KEYS, KEYS, REFUSED, IN_WORKER, LOOKUPS)))
    return {"drawn": drawn, "keys": [one, two], "refused": refused, "in worker": in_worker, "lookups": lookups}


@pytest.mark.parametrize("way", WAYS)
def test_a_script_draws_the_same_whatever_ran_before_it(way: str, answers: Answers) -> None:
    place = 3 * [*WAYS].index(way)
    first, again, other_order = answers["drawn"][place:place + 3]
    assert first == again == other_order
    assert first["a"] != first["b"]


def test_who_draws_is_not_looked_up_for_ever(answers: Answers) -> None:
    in_one_turn, ms, in_many = answers["lookups"]
    print(f"a million numbers in {ms:.0f} ms")
    assert 0 < in_one_turn <= 2 * 8
    assert 8 * in_one_turn < in_many <= 2 * 10_000


def test_a_key_is_the_same_in_each_load_and_works_also_in_workers(answers: Answers) -> None:
    first, second = answers["keys"]
    assert first == second
    assert isinstance(first, list), first
    assert len(first) == 31
    for key in first:
        assert (key["works"], key["hidden"]) == (True, False), key
        assert key.get("size") == key.get("wanted"), key
        assert {usage for used in key["used"] for usage in used[2:]} == {*key["usages"]}, key
        assert all(used[1] for used in key["used"]), key
    secret = {exported.get("d") or exported.get("k") for key in first for exported in key["exported"]} - {None}
    assert len(secret) >= 13, "another one for each algorithm and size"
    assert answers["in worker"] in [key["exported"][0]["x"] for key in first if key["algorithm"] == "Ed25519"]


def test_what_the_browser_refuses_is_refused(answers: Answers) -> None:
    assert answers["refused"] == ["SyntaxError", "NotSupportedError", "OperationError", "TypeError"]


INSTANT_MS = 1_363_348_800_000
KINDS = {"dedicated", "nested", "module", "blob", "shared", "service"}
PROBE = """{now: Date.now(), origin: performance.timeOrigin, random: Math.random(), uuid: crypto.randomUUID(),
  values: Array.from(crypto.getRandomValues(new Uint16Array(4))), year: new Date().getFullYear()}"""
WORKERS = f"""<!doctype html><link rel=icon href=data:,><script>
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
    "/": WORKERS, "/dedicated.js": f"postMessage({PROBE})", "/module.js": f"postMessage({PROBE})",
    "/outer.js": "new Worker('/dedicated.js').onmessage = (event) => postMessage(event.data)",
    "/shared.js": f"const found = {PROBE}; onconnect = (event) => event.ports[0].postMessage(found)",
    "/service.js": f"const found = {PROBE}; oninstall = skipWaiting; onmessage = (event) => "
                   "event.source.postMessage(found)"}
SEEN = f"""async () => {{
  while (Object.keys(found).length < {len(KINDS)}) await new Promise(go => setTimeout(go, 20));
  return found;
}}"""


@pytest.fixture(scope="module")
def loads() -> Loads:
    """Return what each kind of worker found in each of two Chromes."""
    with serving(lambda path: ("text/html" if path == "/" else "text/javascript", FILES.get(path, ""))) as web:
        return [asked((f"{web}/", SEEN))[0] for _ in range(2)]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_load_sees_the_same_time_and_randomness(loads: Loads, kind: str) -> None:
    first, second = (load[kind] for load in loads)
    assert (first["now"], first["origin"], first["year"]) == (INSTANT_MS, INSTANT_MS, 2013)
    assert first == second


def test_workers_have_numbers_of_their_own(loads: Loads) -> None:
    own = [loads[0][kind] for kind in ("dedicated", "module", "shared", "service")]
    for drawn in ("random", "uuid"):
        assert len({found[drawn] for found in own}) == len(own)
    assert loads[0]["nested"]["uuid"] == loads[0]["dedicated"]["uuid"], "the same script's"
