"""Damage, kills and equal bytes once more, for the other containers: where SHALE_TEST_SEED is set (tests/run.sh), for one of them."""

import os

# As modules: a name of theirs in this one would be a test of this one too.
import test_damage
import test_kills
import test_same_bytes


class Drawn:
    def setUp(self):
        seed = os.environ.get("SHALE_TEST_SEED")
        drawn = self.container if seed is None else ("lmdb", "hdf5")[int(seed) % 2]
        if self.container != drawn:
            self.skipTest(f"SHALE_TEST_SEED={seed}: {drawn}")
        super().setUp()


class DamageLmdb(Drawn, test_damage.Damage):
    container, suffix = "lmdb", "lmdb"


class DamageHdf5(Drawn, test_damage.Damage):
    container, suffix = "hdf5", "h5"


class SameBytesLmdb(Drawn, test_same_bytes.SameBytes):
    container, suffix = "lmdb", "lmdb"


class SameBytesHdf5(Drawn, test_same_bytes.SameBytes):
    container, suffix = "hdf5", "h5"


class KilledRunsLmdb(Drawn, test_kills.KilledRuns):
    container, suffix = "lmdb", "lmdb"
    # Once is enough.
    test_sigkill_while_another_dataset_is_overwritten = None
    test_sigterm_and_sigint_stop_the_run_with_130 = None
    test_a_stopped_run_says_so_and_what_to_do = None
    test_verify_changes_nothing_when_it_is_stopped = None


class KilledRunsHdf5(KilledRunsLmdb):
    container, suffix = "hdf5", "h5"
