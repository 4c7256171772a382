"""All mutants. Each is in the file of its theme, with the reason why it is a bug."""

from __future__ import annotations

from .accounts import ACCOUNTS
from .databases import DATABASES
from .engines import ENGINES
from .estimators import ESTIMATORS
from .expressions import EXPRESSIONS
from .groups import GROUPS
from .ledger import LEDGERS
from .mechanisms import MECHANISMS
from .mutant import Mutant
from .page import PAGE
from .persons import PERSONS
from .sensitivities import SENSITIVITIES

MUTANTS: tuple[Mutant, ...] = (
    *SENSITIVITIES,
    *MECHANISMS,
    *ACCOUNTS,
    *DATABASES,
    *ENGINES,
    *ESTIMATORS,
    *EXPRESSIONS,
    *GROUPS,
    *LEDGERS,
    *PAGE,
    *PERSONS,
)
