"""A thousand spenders in ten processes, with room for 499 of them; or fewer, to save time.

Run as a script, it is one of the processes: it asks for its share of the charges, each under an id
of its own, and prints how many were accepted, refused, and asked again since the server was gone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import tametail as tt
from tametail.errors import BudgetError, LedgerError, ResultNotStoredError
from tametail.ledger import Ledger

BUDGET, COST = 4.99, 0.01  # 499 times, in decimals
GONE = 600  # seconds to wait for a server that was killed


def spend(place: str, first: int, count: int, threads: int) -> Counter[str]:
    """Ask for ``count`` charges; what happened to each is counted."""
    ledger = Ledger(place, timeout=300)
    with ThreadPoolExecutor(threads) as pool:
        outcomes = pool.map(lambda number: _one(ledger, number), range(first, first + count))
        return Counter(word for words in outcomes for word in words)


def _one(ledger: Ledger, number: int) -> list[str]:
    words, give_up = [], time.monotonic() + GONE
    while True:
        try:
            ledger.charge("claims", tt.pure(COST), release_id=f"r{number}")
        except (
            ResultNotStoredError
        ):  # the answer to an earlier attempt was lost, its charge was not
            return [*words, "accepted"]
        except BudgetError:
            return [*words, "refused"]
        except LedgerError:
            if time.monotonic() > give_up:
                raise
            words = ["asked again"]
            time.sleep(0.05)
        else:
            return [*words, "accepted"]


def run(
    place: str, spenders: int, threads: int = 4, processes: int = 10, during=lambda: None
) -> Counter[str]:
    """Let several processes spend; ``during`` is called once while they do."""
    Ledger(place).create("claims", tt.pure(BUDGET * spenders / 1000))
    share = spenders // processes
    commands = [
        [sys.executable, __file__, place, str(index * share), str(share), str(threads)]
        for index in range(processes)
    ]
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, text=True) for c in commands]
    try:
        during()
    except BaseException:
        for process in running:
            process.kill()
        raise
    total: Counter[str] = Counter()
    for process in running:
        total.update(json.loads(process.communicate()[0]))
    return total


if __name__ == "__main__":
    _, place, *numbers = sys.argv
    print(json.dumps(spend(place, *map(int, numbers))))
