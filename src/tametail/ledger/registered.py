"""What a ledger knows of a data set, for an entry of the registry of deployments."""

from __future__ import annotations

from collections.abc import Sequence

from tametail.errors import ParameterError
from tametail.ledger.book import Ledger
from tametail.ledger.show import Event, Remaining
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Guarantee
from tametail.registry import Facts, blank, entry, mechanisms

#: So many charges are listed one by one.
_MOST = 20


def registry_entry(ledger: Ledger, dataset: str) -> str:
    """Return a draft of the entry of all releases that were charged to a data set, as YAML.

    Who charged is not told: the names in a ledger are for those who keep it.

    >>> import tempfile, tametail as tt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/office.ledger")
    ...     _ = ledger.create("claims", budget=tt.pure(1), person="patient")
    ...     text = registry_entry(ledger, "claims")
    >>> 'variant_name: "Pure DP"' in text, "Person-level" in text
    (True, True)
    """
    charges = [event for event in ledger.history(dataset) if event.kind in ("charge", "part")]
    left = ledger.remaining(dataset)
    if left.fake:
        raise ParameterError("This dataset is fake, so there is no registry entry.")
    return entry(_facts(left, charges))


def _facts(left: Remaining, charges: Sequence[Event]) -> Facts:
    adjacency = Adjacency.parse(left.protection.neighbors, [*left.protection.person] or None)
    given = [f"- {event.at[:10]}: {event.price}" for event in charges[:_MOST]]
    if len(charges) > _MOST:
        given.append(f"- and {len(charges) - _MOST} more")
    return Facts(
        description=(
            f"Releases from the data set {left.dataset}: {len(charges)} so far.\n\n"
            + blank("which data, of whom, of which time; what is released")
        ),
        date=charges[0].at[:10] if charges else None,
        guarantee=Guarantee.from_budget(left.budget, adjacency),
        parameters=(
            "The parameters are the limit for all releases together. "
            f"{100 * left.share_spent:.1f}% of it is spent"
            f"{' and no further release is admitted' * left.closed}."
        ),
        units=None,
        domain=blank("which columns, and which values they may hold"),
        unprotected=blank(
            "what was published from the same records without differential privacy, if anything"
        ),
        release_type="Many releases",
        release_details=(
            "The budget is granted once and is not renewed: a release that does not fit is refused "
            f"before any record is read.\n\n{blank('how often releases are made')}"
        ),
        access_type=blank("one of Interactive, Non-interactive"),
        preprocessing=blank(
            "what was done to the records before; whether anybody looked at them to choose "
            "parameters"
        ),
        mechanisms=mechanisms(None),
        composition=(
            "A privacy filter (a durable ledger that is charged before records are read) admits a "
            "release only if all charges together satisfy the budget, also if each was chosen "
            "after the results before it.\n\n" + ("\n".join(given) or "- no charges yet")
        ),
        post_processing=(
            "Estimates, intervals and notes are computed from noisy answers and public numbers."
        ),
        utility=blank("how accurate the results are, for instance their confidence intervals"),
        more=blank("where the data product and more about it can be found"),
    )
