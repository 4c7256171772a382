"""``python -m tametail``: the command line, where no script is on the path."""

import sys

from tametail.cli.shell import main

if __name__ == "__main__":
    sys.exit(main())
