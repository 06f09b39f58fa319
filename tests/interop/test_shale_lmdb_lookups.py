"""shale.lmdb: what is not found beside a writer, and arguments that are off, compared with the real py-lmdb."""

import subprocess
import sys

import lmdb as real
import pytest
import shale.lmdb as ours
from lmdb_files import write_lmdb
from test_shale_lmdb import outcome

READ = dict(subdir=False, readonly=True, lock=False)


def test_a_key_is_not_said_to_be_missing_once_its_pages_may_be_written_over(tmp_path):
    """Findings C6: beside a writer, get() gave None for keys that were there all the time."""
    path = write_lmdb(tmp_path / "f.lmdb", {b"%03d" % row: b"v" for row in range(300)})
    look_ups = {
        "get": lambda txn: txn.get(b"none"),
        "set_key": lambda txn: txn.cursor().set_key(b"none"),
        "set_range": lambda txn: txn.cursor().set_range(b"zzz"),
        "getmulti": lambda txn: txn.cursor().getmulti([b"none"]),
    }
    with ours.open(path, **READ) as env, real.open(path, subdir=False) as writer:
        old = env.begin()
        for commits in range(4):
            for name, look_up in look_ups.items():
                if commits < 2:
                    assert not look_up(old), name
                else:
                    with pytest.raises(ours.CorruptedError, match="another transaction"):
                        look_up(old)
                assert not look_up(env.begin()), name
            assert old.get(b"007") in (b"v", b"new") and env.begin().get(b"007")
            with writer.begin(write=True) as txn:
                txn.put(b"new%d" % commits, b"new")


def test_an_open_file_at_rest_says_what_is_missing(tmp_path):
    path = write_lmdb(tmp_path / "f.lmdb", {b"a": b"b"}, transactions=9)
    with ours.open(path, **READ) as env, env.begin() as txn:
        assert txn.get(b"x", 7) == 7 and not txn.cursor().set_range(b"b")


ODD = {
    "begin(db=)": lambda s: s.env.begin(db=s.other),
    "cursor(db=)": lambda s: s.txn.cursor(db=s.other),
    "get(db=)": lambda s: s.txn.get(b"k", db=s.other),
    "get(db=5)": lambda s: s.txn.get(b"k", db=5),
    "stat(db=)": lambda s: s.txn.stat(s.other),
    "Cursor(db, txn)": lambda s: s.lmdb.Cursor(s.other, s.txn),
    "get(db=) of its own": lambda s: s.txn.get(b"k", db=s.db),
    "open_db(b'')": lambda s: s.env.open_db(b""),
    "open_db(5)": lambda s: s.env.open_db(5),
    "open_db(str)": lambda s: s.env.open_db("x"),
    "open_db(b'') without max_dbs": lambda s: s.second.open_db(b""),
    "_iter_from(b'', True)": lambda s: list(s.cursor._iter_from(b"", True)),
    "_iter_from(b'', False)": lambda s: list(s.cursor._iter_from(b"", False)),
    "cursor.get(None)": lambda s: s.cursor.get(None),
    "getmulti([])": lambda s: s.cursor.getmulti([]),
    "getmulti(None)": lambda s: s.cursor.getmulti(None),
    "closed: getmulti([])": lambda s: s.closed.cursor.getmulti([]),
    "closed: cursor.get(None)": lambda s: s.closed.cursor.get(None),
    "closed: cursor.get(b'')": lambda s: s.closed.cursor.get(b""),
    "closed: get(None)": lambda s: s.closed.txn.get(None),
    "closed: get(db=)": lambda s: s.closed.txn.get(b"k", db=s.other),
    "closed: cursor(db=)": lambda s: s.closed.txn.cursor(db=s.other),
    **{
        f"{name}={value!r}": lambda s, name=name, value=value: s.lmdb.open(s.third, **READ, **{name: value}).close()  # type: ignore[misc]
        for name in ("max_dbs", "map_size", "max_readers", "max_spare_txns", "mode")
        for value in ("5", None, -1, 2.5, 2**70)
    },
}


class Setting:
    """Environments of one of the two packages, and what is got from them."""

    def __init__(self, lmdb, folder):
        self.lmdb = lmdb
        self.env, self.second = (lmdb.open(str(folder / name), **READ, max_dbs=dbs) for name, dbs in (("a", 2), ("b", 0)))
        self.third = str(folder / "c")
        self.db, self.other = self.env.open_db(), self.second.open_db()
        self.txn = self.env.begin()
        self.cursor = self.txn.cursor()
        self.closed = self.__class__.__new__(self.__class__)
        self.closed.txn = self.env.begin()
        self.closed.cursor = self.closed.txn.cursor()
        self.closed.txn.abort()


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    for name in "abc":
        write_lmdb(folder / name, {b"k": name.encode()})
    return Setting(real, folder), Setting(ours, folder)


@pytest.mark.parametrize("act", ODD.values(), ids=ODD)
def test_odd_arguments_give_what_py_lmdb_gives(settings, act):
    wanted, got = (outcome(lambda: act(setting)) for setting in settings)
    assert got == wanted or (got[0] == wanted[0] == "TypeError" and got[1:] != wanted[1:])


def test_names_below_lmdb_after_install():
    code = "import shale.lmdb; shale.lmdb.install(); from lmdb import cpython; import lmdb.cpython; assert cpython.open is shale.lmdb.open"
    subprocess.run([sys.executable, "-c", code], check=True)
