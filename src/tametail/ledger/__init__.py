"""The durable account of a data set's privacy budget: charged before any record is read.

``Ledger`` is what people use; ``Payment`` is what a release calls; ``locator_of`` says where data
lie. Entries are only ever added, each with the hash of the one
before (:mod:`~tametail.ledger.entries`); a filter decides what is admitted
(:mod:`~tametail.ledger.filter`); SQLite or PostgreSQL keeps it.
"""

from tametail.ledger.book import Ledger, Quote
from tametail.ledger.charging import Ticket
from tametail.ledger.identity import locator_of, locators_of
from tametail.ledger.payment import Payment
from tametail.ledger.show import Event, Remaining
from tametail.ledger.verify import Verified

__all__ = [
    "Event",
    "Ledger",
    "Payment",
    "Quote",
    "Remaining",
    "Ticket",
    "Verified",
    "locator_of",
    "locators_of",
]
