"""A document in two pieces, 300 ms apart; its script opens a WebSocket, says three things and gets them back."""

from contextlib import suppress

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Request, TextMessage
from wsproto.extensions import PerMessageDeflate

from tests.corpus.pages.site import Asked, page

SCRIPT = """<script>const live = new WebSocket('wss://live.example/echo?x=1'); let heard = 0;
live.onopen = () => { live.send('hello'); live.send(new Uint8Array([0, 1, 2])); live.send('x'.repeat(2000)); };
live.onmessage = () => { if (++heard == 4) live.close(1000); };
live.onclose = () => { new WebSocket('wss://live.example/refused').onerror = () => { document.title = 'done'; }; };
</script>"""


def answer(asked: Asked) -> None:
    """Answer the document, or speak as a WebSocket."""
    if "Upgrade" not in asked.headers:
        asked.pieces([(0.0, page("websocket", "")), (0.3, SCRIPT)])
    elif asked.path == "/refused":
        asked.answer("no", status=403)
    else:
        asked.close_connection = True
        with suppress(OSError):
            _echo(asked)


def _echo(asked: Asked) -> None:
    """Greet, and send back every message until the page closes."""
    connection = WSConnection(ConnectionType.SERVER)
    head = "".join(f"{name}: {value}\r\n" for name, value in asked.headers.items())
    connection.receive_data(f"GET {asked.path} HTTP/1.1\r\n{head}\r\n".encode())
    while True:
        for event in connection.events():
            if isinstance(event, Request):
                accepted = AcceptConnection(extensions=[PerMessageDeflate()])
                asked.wfile.write(connection.send(accepted) + connection.send(TextMessage("welcome")))
            elif isinstance(event, CloseConnection):
                asked.wfile.write(connection.send(event.response()))
                return
            elif isinstance(event, TextMessage):
                asked.wfile.write(connection.send(TextMessage(event.data)))
            elif isinstance(event, BytesMessage):
                asked.wfile.write(connection.send(BytesMessage(event.data)))
        connection.receive_data(asked.connection.recv(65536))


HOSTS = {"https://live.example": answer}
