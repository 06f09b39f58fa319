"""The program `shale` that the package contains: `shale` or `python -m shale`."""

import os
import signal
import sys

from shale import _shale


def main() -> None:
    """Becomes the program: its exit code is the process's own."""
    # Python ignores these two, and the program would inherit that: `shale cat ... | head` has to end quietly.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    # Beside the extension module: in an editable install this file lies elsewhere.
    program = os.path.join(os.path.dirname(os.path.abspath(_shale.__file__)), "bin", "shale")
    os.execv(program, ["shale", *sys.argv[1:]])


if __name__ == "__main__":
    main()
