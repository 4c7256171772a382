"""The addresses of the page, behind its guard."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tametail.errors import TametailError
from tametail.page.folder import Folder
from tametail.page.guard import Guard
from tametail.page.jobs import JobStore
from tametail.page.views import Views, static_file
from tametail.report.document import stylesheet


def make_app(
    folder: Folder, token: str, port: int, ledger: str | None = None, store: JobStore | None = None
) -> Guard:
    """Return the page over a folder, for 127.0.0.1 and this port, behind this token."""
    views = Views.over(folder, token, ledger, store)
    post = ["POST"]
    routes = [
        ("/", views.plan, None),
        ("/outcome", views.outcome, None),
        ("/open", views.open, None),
        ("/release", views.form, None),
        ("/confirm", views.confirm, post),
        ("/begin", views.begin, post),
        ("/releases", views.releases, None),
        ("/releases/{name}", views.result, None),
        ("/releases/{name}/progress", views.progress, None),
        ("/releases/{name}/release.{kind}", views.take, None),
        ("/ledger", views.ledgers, None),
        ("/ledger/do", views.ledger_action, post),
        ("/style.css", _style, None),
        ("/page.js", _script, None),
        ("/icon.svg", _icon, None),
    ]
    app = Starlette(
        routes=[
            Route(f"/{token}{path}", view, methods=methods or ["GET"])
            for path, view, methods in routes
        ],
        exception_handlers={
            404: views.unknown,
            405: views.unknown,
            TametailError: views.refused,
            Exception: views.failed,
        },
    )
    return Guard(app, token, port)


def _style(request: Request) -> Response:  # noqa: ARG001 - Starlette's form
    own = static_file("page.css").read_text(encoding="utf-8")
    return Response(f"{stylesheet()}\n{own}", media_type="text/css; charset=utf-8")


def _icon(request: Request) -> Response:  # noqa: ARG001 - Starlette's form
    return Response(static_file("icon.svg").read_bytes(), media_type="image/svg+xml")


def _script(request: Request) -> Response:  # noqa: ARG001 - Starlette's form
    text = static_file("page.js").read_text(encoding="utf-8")
    return Response(text, media_type="text/javascript; charset=utf-8")
