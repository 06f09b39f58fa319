#!/usr/bin/env python3
"""Bad input, bad disks, kills and damage: whatever happens, shale says what and where, and nothing is lost.

Run by ctest, or by hand: SHALE=build/release/shale tests/faults/faults_test.py [--half 1|2] [-v] [Class.test_...]
Random tests print their seed; FAULTS_SEED=N repeats a run.
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from arrays import *  # noqa: E402, F401, F403
from bad_input import *  # noqa: E402, F401, F403
from bad_names import *  # noqa: E402, F401, F403
from bad_output import *  # noqa: E402, F401, F403
from containers import *  # noqa: E402, F401, F403
from damage import *  # noqa: E402, F401, F403
from environment import *  # noqa: E402, F401, F403
from foreign_files import *  # noqa: E402, F401, F403
from hostile_sets import *  # noqa: E402, F401, F403
from kills import *  # noqa: E402, F401, F403
from limits import *  # noqa: E402, F401, F403
from older_sets import *  # noqa: E402, F401, F403
from resample import *  # noqa: E402, F401, F403
from same_bytes import *  # noqa: E402, F401, F403
from stopping import *  # noqa: E402, F401, F403
from whose import *  # noqa: E402, F401, F403



def tests_in(suite):
    for one in suite:
        yield from tests_in(one) if isinstance(one, unittest.TestSuite) else [one]


class EverySecond(unittest.TestLoader):
    """Every second test from the first or the second on: two processes run all of them in half the time."""

    def __init__(self, half):
        super().__init__()
        self.first = {"1": 0, "2": 1}[half]

    def loadTestsFromModule(self, *arguments, **options):
        return self.suiteClass(list(tests_in(super().loadTestsFromModule(*arguments, **options)))[self.first :: 2])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--half"]:
        half = EverySecond(sys.argv[2])
        del sys.argv[1:3]
        unittest.main(testLoader=half)
    unittest.main()
