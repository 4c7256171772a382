"""The views: what each address shows, and what a form that is sent there does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from tametail.api.running import execute_plan
from tametail.drawing.bars import ledger_bar, steps_bar
from tametail.errors import DataError, ParameterError, TametailError
from tametail.ledger import Ledger, Payment
from tametail.page.downloads import command_line, notebook, python_script
from tametail.page.folder import LEDGER, Folder
from tametail.page.forms import (
    DEFAULTS,
    STATISTICS,
    Form,
    ReleaseForm,
    budget_of,
    parse_of,
    plan_from_form,
    release_from_form,
)
from tametail.page.guard import FAILED
from tametail.page.jobs import Job, JobStore
from tametail.page.messages import for_people
from tametail.page.sources import Source, named_databases
from tametail.pictures.planning import plan_picture
from tametail.planning import Plan
from tametail.privacy.budget import Guarantee, parse_budget
from tametail.release import Release
from tametail.report.document import both, facts, report_text, result_parts
from tametail.report.export import csv_text
from tametail.show.numbers import percent, significant
from tametail.show.plan import predictions
from tametail.show.rows import name_of
from tametail.show.sentences import assumptions, sentence, stored_words, title_of
from tametail.show.warnings import one_per_cause
from tametail.statistic import MEAN

_REFERENCE_SPREAD = 1.3108  # standard deviation over mean of the reference law, sqrt(e - 1)


@dataclass(frozen=True, slots=True)
class Views:
    """All views of one page: over a folder, with a store of jobs, at an address."""

    folder: Folder
    base: str
    ledger: str | None
    """A ledger that was named when the page was started; it may lie anywhere."""
    store: JobStore
    words: Environment

    @classmethod
    def over(
        cls, folder: Folder, token: str, ledger: str | None, store: JobStore | None = None
    ) -> Views:
        """Return the views over a folder."""
        words = Environment(
            loader=PackageLoader("tametail.page"), autoescape=True, trim_blocks=True,
            lstrip_blocks=True,
        )  # fmt: skip
        return cls(folder, f"/{token}", ledger, store or JobStore(), words)

    # Plan

    def plan(self, request: Request) -> Response:
        """Show the controls, and what they lead to."""
        form = Form.read(request.url.query)
        return self._page("plan.html", here="plan", form=form, **self._outcome(form))

    def outcome(self, request: Request) -> Response:
        """Show only what the controls lead to, for the script that moves with them."""
        return self._page("outcome.html", **self._outcome(Form.read(request.url.query)))

    def _outcome(self, form: Form) -> dict[str, object]:
        form = Form({**{name: [value] for name, value in DEFAULTS.items()}, **form.fields})
        try:
            made = plan_from_form(form)
            if made.n is None:
                raise ParameterError("Enter the number of records. An estimate is fine.")
            confidence = made.confidence or 0.95
            shares = made.shares()
            is_mean = made.request.statistic == MEAN
            return {
                "plan": made,
                "figures": None if is_mean else list(_figures(made)),
                "notes": _notes(made),
                "rmse": significant(made.rmse) if isinstance(made.rmse, float) else None,
                "percent": None
                if made.relative_rmse is None
                else 100 * made.relative_rmse * _REFERENCE_SPREAD,
                "half_width": _half_width(made.half_width(confidence)),
                "in_units": made.prediction.in_units,
                "confidence": percent(confidence),
                "pictures": _both(partial(plan_picture, made, made.curve(steps=2)))
                if is_mean
                else "",
                "bar": _both(lambda width: steps_bar([step[:2] for step in shares], width)),
                "steps": shares,
                "carried": urlencode([(k, v) for k, vs in form.fields.items() for v in vs]),
            }
        except TametailError as error:
            return {"plan": None, "problem": for_people(str(error))}

    # Open

    def open(self, request: Request) -> Response:
        """Show what there is in a folder, or the schema of a file."""
        form = Form.read(request.url.query)
        try:
            listing, named = self.folder.listing(form.one("folder")), named_databases()
        except TametailError as error:
            return self._page(
                "open.html", 404, here="open", form=form, problem=for_people(str(error))
            )
        return self._page("open.html", here="open", form=form, listing=listing, named=named)

    # Release

    def form(self, request: Request) -> Response:
        """Show the schema of a file, and what may be asked about it."""
        return self._release_form(Form.read(request.url.query))

    def _release_form(self, form: Form, problem: str | None = None) -> Response:
        parse = None
        try:
            parse = parse_of(form)
        except TametailError as error:
            problem = problem or for_people(str(error))
        try:
            source = Source.of(form, self.folder)
            schema = source.schema(parse)
        except TametailError as error:
            return self._page(
                "open.html", 404, here="open", form=form, problem=for_people(str(error))
            )
        status = 200 if problem is None else 422
        return self._page(
            "release.html", status, here="open", form=form, schema=schema, problem=problem,
            places=self._places(), accounts=self._accounts(), said_how=parse is not None,
            source=source,
        )  # fmt: skip

    async def confirm(self, request: Request) -> Response:
        """Say what will be spent, and ask whether to go on; nothing has been read."""
        form = Form.read((await request.body()).decode("utf-8", "replace"))
        return await run_in_threadpool(self._confirm, form)

    def _confirm(self, form: Form) -> Response:
        try:
            source = Source.of(form, self.folder)
            wanted = replace(release_from_form(form), path=source.shown, table=source.table)
            request, plan, payment = wanted.request, wanted.plan(), self._payment(wanted)
            quote = None
            if payment is not None:
                adjacency = plan.adjacency
                quote = payment.quote(
                    budget=plan.budget, neighbors=adjacency.value, person=adjacency.person,
                    locator=source.locators,
                )  # fmt: skip
        except TametailError as error:
            return self._release_form(form, for_people(str(error)))
        spent = Guarantee.from_budget(plan.budget, plan.adjacency)
        name = self.store.add_pending(
            wanted,
            lambda tell: execute_plan(
                request, source.data, list(wanted.columns), tell, payment, source.table
            ),
        )
        return self._page(
            "confirm.html", here="open", asked=wanted, plan=plan, quote=quote, name=name,
            source=source,
            assumed=Markup(facts(assumptions(plan))),  # noqa: S704 - escaped there
            notes=_notes(plan), spends=spent.short, plan_numbers=spent.numbers,
            carried=urlencode([(k, v) for k, vs in form.fields.items() for v in vs]),
        )  # fmt: skip

    def _payment(self, wanted: ReleaseForm) -> Payment | None:
        place = None if wanted.ledger is None else self._ledger_at(wanted.ledger)
        return Payment.parse(place, wanted.dataset, wanted.release_id)

    async def begin(self, request: Request) -> Response:
        """Begin a release that was confirmed; a second time, show the first."""
        name = Form.read((await request.body()).decode("utf-8", "replace")).one("name")
        job = self.store.start(name) or self.store.jobs.get(name)
        if job is None:
            return self._page(
                "message.html", 409, here="open",
                words="This confirmation has expired. No budget was spent.",
            )  # fmt: skip
        return RedirectResponse(f"{self.base}/releases/{job.name}", status_code=303)

    # Releases, and what is taken away

    def releases(self, request: Request) -> Response:  # noqa: ARG002 - Starlette's form
        """Show all releases since the page was started."""
        lines = [
            (job, "" if job.release is None else title_of(job.release))
            for job in self.store.latest()
        ]
        return self._page("releases.html", here="releases", lines=lines)

    def result(self, request: Request) -> Response:
        """Show a release, or how far it is."""
        job = self._job(request)
        if job is None:
            return self._unknown()
        if job.release is None:
            return self._page("waiting.html", here="releases", job=job)
        release, same = job.release, _same(job)
        form = Form.read(request.url.query)
        compared, problem = _difference(release, form)
        return self._page(
            "result.html", here="releases", job=job, release=release, title=title_of(release),
            parts_of=[Markup(part) for part in result_parts(release, for_people)],  # noqa: S704
            script=python_script(same), command=command_line(same), form=form,
            groups=_comparable(release), compared=compared, problem=problem,
            stored=stored_words(release),
        )  # fmt: skip

    def progress(self, request: Request) -> Response:
        """Say how much of a pass over the files is done, in steps of 5%."""
        job = self._job(request)
        if job is None:
            return self._unknown()
        return JSONResponse({"done": job.done, "part": job.part})

    def take(self, request: Request) -> Response:
        """Return a release as a file of the kind that the address ends in."""
        job = self._job(request)
        kind = request.path_params["kind"]
        if job is None or job.release is None or kind not in _FILES:
            return self._unknown()
        write, media = _FILES[kind]
        name = f"attachment; filename=release.{kind}"
        return Response(
            write(job, job.release), media_type=media, headers={"content-disposition": name}
        )

    def _job(self, request: Request) -> Job | None:
        return self.store.jobs.get(request.path_params["name"])

    # Ledger

    def ledgers(self, request: Request) -> Response:
        """Show what is left and what was charged."""
        return self._ledger_view(Form.read(request.url.query))

    def _ledger_view(
        self, form: Form, problem: str | None = None, words: str | None = None
    ) -> Response:
        place, found, history, head = form.one("place"), [], [], None
        places = self._places()
        place = place or (places[0] if places else "")
        try:
            if place:
                ledger = Ledger(self._ledger_at(place))
                found = [
                    (left, _both(partial(ledger_bar, left.share_spent)))
                    for left in map(ledger.remaining, ledger.datasets())
                ]
                history, head = list(reversed(ledger.history(last=200))), ledger.head
        except TametailError as error:
            problem = problem or for_people(str(error))
        return self._page(
            "ledger.html", 200 if problem is None else 422, here="ledger", form=form, place=place,
            places=places, found=found, history=history, head=head, problem=problem, words=words,
        )  # fmt: skip

    async def ledger_action(self, request: Request) -> Response:
        """Verify a ledger, or create a data set."""
        form = Form.read((await request.body()).decode("utf-8", "replace"))
        return await run_in_threadpool(self._ledger_action, form)

    def _ledger_action(self, form: Form) -> Response:
        words = None
        try:
            if form.one("do") == "verify":
                ledger = Ledger(self._ledger_at(form.one("place")))
                words = f"{ledger.verify(head=form.one('head') or None)}"
            else:
                words = self._create(form)
        except TametailError as error:
            return self._ledger_view(form, problem=for_people(str(error)))
        return self._ledger_view(form, words=words)

    def _create(self, form: Form) -> str:
        place = self._ledger_at(form.one("place"), new=True)
        name, people = form.one("dataset"), form.all("person")
        Ledger(place).create(
            name,
            parse_budget(**budget_of(form)),
            form.one("neighbors") or None,
            tuple(people[0].replace(",", " ").split()) if people else None,
        )
        return f"Created dataset {name}."

    def _places(self) -> list[str]:
        found = list(self.folder.ledgers())
        return found if self.ledger is None else [self.ledger, *found]

    def _accounts(self) -> list[tuple[str, list[str]]]:
        """Return the data sets of every ledger; one that cannot be read has none."""
        found = []
        for place in self._places():
            try:
                found.append((place, Ledger(self._ledger_at(place)).datasets()))
            except TametailError:
                found.append((place, []))
        return found

    def _ledger_at(self, place: str, *, new: bool = False) -> str:
        """Return a ledger's place: the one that was named at the start, or a file in the folder."""
        if place == self.ledger:
            return place
        if new:
            return str(self.folder.place_for(place, LEDGER))
        found = self.folder.find(place)
        if not found.name.endswith(LEDGER):
            raise DataError(f"Not a ledger: its name must end in {LEDGER[0]}.")
        return str(found)

    # All of them

    def unknown(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - its form
        """Answer an address that is none."""
        return self._unknown()

    def refused(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - its form
        """Answer a form that cannot be read at all."""
        return self._page("message.html", 422, here="", words=for_people(str(error)))

    def failed(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - its form
        """Answer what failed inside with fixed words: an exception may quote records."""
        return self._page("message.html", 500, here="", words=FAILED)

    def _unknown(self) -> Response:
        return self._page("message.html", 404, here="", words="Page not found.")

    def _page(self, template: str, status: int = 200, /, **given: object) -> Response:
        given = {
            "base": self.base, "folder": self.folder.root.name, "default": DEFAULTS,
            "statistics": STATISTICS,
        } | given  # fmt: skip
        return HTMLResponse(self.words.get_template(template).render(given), status_code=status)


def _notes(plan: Plan) -> list[tuple[str, str]]:
    """Return what a plan warns of, in the words of the page."""
    return [(note.kind, for_people(note.text)) for note in one_per_cause(plan.notes)]


def _figures(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield what is predicted of another statistic than a mean: a number, and what it is."""
    for name, words in predictions(plan, plan.prediction):
        number, _, scale = words.removeprefix("about ").partition(" ")
        yield number, f"{name[:1].upper()}{name[1:]}, in {scale.removeprefix('in ')}"


def _comparable(release: Release) -> list[tuple[int, str]]:
    """Return the rows that can be compared, by their places; none without groups or intervals."""
    if release.groups is None or release.confidence is None:
        return []
    rows = [(at, name_of(release, row)) for at, row in enumerate(release) if row.usable]
    return rows if len(rows) > 1 else []


def _difference(release: Release, form: Form) -> tuple[str | None, str | None]:
    """Return the difference of two groups in a sentence, or what is wrong; it costs nothing."""
    places = {str(at): at for at, _ in _comparable(release)}
    one, other = (places.get(form.one(name)) for name in ("first", "second"))
    if one is None or other is None:
        return None, None
    if one == other:
        return None, "Choose two different groups."
    try:
        found = release.difference(release.means[one], release.means[other])
    except TametailError as error:
        return None, for_people(str(error))
    return found.sentence(), None


def _half_width(width: float | None) -> str | None:
    if width is None:
        return None
    return f"±{significant(width, 2)}" if math.isfinite(width) else "unbounded"


def _both(draw: Callable[[float], str]) -> Markup:
    """Return a picture for screens and for phones; every word in it was escaped when drawn."""
    return Markup(both(draw))  # noqa: S704


def _same(job: Job) -> ReleaseForm:
    """Return the request with the id that it got, under which a ledger gives the same again."""
    receipt = None if job.release is None else job.release.receipt
    return job.asked if receipt is None else replace(job.asked, release_id=receipt["release_id"])


#: What can be taken away: how it is written, and what kind of file it is.
_FILES: dict[str, tuple[Callable[[Job, Release], str], str]] = {
    "json": (lambda _, release: release.to_json(indent=1), "application/json"),
    "csv": (lambda _, release: csv_text(release), "text/csv; charset=utf-8"),
    "html": (lambda _, release: report_text(release), "text/html; charset=utf-8"),
    "py": (lambda job, _: python_script(_same(job)), "text/x-python; charset=utf-8"),
    "ipynb": (lambda job, release: notebook(_same(job), release), "application/x-ipynb+json"),
    "txt": (lambda _, release: f"{sentence(release)}\n", "text/plain; charset=utf-8"),
}


def static_file(name: str) -> Path:
    """Return the path of one of the page's own files."""
    return Path(__file__).with_name("static") / name
