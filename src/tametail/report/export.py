"""A release as CSV: its rows, for spreadsheets."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tametail.release import Release


def csv_text(release: Release) -> str:
    """Return the rows as CSV, with the columns of :meth:`Release.to_frame`."""
    columns = release.cells()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
