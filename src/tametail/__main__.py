"""``python -m tametail``: the command line, where no script is on the path."""

import sys

from tametail.cli import main

sys.exit(main())
