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
KNOWN = re.compile(r"iso8859-\d+|cp125\d|cp866|cp874|cp932|cp949|koi8-[ru]|euc_jp|iso2022_jp|gb18030|big5hkscs|"
                   "utf-16-[lb]e")


def encode_text(text: str, content_type: str) -> bytes:
    """Return `text` in the charset that its Content-Type or, without one there, a page's <meta> names, where it is one
    of the Web's and has all of its characters; else in UTF-8.
    """
    named = CHARSET.search(content_type)
    if named is None and "html" in content_type.lower():
        named = IN_PAGE.search(text[:LOOKED_AT])
    try:
        encoding = codecs.lookup(named[1]).name if named else "utf-8"
        encoding = AS_BROWSERS_READ.get(encoding, encoding)
        if KNOWN.fullmatch(encoding):
            encoded = text.encode(encoding)
            if encoded.decode(encoding) == text:
                return encoded
    except (LookupError, ValueError):
        pass
    return text.encode("utf-8", "surrogatepass")
