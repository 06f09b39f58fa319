"""The program `shale`, as the package brings it along: `shale` or `python -m shale`."""

import os
import sys


def main() -> None:
    """Becomes the program: its exit code is the process's own."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "shale")
    os.execv(program, ["shale", *sys.argv[1:]])


if __name__ == "__main__":
    main()
