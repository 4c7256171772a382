"""Who may call the page: this machine's own browser, at the address that was printed.

The page listens on 127.0.0.1, so no other machine reaches it. Other sites that are open in the same
browser could still send requests, and other programs of this machine could too. So

* every path begins with a random token; without it there is nothing (404). It is in the path and
  not in a cookie: a browser sends cookies for 127.0.0.1 to every port, and with every request that
  another site makes it send;
* ``Host`` must be the address itself, so that a foreign name that was made to point to 127.0.0.1
  (DNS rebinding) gets nothing;
* ``Origin``, where a browser sends it, must be the page's own, and a request that changes
  something must have it (CSRF); ``Sec-Fetch-Site`` must not say that another site asks;
* a body is a short form. There are no uploads;
* the answer allows no script, frame, form or picture from elsewhere, is not kept, and sends no
  address on;
* what fails inside is answered with a fixed text: an exception may quote records.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

FORM = "application/x-www-form-urlencoded"

#: A form is a few fields; a list of keys is the longest of them.
MOST_BYTES = 1 << 18

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # stricter, and a browser's own forms would name no origin
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}

FAILED = (
    "Internal error. If a release was running, its budget is spent. Please report how to reproduce "
    "it."
)


def new_token() -> str:
    """Return a token that nobody guesses: 256 bits."""
    return secrets.token_urlsafe(32)


class Guard:
    """Lets requests through to the app if they are the page's own, and watches what comes back."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._host = f"127.0.0.1:{port}"

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # nothing else is spoken here
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _answer(send, *refused)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = _hardened(message["headers"])
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:  # answered already, or here; never told to the server, which would log it
            if not started:
                await _answer(send, 500, FAILED)

    def _refusal(self, scope: MutableMapping[str, Any]) -> tuple[int, str] | None:
        """Return status and words if the request is not the page's own."""
        headers = _headers(scope)
        if headers.get("host") != self._host:
            return 421, "Unknown address."
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin not in (None, f"http://{self._host}") or site not in ("none", "same-origin"):
            return 403, "Request from another site refused. No budget was spent."
        first = scope["path"].split("/")[1] if "/" in scope["path"] else ""
        if not secrets.compare_digest(first.encode(), self._token.encode()):
            return 404, "Page not found."
        return _refused_method(scope["method"], origin, headers)


def _refused_method(
    method: str, origin: str | None, headers: dict[str, str]
) -> tuple[int, str] | None:
    """Return status and words for a method, or a body, that is not taken."""
    if method in ("GET", "HEAD"):
        return None
    if method != "POST":
        return 405, "Method not allowed."
    if origin is None:
        return 403, "Request without an origin refused. No budget was spent."
    if headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return 415, "Only forms are accepted."
    size = headers.get("content-length", "")
    if not size.isdecimal() or int(size) > MOST_BYTES:
        return 413, "The form is too long."
    return None


def _headers(scope: MutableMapping[str, Any]) -> dict[str, str]:
    """Return the headers; one that comes twice is joined, and so equals nothing allowed."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _hardened(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    return [pair for pair in headers if pair[0].decode("latin-1").lower() not in HEADERS] + own


async def _answer(send: Send, status: int, words: str) -> None:
    headers = _hardened([(b"content-type", b"text/plain; charset=utf-8")])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": words.encode()})
