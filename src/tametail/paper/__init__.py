"""The algorithms of the paper, line by line.

Kamath, Singhal and Ullman, "Private Mean Estimation of Heavy-Tailed Distributions".
Neighbors differ in one record and n is public (unit ``replace-one``). Where the paper's
pseudocode slips, ``docs/explanation/corrections`` says how it was read. ``constants="paper"`` uses
the constants of its proofs, ``constants="tight"`` the corrected ones, and
``constants="one-block"``,
for one column, needs far fewer records; privacy is the same.

These functions return plain numbers. For data analysis use :func:`tametail.mean`, which needs
no accuracy target and reports an interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tametail._validate import one_of, probability
from tametail.charged_calls import payment_of
from tametail.paper import related
from tametail.paper._arguments import Given
from tametail.paper.multivariate import mean_ball, mean_tournament
from tametail.paper.range import range_estimator
from tametail.paper.univariate import mean_estimator
from tametail.privacy.budget import Budget
from tametail.theory import median_of_means_blocks
from tametail.theory._constants import Constants, MeanConstants
from tametail.theory.means import BLOCK_FAILURE, one_block

if TYPE_CHECKING:
    from tametail.ledger import Ledger

__all__ = ["mean_1d", "mean_ball", "mean_tournament", "range_estimate", "related"]


def range_estimate(
    x: object,
    budget: Budget,
    *,
    alpha: float,
    k: float,
    R: float,
    scale: float = 1.0,
    constants: Constants = "tight",
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
) -> tuple[float, float]:
    """Find an interval that holds the mean and most records: PDPRE, CDPRE or ADPRE.

    Records are counted in buckets of width 2r and the fullest is chosen privately; the interval
    is that bucket with r + T more on either side, so its width 4r + 2T is public. With
    ``E|X - mu|^k <= scale^k``, mu in [-R, R] and ``theory.range_sample_size`` records, both ends
    are at least T from mu with probability 0.9 (Theorems one-d-range-pdp, one-d-range-adp-cdp).

    Parameters
    ----------
    x
        The records: a sequence or a one-dimensional array.
    budget
        ``pure`` (PDPRE), ``zcdp`` (CDPRE) or ``approx`` (ADPRE); all of it is spent.
    alpha, k, R, scale
        Accuracy target, moment, bound on abs(mean) (infinite for ``approx`` only) and the scale of
        the moment.
    constants
        ``r = T = 10 scale (scale / alpha)^(1/(k-1))`` for "paper"; for "tight"
        ``r = 16^(1/k) scale``, and T the least with a truncation bias of alpha/3.
    ledger, dataset, release_id
        As in :func:`tametail.mean`: charged before any record is read.

    Returns
    -------
    tuple
        The ends (a, b).

        **Formal guarantee**: ``budget`` under replace-one; see docs/proofs/paper.md.

    Examples
    --------
    >>> import tametail as tt
    >>> a, b = tt.paper.range_estimate([5.0] * 1000, tt.pure(1.0), alpha=0.1, k=2, R=1e6)
    >>> a < 5.0 < b, round(b - a)
    (True, 31)
    """
    payment = payment_of(ledger, dataset, release_id)
    words: Constants = one_of(("tight", "paper"), constants=constants)
    given = Given.parse(x, budget, alpha, k, R, scale, words)
    radius, margin = given.lengths(given.alpha)

    def find() -> tuple[float, float]:
        opened = given.opened
        found = range_estimator(opened.ask, opened.budget, radius=radius, R=given.R, margin=margin)
        return found.ends

    low, high = given.call("range_estimate").run_charged(payment, find)
    return low, high


def mean_1d(
    x: object,
    budget: Budget,
    *,
    alpha: float,
    beta: float,
    k: float,
    R: float,
    scale: float = 1.0,
    constants: MeanConstants = "tight",
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
) -> float:
    """Estimate a mean within alpha: PDPODME, CDPODME or ADPODME.

    One half of the records finds a range, the other is winsorized to it and averaged with noise,
    in m blocks; the median of the m noisy means is returned. With one block no more records find
    the range than are needed for that, and there is no median. With ``E|X - mu|^k <= scale^k``, mu
    in [-R, R] and ``theory.mean_sample_size`` records, the error is at most alpha with
    probability 1 - beta (Theorems one-d-pdp, one-d-adp-cdp).

    Parameters
    ----------
    x
        The records: a sequence or a one-dimensional array. A missing one counts as the center.
    budget
        ``pure`` (PDPODME), ``zcdp`` (CDPODME) or ``approx`` (ADPODME); all of it is spent. Every
        step reads its own records, so each may use the whole budget.
    alpha, beta, k, R, scale
        Accuracy, failure probability, moment, bound on abs(mean) (infinite for ``approx`` only)
        and the scale of the moment.
    constants
        "paper" (m = 200 ln(2/beta), k >= 2), "tight" (the exact binomial tail) or "one-block"
        (m = 1 at every beta, by Bernstein's inequality: a tenth of the records and less).
    ledger, dataset, release_id
        As in :func:`tametail.mean`: charged before any record is read.

    Returns
    -------
    float
        **Formal guarantee**: ``budget`` under replace-one; see docs/proofs/paper.md.

    Examples
    --------
    >>> import tametail as tt
    >>> x = [4.0, 6.0] * 20_000
    >>> estimate = tt.paper.mean_1d(x, tt.pure(1.0), alpha=0.3, beta=0.05, k=2, R=1e6)
    >>> abs(estimate - 5.0) < 0.3
    True
    """
    payment = payment_of(ledger, dataset, release_id)
    beta = probability(beta=beta)
    words: MeanConstants = one_of(("tight", "paper", "one-block"), constants=constants)
    own: Constants = "tight" if words == "one-block" else words
    given = Given.parse(x, budget, alpha, k, R, scale, own)
    radius, margin = given.lengths(given.alpha)
    blocks, plan = 1, None
    if words == "one-block":
        numbers = given.alpha / given.scale, beta, given.k, given.R / given.scale
        asked_for = given.opened.asked_for
        margin = given.length(lambda: given.scale * one_block(*numbers, asked_for).margin)
        plan = one_block(*numbers, asked_for)
    else:
        blocks = median_of_means_blocks(beta, BLOCK_FAILURE[words], words)

    def estimate() -> float:
        opened, size = given.opened, given.opened.size
        locating = None if plan is None else plan.locating_of(size)
        return mean_estimator(
            opened.ask, opened.budget, size=size, blocks=blocks, radius=radius, R=given.R,
            margin=margin, locating=locating,
        )  # fmt: skip

    return given.call("mean_1d", beta=beta, constants=words).run_charged(payment, estimate)
