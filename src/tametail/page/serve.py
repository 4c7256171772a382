"""Serve the page on 127.0.0.1, and only there, until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from tametail.errors import ParameterError
from tametail.page.app import make_app
from tametail.page.folder import Folder
from tametail.page.guard import new_token
from tametail.page.jobs import JobStore


def serve(
    folder: Folder,
    port: int,
    ledger: str | None,
    ready: Callable[[str], None],
    store: JobStore | None = None,
) -> None:
    """Serve the page over a folder; ``ready`` gets its address once it can be opened.

    Its releases are kept in ``store``, which its owner can look at when the page has ended.
    """
    token = new_token()
    with listening(port) as sock:
        port = sock.getsockname()[1]
        app = make_app(folder, token, port, ledger, store)
        # No log of requests: their paths hold the token. No log of failures: they may hold records.
        config = uvicorn.Config(
            app, log_config=None, access_log=False, log_level="critical", lifespan="off",
            ws="none", http="h11", server_header=False, date_header=False,
            timeout_graceful_shutdown=2,
        )  # fmt: skip
        ready(f"http://127.0.0.1:{port}/{token}/")
        uvicorn.Server(config).run(sockets=[sock])


def listening(port: int) -> socket.socket:
    """Return a socket of this machine alone; port 0 takes one that is free."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
    except (OSError, OverflowError):
        sock.close()
        raise ParameterError(
            f"Port {port} cannot be used. Remove --port to use a free one."
        ) from None
    sock.listen()
    return sock
