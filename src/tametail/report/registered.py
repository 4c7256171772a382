"""What a release knows of itself, for an entry of the registry of deployments."""

from __future__ import annotations

from tametail.errors import ParameterError
from tametail.registry import Facts, blank, entry, mechanisms
from tametail.released import Released
from tametail.show.sentences import assumptions, sentence, title_of


def registry_entry(release: Released) -> str:
    """Return a draft of the entry of a release, as YAML."""
    if release.fake:
        raise ParameterError("This release is fake, so there is no registry entry.")
    return entry(_facts(release))


def _facts(release: Released) -> Facts:
    plan, issued = release.plan, release.issued
    chosen = "\n".join(f"- {name}: {words}" for name, words in assumptions(plan))
    steps = "\n".join(f"- {name}: {part:.3g}%, {why}" for name, part, why in plan.shares())
    paid = "" if release.receipt is None else " A ledger keeps the budget of the data set."
    return Facts(
        description=(
            f"{title_of(release)}, with confidence intervals.\n\n"
            + blank("which data, of whom, and of which time")
        ),
        date=None if issued is None else issued.date[:10],
        guarantee=release.guarantee,
        parameters=f"The budget is divided between these steps:\n\n{steps}",
        units=_units(release),
        domain=(
            f"Tables with any number of rows and these columns: {_columns(release)}. A cell may "
            "hold any value, also one that is not a number."
        ),
        unprotected=(
            "None of the published numbers is exact. Public are the request (budget, assumptions, "
            f"names of columns){_public_size(release)}{_public_keys(release)}.\n\n"
            + blank("what else was published from the same records without differential privacy")
        ),
        release_type="One release",
        release_details=(
            f"This entry describes one release{'' if issued is None else _named(issued.release_id)}"
            f".{paid}\n\n{blank('whether the same records will be used again')}"
        ),
        access_type="Non-interactive",
        preprocessing=(
            f"{chosen}\n\nClipping bounds were chosen by the mechanism, within the budget.\n\n"
            + blank("whether anybody looked at the records before choosing any of this")
        ),
        mechanisms=f"- Method: {release.method}.\n{mechanisms(issued.version if issued else None)}",
        composition=(
            "Sequential composition of the steps of the plan, in exact fractions. "
            f"{_GROUPS * (release.groups is not None)}A step that spends more is refused."
        ),
        post_processing=(
            "Estimate, intervals and notes are computed from the noisy answers and public numbers "
            "alone; `tametail replay` computes them again from the file of the release."
        ),
        utility=sentence(release),
        more=blank("where the data product and more about it can be found"),
    )


#: What a person in several groups costs.
_GROUPS = (
    "Groups of records are disjoint, so that they cost what one costs; a person in several groups "
    "contributes to all of them together at most what a person in one group does. "
)


def _columns(release: Released) -> str:
    return ", ".join(dict.fromkeys([*release.plan.columns, *release.columns]))


def _named(release_id: str) -> str:
    return f", {release_id}"


def _public_size(release: Released) -> str:
    plan = release.plan
    if not plan.adjacency.size_is_public or plan.n is None:
        return ""
    return f", and the number of {plan.adjacency.thing}s, {plan.n:,}"


def _public_keys(release: Released) -> str:
    groups = release.groups
    return "" if groups is None or groups.keys is None else ", and the keys of the groups"


def _units(release: Released) -> int | None:
    """Return about how many records or persons there are, by public or private numbers."""
    plan = release.plan
    if plan.adjacency.size_is_public:
        return plan.n
    if release.groups is not None:
        return None  # a person may be in several groups
    counts = [row.count if plan.adjacency.person is None else row.persons for row in release.means]
    known = [count for count in counts if count is not None]
    return max(round(max(known)), 0) if known else None
