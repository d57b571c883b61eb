"""A page that makes a key pair (Web Crypto, as end-to-end encryption, DPoP and bot checks do) and puts its public half
into a path, with which five pictures stand or fall.
"""

import json

from tests.corpus.pages.site import Asked, page, picture

SCRIPT = """
const inUrl = bytes => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/[+]/g, '-').replace(/[/]/g, '_')
  .replace(/=+$/, '');
(async () => {
  const pair = await crypto.subtle.generateKey({name: 'ECDH', namedCurve: 'P-256'}, true, ['deriveBits']);
  const key = inUrl(await crypto.subtle.exportKey('raw', pair.publicKey));
  const pictures = await (await fetch(`/s/${key}/catalog.json`)).json();
  document.getElementById('pictures').innerHTML = pictures.map(url => `<img src="${url}">`).join('');
})();
"""


def answer(asked: Asked) -> None:
    """Answer the page, the catalogue for any key, or a picture."""
    if asked.path == "/":
        asked.answer(page("key", f"<div id=pictures></div><img src=/big.svg><script>{SCRIPT}</script>"))
    elif asked.path.startswith("/s/"):
        asked.answer(json.dumps([f"/{number}.svg" for number in range(5)]), "application/json")
    else:
        asked.answer(picture(100_000), "image/svg+xml")


HOSTS = {"https://key.example": answer}
