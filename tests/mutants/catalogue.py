"""All mutants. Each is in the file of its theme, with the reason why it is a bug."""

from __future__ import annotations

from .accounts import ACCOUNTS
from .databases import DATABASES
from .estimators import ESTIMATORS
from .expressions import EXPRESSIONS
from .fakes import MADE_UP
from .groups import GROUPS
from .kernels import KERNELS
from .ledger import LEDGERS
from .ledger_attacks import ATTACKED_LEDGERS
from .mechanisms import MECHANISMS
from .mutant import Mutant
from .page import PAGE
from .persons import PERSONS
from .regressions import REGRESSIONS
from .sensitivities import SENSITIVITIES
from .sources import SOURCES
from .spark import SPARK

MUTANTS: tuple[Mutant, ...] = (
    *SENSITIVITIES,
    *MECHANISMS,
    *ACCOUNTS,
    *DATABASES,
    *KERNELS,
    *SOURCES,
    *SPARK,
    *ESTIMATORS,
    *EXPRESSIONS,
    *GROUPS,
    *LEDGERS,
    *ATTACKED_LEDGERS,
    *PAGE,
    *PERSONS,
    *REGRESSIONS,
    *MADE_UP,
)
