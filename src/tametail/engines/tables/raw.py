"""Columns as they are kept: of frames and files, for ids, conditions and computed columns.

A block maps columns to cells: an Arrow array, float64 of NumPy, or the list of a pandas column of
objects. What a column is read as is its *role*: a frame or a Parquet file declares a type, a CSV
file and a column of objects do not, so there the role decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa

from tametail.engines.cells import Floats, arrow_to_floats, is_text
from tametail.engines.tables import Tell
from tametail.engines.tables.blocks import text_for_numbers
from tametail.engines.tables.csv import CsvTable
from tametail.engines.tables.files import guarded
from tametail.engines.tables.frames import check_known, compute, to_arrow
from tametail.engines.tables.parquet import ParquetTable, open_parquet
from tametail.engines.text import PLAIN, arrow_text_to_floats, objects_to_floats, text_to_floats
from tametail.errors import ColumnError, ParameterError
from tametail.parse import Parse

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoLazyFrame, IntoSeries

Role = Literal["number", "text", "id"]
Wanted = tuple[str, Role]

#: The cells of a column: float64 of NumPy, an Arrow array, or a list of untyped ones.
Cells: TypeAlias = "Floats | pa.Array | list[object]"
Block = dict[Wanted, Cells]

_ROWS = 1 << 17


class Source(Protocol):
    """Named columns, read from the first row to the last as often as asked."""

    @property
    def names(self) -> Sequence[str]:
        """The names of all columns: schema, and public."""

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows, for its types; None where types are not known before."""

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, these columns of them."""


class FrameSource:
    """Columns of a frame; all rows are one block."""

    def __init__(self, data: object, parse: Parse | None) -> None:
        frame, self._parse = check_known(data), parse
        if isinstance(frame, nw.Series):
            raise ParameterError("a series has no named columns: pass the frame that it is from.")
        self._frame = frame
        self.names = [str(name) for name in frame.collect_schema().names()]

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows; a lazy frame is not computed for that."""
        if isinstance(self._frame, nw.LazyFrame):
            frame = _without_rows(self._frame, _names(wanted))
            return None if frame is None else self._block(frame, wanted)
        return self._block(self._frame.head(0), wanted)

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield one block; a lazy frame is computed, once."""
        if isinstance(self._frame, nw.LazyFrame):
            self._frame = compute(self._frame)
        yield self._block(self._frame, wanted)
        tell(1.0)

    def _block(self, frame: nw.DataFrame[IntoDataFrame], wanted: Sequence[Wanted]) -> Block:
        kept = {str(name): name for name in frame.columns}
        parse = self._parse
        return {one: _cells(frame.get_column(kept[one[0]]), one[1], parse) for one in wanted}


def _without_rows(
    frame: nw.LazyFrame[IntoLazyFrame], names: Sequence[str]
) -> nw.DataFrame[IntoDataFrame] | None:
    """Return a frame without rows of the types that a lazy one declares, if they are known."""
    declared = frame.collect_schema()
    schema = {name: declared[name] for name in names}
    if any(kind == nw.Unknown for kind in schema.values()):
        return None
    return nw.from_dict({name: [] for name in names}, schema=schema, backend="pyarrow")


def _cells(series: nw.Series[IntoSeries], role: Role, parse: Parse | None) -> Cells:
    kind = getattr(series.to_native(), "dtype", None)
    if _is_untyped(series, kind, role):
        return untyped_cells(series.to_list(), role, parse)
    arrow = to_arrow(series)
    if arrow is None:
        raise ColumnError(
            f"column {series.name!r} has type {kind}, which cannot be read: convert it before."
        )
    return _read(arrow, role, parse)


def _is_untyped(series: nw.Series[IntoSeries], kind: object, role: Role) -> bool:
    """Say whether pandas keeps Python's objects, which Arrow may refuse by what they are."""
    if series.dtype == nw.Object or isinstance(kind, np.dtypes.ObjectDType):
        return True
    if role == "number" or not series.implementation.is_pandas_like():
        return False
    objects = series.dtype in (nw.Categorical, nw.Enum)
    return objects or getattr(kind, "storage", None) == "python"


