"""A page behind a sign-in by a form (SAML, OIDC): its first document is another host's, and Chrome asks for the favicon
of that host while it is shown, or does not come to it.
"""

from tests.corpus.pages.site import Asked, picture

FORM = """<!doctype html><title>Working...</title><body onload="document.forms[0].submit()">
<form method=post action=http://sso.example/acs><input type=hidden name=SAMLResponse value=xyz></form>"""
PORTAL = "<!doctype html><title>Portal</title><h1>Portal</h1>" + "".join(
    f"<img src=/p{number}.svg>" for number in range(5))


def sign_in(asked: Asked) -> None:
    """Answer the form that submits itself."""
    if asked.path == "/favicon.ico":
        asked.answer("not found", status=404)
    else:
        asked.answer(FORM)


def portal(asked: Asked) -> None:
    """Answer the portal to those who have signed in, and send others to do so."""
    if asked.path == "/favicon.ico":
        asked.answer("not found", status=404)
    elif asked.path == "/acs":
        asked.answer(status=303, Location="/app", Set_Cookie="sid=1; Path=/")
    elif asked.path.endswith(".svg"):
        asked.answer(picture(20_000), "image/svg+xml")
    elif "sid=1" not in asked.headers.get("Cookie", ""):
        asked.answer(status=302, Location="http://idp.example/auth?SAMLRequest=abc")
    else:
        asked.answer(PORTAL)


HOSTS = {"http://sso.example": portal, "http://idp.example": sign_in}
