/* Keys: crypto.subtle.generateKey makes the same one in each load for each algorithm and size, since a key's public half
   gets into URLs. The browser makes one, too: that says what it refuses, and what the key may be used for. */

const fixKeys = prototype => {
  const {generateKey, importKey, exportKey} = prototype;
  const bytesOf = (name, count) => {
    const bytes = new Uint8Array(count);
    let state = begin(name);
    for (let i = 0; i < count; i++) {
      state = xorshift(state);
      bytes[i] = state >>> 24;
    }
    return bytes;
  };

  /* A private key as PKCS #8 (RFC 5208), in DER: all of its parts are shorter than 128 bytes. */
  const der = (tag, ...parts) => {
    const content = [].concat(...parts);
    return [tag, content.length, ...content];
  };
  const version = number => der(0x02, [number]);
  const pkcs8 = (identifiers, key) => new Uint8Array(
    der(0x30, version(0), der(0x30, ...identifiers.map(identifier => der(0x06, identifier))), der(0x04, key)));
  const idOfEllipticCurves = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];            // RFC 5480, 2.1.1
  const curves = {                                                                  // and 2.1.1.1; bytes of a number
    'P-256': [[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], 32],
    'P-384': [[0x2b, 0x81, 0x04, 0x00, 0x22], 48],
    'P-521': [[0x2b, 0x81, 0x04, 0x00, 0x23], 66]};
  const ofCurve = curve => {
    const [identifier, count] = curves[curve];
    const number = [...bytesOf(curve, count)];
    number[0] = 0;                                                                  // below the curve's order
    return pkcs8([idOfEllipticCurves, identifier], der(0x30, version(1), der(0x04, number)));   // RFC 5915
  };
  const edwards = {Ed25519: [0x2b, 0x65, 0x70], X25519: [0x2b, 0x65, 0x6e]};         // RFC 8410, 3
  const pkcs8Of = ({name, namedCurve}) =>
    (curves[namedCurve] ? ofCurve(namedCurve) : pkcs8([edwards[name]], der(0x04, [...bytesOf(name, 32)])));

  /* By a key's bits: how far its two primes lie behind the numbers that bytesOf gives. A prime less one has no factor
     in common with 3 and 65537, the exponents that browsers allow. */
  const toPrimes = {1024: [122, 271], 2048: [1152, 58], 3072: [3052, 585], 4096: [6117, 682]};
  const prime = (name, bits, behind) => {
    const bytes = bytesOf(`${name} of RSA ${bits}`, bits / 16);
    bytes[0] |= 0xc0;                                   // the product of two has all its bits
    return numberOf(bytes) + BigInt(behind);
  };
  const numberOf = bytes => {
    let hex = '0x';
    for (const byte of bytes)
      hex += byte.toString(16).padStart(2, '0');
    return BigInt(hex);
  };
  const inBase64Url = number => {
    let [hex, text] = [number.toString(16), ''];
    hex = hex.padStart(hex.length + hex.length % 2, '0');
    for (let i = 0; i < hex.length; i += 2)
      text += String.fromCharCode(parseInt(hex.slice(i, i + 2), 16));
    return btoa(text).replace(/[+]/g, '-').replace(/[/]/g, '_').replace(/=/g, '');
  };
  const inverse = (number, modulus) => {                // by Euclid's algorithm
    let [rest, next, found, other] = [modulus, number % modulus, 0n, 1n];
    while (next) {
      const times = rest / next;
      [rest, next, found, other] = [next, rest - times * next, other, found - times * other];
    }
    return (found + modulus) % modulus;
  };
  const ofRsa = (bits, exponent) => {                   // as a JWK: RFC 7518, 6.3.2
    const [p, q] = [prime('p', bits, toPrimes[bits][0]), prime('q', bits, toPrimes[bits][1])];
    const [e, d] = [numberOf(exponent), inverse(numberOf(exponent), (p - 1n) * (q - 1n))];
    const numbers = {n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p)};
    const key = {kty: 'RSA'};
    for (const name of Object.keys(numbers))
      key[name] = inBase64Url(numbers[name]);
    return key;
  };

  const asJwk = async (subtle, algorithm, usages) => {
    const key = await apply(importKey, subtle, ['pkcs8', pkcs8Of(algorithm), algorithm, true, usages]);
    const {kty, crv, x, y, d} = await apply(exportKey, subtle, ['jwk', key]);
    return {kty, crv, x, y, d};
  };
  const sameKey = async (subtle, made, bits, extractable) => {
    if (made.type === 'secret') {
      const {name, hash, length} = made.algorithm;
      const bytes = bytesOf(`${name} ${hash ? hash.name : ''}`, Math.ceil(length / 8));
      return apply(importKey, subtle, ['raw', bytes, made.algorithm, extractable, made.usages]);
    }
    const {algorithm, usages} = made.privateKey;
    if (!bits && !curves[algorithm.namedCurve] && !edwards[algorithm.name])
      return made;
    const {kty, crv, x, y, n, e, ...secret} = bits ? ofRsa(bits, algorithm.publicExponent) :
      await asJwk(subtle, algorithm, usages);
    const open = bits ? {kty, n, e} : {kty, crv, x, y};
    return {
      publicKey: await apply(importKey, subtle, ['jwk', open, algorithm, true, made.publicKey.usages]),
      privateKey: await apply(importKey, subtle, ['jwk', {...open, ...secret}, algorithm, extractable, usages])};
  };
  /* What the browser makes is thrown away, so a short RSA key does: a long one takes a second now and then. */
  const own = {async generateKey(algorithm, extractable, usages) {
    const bits = algorithm && toPrimes[algorithm.modulusLength] && algorithm.modulusLength;
    const asked = bits ? Object.create(algorithm, {modulusLength: {value: 1024}}) : algorithm;
    const made = await apply(generateKey, this, arguments.length < 3 ? [...arguments] : [asked, extractable, usages]);
    return sameKey(this, made, made.type ? 0 : made.privateKey.algorithm.modulusLength && bits, extractable);
  }}.generateKey;
  prototype.generateKey = standsFor(generateKey, own);
};
/* A worker that has not begun has no SubtleCrypto yet: there it is fixed when it is first asked for. */
if (globalThis.SubtleCrypto)
  fixKeys(SubtleCrypto.prototype);
else {
  let fixed = false;
  replaceGetter(globalThis.Crypto && Crypto.prototype, 'subtle', get => function () {
    const subtle = get.call(this);
    if (!fixed)
      fixKeys(Object.getPrototypeOf(subtle));
    fixed = true;
    return subtle;
  });
}
