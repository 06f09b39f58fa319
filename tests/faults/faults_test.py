#!/usr/bin/env python3
"""Bad input, bad disks, kills and damage: whatever happens, shale says what and where, and nothing is lost.

Run by ctest, or by hand: SHALE=build/release/shale tests/faults/faults_test.py [-v] [Class.test_...]
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
from foreign_files import *  # noqa: E402, F401, F403
from kills import *  # noqa: E402, F401, F403
from limits import *  # noqa: E402, F401, F403
from resample import *  # noqa: E402, F401, F403
from same_bytes import *  # noqa: E402, F401, F403

if __name__ == "__main__":
    unittest.main()
