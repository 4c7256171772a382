"""Many spenders at once, on both kinds of ledger. ``make ledger-evidence`` has a thousand."""

from tametail.ledger import Ledger

from . import race


def test_spenders_in_several_processes_get_exactly_what_there_is(place):
    outcome = race.run(place, spenders=200, threads=4, processes=4)
    assert outcome["accepted"] == 99  # 0.998 divided by 0.01, in decimals
    assert outcome["refused"] == 101
    ledger = Ledger(place)
    assert ledger.verify().entries == 100
    assert ledger.remaining("claims").epsilon == 0.008
