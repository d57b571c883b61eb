"""Texts as the bytes that crossed the network: HARs have them decoded, browsers decode what they get once more."""

import codecs
import re

CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s;"'>/]+)""", re.IGNORECASE)
IN_PAGE = re.compile(rf"<meta\s[^>]*?{CHARSET.pattern}", re.IGNORECASE)
LOOKED_AT = 1024
"""Characters of a page in which its <meta> counts (HTML, section 4.2.5.4)."""
AS_BROWSERS_READ = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874",
                    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949",
                    "big5": "big5hkscs", "utf-16": "utf-16-le"}
"""Python's encoding for a charset -> the one that browsers mean by it (https://encoding.spec.whatwg.org/)."""
OF_NO_CHARSET = "windows-1252"
"""What browsers of Western languages read a document in that names no charset (HTML, section 13.2.3.2)."""
KNOWN = re.compile(r"iso8859-\d+|cp125\d|cp866|cp874|cp932|cp949|koi8-[ru]|euc_jp|iso2022_jp|gb18030|big5hkscs|"
                   "utf-16-[lb]e")


def encode_text(text: str, content_type: str, *, size: int = 0, page_charset: str = "") -> bytes:
    """Return `text` in the charset that its Content-Type or, without one there, a page's <meta> names, where it is one
    of the Web's and has all of its characters; else in UTF-8.

    A script or style sheet that names none is read in its page's. It is taken for that if it has `size` bytes in it,
    and has not in UTF-8: what a script asks for itself is read in UTF-8. So is known, too, what began with a byte order
    mark, which browsers leave out of a text.
    """
    named, utf_8 = charset_of(text, content_type), text.encode("utf-8", "surrogatepass")
    in_named = _encoded(text, named)
    if in_named is not None:
        return in_named
    if len(utf_8) + len(codecs.BOM_UTF8) == size:
        return codecs.BOM_UTF8 + utf_8
    if len(utf_8) != size and not named:
        for charset in filter(None, (page_charset, OF_NO_CHARSET if _is_html(content_type) else "")):
            encoded = _encoded(text, charset)
            if encoded is not None and len(encoded) == size:
                return encoded
    return utf_8


def charset_of(text: str, content_type: str) -> str:
    """Return the charset that a Content-Type or a page's <meta> names, "" without one."""
    named = CHARSET.search(content_type)
    if named is None and _is_html(content_type):
        named = IN_PAGE.search(text[:LOOKED_AT])
    return named[1] if named else ""


def _is_html(content_type: str) -> bool:
    return "html" in content_type.lower()


def _encoded(text: str, charset: str) -> bytes | None:
    """Return `text` in a charset other than UTF-8, None if that is none of the Web's or lacks a character of it."""
    try:
        encoding = codecs.lookup(charset).name
        encoding = AS_BROWSERS_READ.get(encoding, encoding)
        if not KNOWN.fullmatch(encoding):
            return None
        encoded = text.encode(encoding)
        return encoded if encoded.decode(encoding) == text else None
    except (LookupError, ValueError):
        return None
