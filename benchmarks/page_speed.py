"""How long the page takes: from the click to the result, and a control of the plan.

    python benchmarks/page_speed.py

Wall-clock times, since that is what people wait for: warm, the median of five. The page is called
in a thread of its own process through HTTP, as a browser would; what a browser takes to draw it is
not in the figures.
"""

from __future__ import annotations

import http.client
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import uvicorn
from pyarrow import parquet
from rich.table import Table

from _common import console
from tametail.page.app import make_app
from tametail.page.folder import Folder
from tametail.page.serve import listening

ROWS, TOKEN = 1_000_000, "token"
LIMITS = {"release of 1e6 Parquet rows": 2000.0, "control of the plan": 200.0}


class Caller:
    """Calls the page as its own browser would."""

    def __init__(self, port: int) -> None:
        self._host, self._moves = f"127.0.0.1:{port}", count(1)

    def call(self, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Return status, place to go to and text of an answer."""
        line = http.client.HTTPConnection(self._host)
        kind = {"content-type": "application/x-www-form-urlencoded"}
        if fields is None:
            line.request("GET", f"/{TOKEN}{path}")
        else:
            headers = kind | {"origin": f"http://{self._host}"}
            line.request("POST", f"/{TOKEN}{path}", urlencode(fields), headers)
        answer = line.getresponse()
        text = answer.read().decode()
        line.close()
        return answer.status, answer.headers.get("location", ""), text

    def release(self) -> None:
        """Click, wait as the page's script does, and read the result."""
        fields = {"path": "records.parquet", "column": "x", "epsilon": "1"}
        found = re.search(r'name="name" value="([^"]+)"', self.call("/confirm", fields)[2])
        if found is None:
            raise RuntimeError("the page did not confirm")
        start = time.perf_counter()
        self.call("/begin", {"name": found[1]})
        while '"done":true' not in self.call(f"/releases/{found[1]}/progress")[2]:
            time.sleep(0.15)
        if "Take it away" not in self.call(f"/releases/{found[1]}")[2]:
            raise RuntimeError("there is no result")
        self.taken = time.perf_counter() - start

    def control(self, query: str) -> None:
        """Move a control: to a size that was not asked about before, so that nothing is cached."""
        size = 20_000 + next(self._moves)
        start = time.perf_counter()
        self.call(f"/outcome?n={size}&{query}")
        self.taken = time.perf_counter() - start


def median(caller: Caller, call: Callable[[], None], repeats: int = 5) -> float:
    """Return the median time in milliseconds, after one call to warm up."""
    call()
    found = []
    for _ in range(repeats):
        call()
        found.append(1000 * caller.taken)
    return statistics.median(found)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, listening(0) as sock:
        records = np.random.default_rng(1).lognormal(size=ROWS)
        parquet.write_table(pa.table({"x": records}), Path(folder, "records.parquet"))
        port = sock.getsockname()[1]
        app = make_app(Folder.at(folder), TOKEN, port)
        quiet = {"log_config": None, "log_level": "critical", "lifespan": "off", "ws": "none"}
        server = uvicorn.Server(uvicorn.Config(app, **quiet))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        caller = Caller(port)
        known = {
            "nothing known": "epsilon=1",
            "a spread known": "epsilon=1&assumption=moment&scale=300",
            "bounds known": "epsilon=1&assumption=bounds&low=0&high=1000",
            "zCDP, a spread known": "definition=zcdp&rho=0.5&assumption=moment&scale=300",
            "many rows a person": "privacy_unit=person&epsilon=1",
        }
        table = Table("what", "median, ms", "limit, ms")
        (release, most), (control, least) = LIMITS.items()
        table.add_row(release, f"{median(caller, caller.release):.0f}", f"{most:.0f}")
        for name, query in known.items():
            taken = median(caller, lambda query=query: caller.control(query))
            table.add_row(f"{control}, {name}", f"{taken:.0f}", f"{least:.0f}")
        server.should_exit = True
        thread.join()
    console.print(table)


if __name__ == "__main__":
    main()
