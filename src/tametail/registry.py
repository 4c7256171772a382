"""An entry for the public registry of deployments of differential privacy, as YAML text.

The registry describes each deployment by one file, in three tiers: what was published, under which
guarantee, and how that was computed. A release and a ledger know the second and the third tier.
What only a person knows, such as purpose and actors, is a blank: a text that begins with
:data:`BLANK`. The registry's own check refuses blanks where it has a list of values; a search for
the word finds the others.

The fields are those of the registry's schema of September 2026 (``tests/deployments.json``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from tametail.privacy.budget import Guarantee

BLANK: Final = "TO FILL IN"
"""How a text begins that only a person can write."""

Node = Mapping[str, "Node"] | Sequence["Node"] | str | float | int

_CURATORS: Final = "Government, Industry, Nonprofit"
_SECTORS: Final = "Technology, Healthcare, Education, Government, Energy, Finance"

#: A delta at which the epsilon of a zero-concentrated guarantee is told, for comparison.
_USUAL_DELTA: Final = 1e-6


def blank(what: str) -> str:
    """Return the text of a field that a person must fill in.

    >>> blank("who publishes this")
    'TO FILL IN: who publishes this'
    """
    return f"{BLANK}: {what}"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a deployment; the rest of its entry is the same for all, or blank."""

    description: str
    date: str | None
    guarantee: Guarantee
    parameters: str
    """More about the parameters: how they are divided, or how much is spent."""
    units: int | None
    """About how many records or persons there are, where that may be told."""
    domain: str
    unprotected: str
    release_type: str
    release_details: str
    access_type: str
    preprocessing: str
    mechanisms: str
    composition: str
    post_processing: str
    utility: str
    more: str


def entry(facts: Facts) -> str:
    """Return the entry as YAML."""
    return "\n".join([*_comments(), *_lines(_tree(facts)), ""])


def _comments() -> list[str]:
    return [
        f"# A draft for the Deployments Registry, written by tametail {version('tametail')}.",
        f'# Replace every text that begins with "{BLANK}"; check the rest before you publish it.',
    ]


def _tree(facts: Facts) -> Node:
    return {
        "url_slug": blank("a short name for the address, in lower case with hyphens"),
        "deployment": {
            "basic": _basic(facts),
            "dp_variant": {
                "variant_name": _variant(facts.guarantee),
                "data_domain": facts.domain,
                "unprotected_quantities": facts.unprotected,
            },
            "privacy_loss": _privacy_loss(facts),
            "deployment_model": _model(facts),
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": facts.preprocessing,
                "mechanisms": facts.mechanisms,
                "composition": facts.composition,
                "post_processing": facts.post_processing,
                "justification": blank("why this unit, these parameters and this method"),
                "utility": facts.utility,
                "additional_information": facts.more,
            },
            "administrative": {
                "status": "Draft",
                "registry_authors": [blank("who wrote this entry")],
                "tier": 3,
            },
        },
    }


def _basic(facts: Facts) -> Node:
    curator = {
        "data_curator_name": blank("who publishes the data product"),
        "data_curator_type": blank(f"one of {_CURATORS}"),
    }
    return {
        "name": blank("the name of the data product"),
        "data_curators": [curator],
        "description": facts.description,
        "intended_use": blank("what the data product is for"),
        "data_product_type": "Summary statistics",
        "data_product_region": blank("the region that the data describe, or whose law applies"),
        "data_product_sector": blank(f"one of {_SECTORS}"),
        "publication_date": facts.date or blank("the day of publication, as 2026-11-18"),
    }


def _variant(guarantee: Guarantee) -> str:
    if guarantee.rho is not None:
        return "Zero-concentrated DP"
    return "Approximate DP" if guarantee.delta else "Pure DP"


