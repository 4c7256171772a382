"""The command line: ``tametail mean``, ``tametail plan`` and what else the registry names.

Results go to stdout; errors, progress and advice to act go to stderr. Exit codes: 0 done, 1
failure, 2 usage, 3 budget refused, 4 data unreadable, 5 released with a warning (``--strict``),
130 and 143 interrupted.

A command is a module of its own and one line in :data:`~tametail.cli.shell.COMMANDS`.
"""

from tametail.cli.shell import commands, main

__all__ = ["commands", "main"]
