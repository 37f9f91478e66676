"""The page without Airflow: for the user of this machine who has the address with its token."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
from dataclasses import dataclass, field

from fastapi import HTTPException, Request
from fastapi.responses import RedirectResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request as PlainRequest
from starlette.types import ASGIApp, Receive, Scope, Send

from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.page.app import create_app
from airflow_refresh_provider.page.ports import Starter, Views, Visitor

HOST = "127.0.0.1"
_QUERY = "token"


@dataclass(frozen=True)
class TokenGate:
    """One user, who has the token: it may see and change everything."""

    token: str = field(default_factory=secrets.token_urlsafe)

    @property
    def cookie_name(self) -> str:
        """One of its own: browsers send the cookies of a machine to all of its ports."""
        return f"refresh_page_{self._digest('name')[:8]}"

    @property
    def cookie(self) -> str:
        """What stands for the token in the browser; the token itself is not kept there."""
        return self._digest("cookie")

    async def visitor(self, request: Request) -> Visitor:
        """Raises HTTPException 401 without the cookie."""
        if not self.knows(request.cookies.get(self.cookie_name, ""), self.cookie):
            raise HTTPException(401, "open the whole address that `airflow-refresh page` has printed")
        return Visitor(name="the user of this machine", token=self._digest("change"))

    def may_read(self, visitor: Visitor) -> bool:
        """Everything."""
        return True

    def may_change(self, visitor: Visitor, name: str) -> bool:
        """Everything."""
        return True

    def knows(self, given: str, right: str) -> bool:
        """Whether a text is the right one, in a time that does not say how much of it is."""
        return hmac.compare_digest(given.encode(), right.encode())

    def _digest(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


class _Entrance:
    """Gives the cookie for the token of an address, and shows the page at its address without it."""

    def __init__(self, app: ASGIApp, gate: TokenGate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = PlainRequest(scope).query_params.get(_QUERY) if scope["type"] == "http" else None
        if given is None or scope["path"] != "/" or not self._gate.knows(given, self._gate.token):
            await self._app(scope, receive, send)
            return
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._gate.cookie_name, self._gate.cookie, httponly=True, samesite="strict")
        await answer(scope, receive, send)


def stand_alone(views: Views, gate: TokenGate, starter: Starter) -> ASGIApp:
    """The application for this machine alone: a name of another one is no name of it (DNS rebinding)."""
    app = create_app(lambda: views, gate, starter)
    app.add_middleware(_Entrance, gate=gate)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False)
    return app


def listening(port: int) -> socket.socket:
    """A socket that only this machine can reach; 0 is any free port. Raises Invalid where the port is taken."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen()  # from now on a browser waits for its answer
    except (OSError, OverflowError) as error:
        made.close()
        raise Invalid(
            "port_taken",
            f"the page cannot be served at port {port}: {getattr(error, 'strerror', None) or error}",
            next="Give another --port.",
        ) from None
    return made


def address(at: socket.socket, gate: TokenGate) -> str:
    """What to open in a browser."""
    return f"http://{HOST}:{at.getsockname()[1]}/?{_QUERY}={gate.token}"
