"""`python -m attnlint`: the command line, without the current folder on the import path (a linted tree must not be able to run)."""

import os
import sys


def _leave_current_folder() -> None:
    here = os.getcwd()
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.path and sys.path[0] in ("", here) and home != here:
        del sys.path[0]


if __name__ == "__main__":
    _leave_current_folder()
    from attnlint.cli import main

    sys.exit(main())
