"""A release as CSV: its rows, for spreadsheets."""

from __future__ import annotations

import csv
import io

from tametail.released import Released


def csv_text(release: Released) -> str:
    """Return the rows as CSV, with the columns of :meth:`Release.to_frame`."""
    columns = release.cells()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
