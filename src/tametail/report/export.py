"""A release as CSV: its rows, for spreadsheets."""

from __future__ import annotations

import csv
import io

from tametail.released import Released
from tametail.show.intervals import quote


def csv_text(release: Released) -> str:
    """Return the rows as CSV: the columns of :meth:`Release.to_frame`, and what they mean.

    A table in a file stands alone, so that every row says what its interval rests on, and under
    which guarantee it was released.
    """
    columns = release.cells()
    notes, guarantee = columns.pop("notes"), release.guarantee
    columns["interval"] = [quote(release, row).qualifier if row.usable else "" for row in release]
    if guarantee.protects.person is not None:
        columns["each"] = [release.plan.request.each] * len(release)
    if (where := release.plan.request.where) is not None:
        columns["where"] = [where] * len(release)
    columns["confidence"] = [release.confidence] * len(release)
    columns["privacy"] = [f"{guarantee.short}, {guarantee.protects.change}"] * len(release)
    columns["notes"] = notes
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
