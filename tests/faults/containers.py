"""Damage, kills and equal bytes once more, for each of the other containers."""

from damage import Damage
from kills import KilledRuns
from same_bytes import SameBytes

__all__ = ["DamageHdf5", "DamageLmdb", "KilledRunsHdf5", "KilledRunsLmdb", "SameBytesHdf5", "SameBytesLmdb"]


class DamageLmdb(Damage):
    container, suffix = "lmdb", "lmdb"


class DamageHdf5(Damage):
    container, suffix = "hdf5", "h5"


class SameBytesLmdb(SameBytes):
    container, suffix = "lmdb", "lmdb"


class SameBytesHdf5(SameBytes):
    container, suffix = "hdf5", "h5"


class KilledRunsLmdb(KilledRuns):
    container, suffix = "lmdb", "lmdb"
    # Once is enough.
    test_sigkill_while_another_dataset_is_overwritten = None
    test_sigterm_and_sigint_stop_the_run_with_130 = None
    test_a_stopped_run_says_so_and_what_to_do = None
    test_verify_changes_nothing_when_it_is_stopped = None


class KilledRunsHdf5(KilledRunsLmdb):
    container, suffix = "hdf5", "h5"
