"""A video in ranges: a player that jumps to its middle, a script that fetches two ranges, and one that takes half."""

import struct

from tests.corpus.pages.site import Asked, page

SIZE = 6_000_000
CLIP = b"RIFF" + struct.pack("<I4s4sIHHIIHH4sI", SIZE - 8, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data",
                             SIZE - 44) + b"\x80" * (SIZE - 44)
BODY = """<video id=clip muted preload=metadata src=/clip.wav></video><script>
const ranged = (range) => fetch('/clip.wav?fetched', {headers: {Range: range}}).then((answer) => answer.arrayBuffer());
clip.onloadedmetadata = () => { clip.currentTime = 500; };
clip.onseeked = async () => {
  await ranged('bytes=0-99999'); await ranged('bytes=5900000-');
  const cut = new AbortController(), part = await fetch('/clip.wav?cut', {signal: cut.signal});
  await part.body.getReader().read(); cut.abort(); document.title = 'done'; };</script>"""


def answer(asked: Asked) -> None:
    """Answer the page, or the part of the clip that is asked for."""
    if asked.path == "/":
        asked.answer(page("video", BODY))
        return
    wanted = asked.headers.get("Range", "bytes=0-").removeprefix("bytes=")
    first, _, last = wanted.partition("-")
    begin, end = int(first), int(last or SIZE - 1)
    asked.send_response(206)
    asked.send_header("Content-Type", "audio/wav")
    asked.send_header("Content-Range", f"bytes {begin}-{end}/{SIZE}")
    asked.send_header("Content-Length", str(end + 1 - begin))
    asked.send_header("Accept-Ranges", "bytes")
    asked.end_headers()
    try:
        asked.wfile.write(CLIP[begin:end + 1])
    except OSError:
        asked.close_connection = True


HOSTS = {"http://video.example": answer}
