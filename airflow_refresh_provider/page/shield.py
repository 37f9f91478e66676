"""What holds for every answer: headers that a browser obeys, and requests that are not too large."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 16 * 1024
"""A change is a name and a reason."""

_HEADERS = {
    # Scripts and styles are files of this package alone, so that no text of a user ever runs.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


class Shield:
    """Adds the headers to every answer, and answers 413 to what is too large."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            await PlainTextResponse("the request is too large", 413)(scope, receive, send_shielded)
            return
        await self._app(scope, _limited(receive), send_shielded)


def _limited(receive: Receive) -> Receive:
    """Also of a body whose length is not announced."""
    read = 0

    async def receive_limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > MAX_BODY_BYTES:
            raise HTTPException(413, "the request is too large")
        return message

    return receive_limited