def untyped_cells(cells: list[object], role: Role, parse: Parse | None) -> Cells:
    """Return cells that each have a type of their own as their role wants them."""
    if role == "number":
        return objects_to_floats(cells, parse)
    return cells if role == "id" else texts(cells)


def texts(cells: list[Any]) -> pa.Array:
    """Return the text of untyped cells as bytes; what is no text is missing."""
    encoded = [
        str.encode(cell, "utf-8", "surrogatepass") if issubclass(type(cell), str) else None
        for cell in cells
    ]
    return pa.array(encoded, pa.large_binary())


def _read(cells: pa.Array | pa.ChunkedArray, role: Role, parse: Parse | None) -> Cells:
    """Return the numbers in text, if the caller said how they are written; else the cells.

    Durations are numbers of seconds.
    """
    pieces = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    if role == "number" and pa.types.is_duration(cells.type):
        return np.concatenate([np.empty(0), *map(arrow_to_floats, pieces)])
    if parse is None or role != "number" or not is_text(cells.type):
        return _one(cells)
    numbers = (arrow_text_to_floats(piece, parse) for piece in pieces)
    return np.concatenate([np.empty(0), *numbers])


def _one(cells: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a chunked array as one; text gets wide offsets, so that it always fits."""
    if not isinstance(cells, pa.ChunkedArray):
        return cells
    if pa.types.is_string(cells.type) or pa.types.is_binary(cells.type):
        cells = cells.cast(pa.large_binary())
    joined = cells.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


class ParquetSource:
    """Columns of Parquet files, streamed."""

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        self._files, self._parse = files, parse
        with open_parquet(files[0]) as file:
            self.schema = file.schema_arrow
        self.names = list(self.schema.names)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows, and see that all files declare these columns alike."""
        for path in self._files:
            with open_parquet(path) as file:
                ParquetTable.check_schema(path, file.schema_arrow, self._types(wanted), self._files)
        types, parse = self._types(wanted), self._parse
        return {one: _read(pa.nulls(0, types[one[0]]), one[1], parse) for one in wanted}

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield blocks of rows, of all files in the order of their names."""
        for number, path in enumerate(self._files):
            with open_parquet(path) as file:
                ParquetTable.check_schema(path, file.schema_arrow, self._types(wanted), self._files)
                stream = file.iter_batches(batch_size=_ROWS, columns=_names(wanted))
                for batch in guarded(stream, path, "Parquet"):
                    yield {one: _read(batch[one[0]], one[1], self._parse) for one in wanted}
            tell((number + 1) / len(self._files))

    def _types(self, wanted: Sequence[Wanted]) -> dict[str, pa.DataType]:
        return {name: self.schema.field(name).type for name in _names(wanted)}


class CsvSource:
    """Columns of CSV files, streamed; text and ids are bytes as they were written."""

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        self._files, self._parse = files, parse
        self.names = CsvTable.names(files, parse)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows: roles are the types of a CSV file."""
        nothing = pa.array([], pa.binary())
        return {one: _csv_cells(nothing, one[1], self._parse) for one in wanted}

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield blocks of rows, of all files in the order of their names."""
        names = _names(wanted)
        table = CsvTable(self._files, names, self._parse)
        for cells in table.raw_cells(tell):
            columns = dict(zip(names, cells.columns, strict=True))
            yield {one: _csv_cells(columns[one[0]], one[1], self._parse) for one in wanted}


def _names(wanted: Sequence[Wanted]) -> list[str]:
    """Return each name once: a column may be wanted in several roles."""
    return list(dict.fromkeys(name for name, _ in wanted))


def _csv_cells(cells: pa.Array, role: Role, parse: Parse | None) -> Cells:
    """Return numbers, or bytes; an empty cell is no text and names nobody."""
    if role == "number":
        written = parse or PLAIN
        return text_to_floats(text_for_numbers(cells, written), written)
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(pc.binary_length(cells), 0), None, cells)
