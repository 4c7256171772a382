"""The recording scripts and their parts are no tests; they import each other by plain names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

collect_ignore = ["record.py", "record_placed.py", "record_structured.py"]