def _privacy_loss(facts: Facts) -> Node:
    guarantee, adjacency = facts.guarantee, facts.guarantee.protects
    named = {"epsilon": guarantee.epsilon, "delta": guarantee.delta or None, "rho": guarantee.rho}
    parameters = {name: value for name, value in named.items() if value is not None}
    bounded = "Bounded" if adjacency.size_is_public else "Unbounded"
    size = "public" if adjacency.size_is_public else "protected as well"
    known = {} if facts.units is None else {"number_of_privacy_units": facts.units}
    return {
        "privacy_unit": f"{adjacency.thing.capitalize()}-level",
        "privacy_unit_details": (
            f"{bounded} differential privacy. Two data sets are adjacent if "
            f"{adjacency.description}. The number of {adjacency.thing}s is {size}."
        ),
        **known,
        "privacy_parameters": parameters,
        "privacy_parameters_details": f"{guarantee}{_converted(guarantee)}\n\n{facts.parameters}",
    }


def _converted(guarantee: Guarantee) -> str:
    if guarantee.rho is None:
        return ""
    epsilon = guarantee.at_delta(_USUAL_DELTA)
    return f" At delta = {_USUAL_DELTA:g} it implies epsilon = {epsilon:.4g}."


def _model(facts: Facts) -> Node:
    return {
        "model_name": "Central",
        "model_name_details": (
            "The curator holds the records and runs the mechanisms on them. Only the noisy answers "
            "and what is computed from them leave the curator."
        ),
        "trust_assumptions": (
            "The curator, the machine and the randomness of its operating system are trusted. "
            "Readers of the results are not: they may know every other record.\n\n"
            + blank("who else has access to the records, and why they are trusted")
        ),
        "actors": blank("who holds the records, who runs the mechanisms, who reads the results"),
        "release_type": facts.release_type,
        "release_type_details": facts.release_details,
        "data_source_type": blank("one of Static, Dynamic"),
        "access_type": facts.access_type,
    }


#: What every entry says of the mechanisms.
_MECHANISMS: Final = (
    "- Noise: discrete Laplace or discrete Gaussian, by the samplers of OpenDP (version {opendp} "
    "where this entry was written). Private choices: an exact exponential mechanism.\n"
    "- Floating point: only exact integers pass from the records to the noise.\n"
    "- Timing: running time may depend on the records and is not protected. Readers of the results "
    "do not see it.\n"
    "- Software: tametail {tametail}. Each query and mechanism has a written proof.\n"
    "- " + blank("how the records are protected where they are stored, and who has access")
)


def mechanisms(made_by: str | None) -> str:
    """Return what every entry says of the mechanisms; ``made_by`` is the version of a release."""
    return _MECHANISMS.format(opendp=version("opendp"), tametail=made_by or version("tametail"))


def _lines(node: Node, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a mapping or a list."""
    indent = "  " * depth
    items = node.items() if isinstance(node, Mapping) else [("-", item) for item in _listed(node)]
    for key, value in items:
        start = f"{indent}-" if key == "-" else f"{indent}{key}:"
        if isinstance(value, Mapping | list):
            yield start
            yield from _lines(value, depth + 1)
        elif isinstance(value, str) and _is_block(value):
            yield f"{start} |"
            for line in value.splitlines():
                yield f"{indent}  {line}" if line else ""
        else:
            yield f"{start} {_scalar(value)}"


def _scalar(value: object) -> str:
    """Return a number or a short text as both YAML 1.1 and 1.2 read it.

    >>> _scalar(1e-06), _scalar(2), _scalar("a: b")
    ('1.0e-06', '2', '"a: b"')
    """
    written = json.dumps(value)
    if isinstance(value, float) and "." not in written:  # 1e-06 would be a text
        return written.replace("e", ".0e")
    return written


def _listed(node: Node) -> Sequence[Node]:
    return node if isinstance(node, list) else []


def _is_block(text: str) -> bool:
    """Say whether a text is written in lines of its own: long, and of plain signs."""
    lines = text.split("\n")
    plain = all(line.isprintable() and line == line.strip() for line in lines)
    return plain and bool(lines[0]) and (len(lines) > 1 or len(text) > 80)
