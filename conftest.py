"""What holds for tests wherever they stand: seeds by their ids, and how workers share them."""

import os

# Sums of a matrix product depend on how many threads share it; and the threads of several workers
# would wait for each other. NumPy reads these when it is first imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

pytest_plugins = ("tests.seeding", "tests.spread")
