"""The private histogram as a public function: its arguments, who pays, and what is released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tametail.charged_calls import ChargeableCall, payment_of
from tametail.mechanisms.histograms import (
    Histogram,
    Universe,
    check_keys,
    checked_universe,
    count_keys,
    noisy_histogram,
)
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget

if TYPE_CHECKING:
    from tametail.ledger import Ledger


def histogram(
    keys: Iterable[object],
    budget: Budget,
    *,
    universe: Universe | None = None,
    neighbors: Adjacency | str = "replace-one",
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
) -> Histogram:
    """Release a private histogram of integer keys.

    Parameters
    ----------
    keys
        One key for each record: Python or NumPy integers of any size; a float that is a whole
        number counts as that integer. Any other cell, and any key outside the universe, is left
        out.
    budget
        ``pure(epsilon)``: discrete Laplace noise of scale 2 / epsilon. ``zcdp(rho)``: discrete
        Gaussian noise of variance 1 / rho. ``approx(epsilon, delta)``: discrete Laplace noise of
        scale 2 / epsilon on the keys that occur. Under add-remove one record moves one count
        instead of two, so the scale is 1 / epsilon and the variance 1 / (2 rho).
    universe
        The least and the greatest key that can occur, chosen without looking at the keys. Needed
        for pure and concentrated budgets; the size does not matter for the time.
    neighbors
        ``"replace-one"`` or ``"add-remove"``.
    ledger, dataset, release_id
        As in :func:`tametail.mean`: charged before any key is read.

    Notes
    -----
    **Formal guarantee**: the histogram satisfies ``budget`` for ``neighbors``. See
    ``docs/proofs/histograms.md``.

    Examples
    --------
    >>> from tametail.privacy.budget import pure
    >>> result = histogram([7] * 500 + [8] * 300, pure(1000), universe=(-10**300, 10**300))
    >>> result.counts, result.largest(), result.threshold
    ({7: 500, 8: 300}, 7, 2)
    """
    # Mistakes are reported before any key is read or paid for.
    protected, payment = Adjacency.parse(neighbors), payment_of(ledger, dataset, release_id)
    possible = checked_universe(budget, universe)
    check_keys(keys)

    def stated(counts: Mapping[int, int], least: int) -> Histogram:
        return Histogram(dict(counts), least, budget, protected, possible)

    def make() -> Histogram:
        found = noisy_histogram(count_keys(keys), budget.spendable(), protected, possible)
        return stated(found.counts, found.threshold)

    call = ChargeableCall("histogram", budget, protected, {"universe": possible})
    return call.run_charged(
        payment,
        make,
        write=lambda found: [[*found.counts.items()], found.threshold],
        read=lambda stored: stated(dict(stored[0]), stored[1]),
    )
