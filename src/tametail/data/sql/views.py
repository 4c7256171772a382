"""The number of a person, or of a record that weighs, as SQL."""

from __future__ import annotations

from tametail.data.sql.dialects import Dialect
from tametail.doubles import LARGEST
from tametail.errors import InternalError
from tametail.expressions import Expression
from tametail.expressions.sql import TypedColumn, sql_value
from tametail.expressions.tree import Arithmetic, Name, Negate, Number, Value
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows, View


def number_of(
    view: View,
    dialect: Dialect,
    total: str = "s",
    count: str = "c",
    *,
    weighs: bool = False,
) -> str:
    """Return the number of a view by the operations of ``expressions.sql``, person by person.

    If ``count`` is what a record or a person ``weighs``, it is missing where there is no number,
    and may be 0 where there is one.
    """
    if dialect.spoken is None:
        raise InternalError("This dialect is not computed in.")
    tree: Value = Name("c")
    if isinstance(view, PersonMean):
        tree = Arithmetic("/", Name("s"), Name("c"))
    elif isinstance(view, PersonResidual):
        size: Value = Number(abs(view.ratio))
        ratio = Negate(size) if view.ratio < 0 else size
        tree = Arithmetic("-", Name("s"), Arithmetic("*", ratio, Name("c")))
    elif not isinstance(view, PersonRows):
        raise InternalError("The records are not known by group.")
    columns = {"s": TypedColumn(total, "number"), "c": TypedColumn(count, "number")}
    number = sql_value(Expression(tree), columns, dialect.spoken)
    least, most = (dialect.number(end) for end in (-LARGEST, LARGEST))
    known = f"{count} > 0"
    if weighs:
        present = dialect.present.format(x=count)
        known = f"{present} AND {known}" if isinstance(view, PersonMean) else present
    return f"CASE WHEN {known} THEN least(greatest({number}, {least}), {most}) END"
