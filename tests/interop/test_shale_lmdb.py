"""shale.lmdb beside the real py-lmdb: the same calls on the same files give the same results and the same errors."""

import ast
import inspect
import os
import pathlib
import random
import threading

import lmdb as real
import pytest
import shale.lmdb as ours
from dataset_reading import manifest_of, shard_file_of
from lmdb_files import flip, random_key, write_lmdb, write_random_lmdb, write_with_flags

WRITES = ["put", "delete", "replace", "pop", "drop", "putmulti"]  # refused whatever they are given
READ = dict(subdir=False, readonly=True, lock=False)


def outcome(act):
    """What a call gives: its value, or the name, code and what of its error."""
    try:
        value = act()
    except Exception as error:
        return type(error).__name__, getattr(error, "code", None), getattr(error, "what", None) or str(error)
    return plain(value)


def plain(value):
    if isinstance(value, memoryview):
        return "view", bytes(value)
    return type(value)(map(plain, value)) if isinstance(value, (tuple, list)) else value


class Both:
    """The same method called on two objects, theirs and ours; the outcomes must be equal."""

    def __init__(self, theirs, mine):
        self.theirs, self.mine = theirs, mine

    def same(self, name, *args, **more):
        wanted, got = (outcome(lambda: getattr(each, name)(*args, **more)) for each in (self.theirs, self.mine))
        assert got == wanted, f"{type(self.mine).__name__}.{name}{args}{more}"
        return got

    def pair(self, name, *args, **more):
        return Both(*(getattr(each, name)(*args, **more) for each in (self.theirs, self.mine)))


def open_both(path, **more):
    settings = {**READ, **more}
    return Both(real.open(path, **settings), ours.open(path, **settings))


def close_both(both):
    both.theirs.close()
    both.mine.close()


def compare_whole(path, **more):
    """Every entry forwards and backwards, and what the environment and a transaction say of themselves."""
    env = open_both(path, **more)
    for name in ("stat", "info", "flags", "path", "max_key_size", "max_readers", "readers", "reader_check", "sync", "dbs"):
        env.same(name)
    txn = env.pair("begin")
    txn.same("id")
    txn.same("stat")
    assert list(txn.mine.cursor()) == list(txn.theirs.cursor())
    assert list(txn.mine.cursor().iterprev()) == list(txn.theirs.cursor().iterprev())
    for key in txn.theirs.cursor().iternext(values=False):
        assert txn.mine.get(key) == txn.theirs.get(key)
    close_both(env)


FILES = {
    "empty": {},
    "one entry": {b"k": b"v"},
    "one empty value": {b"k": b""},
    "10^5 entries": {b"%08d" % i: b"%d" % (i * 7919) for i in range(100_000)},
    "keys of 1 to 511 bytes": {bytes([65 + i % 26]) * i: b"%d" % i for i in range(1, 512)},
    "values of 0 B to 5 MB": {b"%08d" % size: os.urandom(size) for size in (0, 1, 2, 2021, 2022, 2030, 4079, 4080, 4081, 99_999, 5_000_000)},
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_reads_as_py_lmdb_reads_it(name, tmp_path):
    compare_whole(write_lmdb(tmp_path / "a.lmdb", FILES[name]))


def test_a_folder_reads_as_py_lmdb_reads_it(tmp_path):
    path = write_lmdb(tmp_path / "folder", {b"%d" % i: b"x" * i for i in range(500)}, subdir=True)
    compare_whole(path, subdir=True, map_size=1 << 20, max_readers=7, readahead=False, meminit=False)
    compare_whole(path.encode(), subdir=True)


@pytest.mark.parametrize("flags", [0x02, 0x08])
def test_keys_that_are_integers_or_reversed_read_as_py_lmdb_reads_them(flags, tmp_path):
    dice = random.Random(flags)
    numbers = [dice.randrange(1 << 32) for _ in range(2000)]
    path = write_with_flags(tmp_path / "a.lmdb", [(n.to_bytes(4, "little"), b"%d" % n) for n in numbers], flags)
    compare_whole(path)
    assert ours.open(path, **READ).open_db().flags() == real.open(path, **READ).open_db().flags()


def test_shards_of_shale_read_as_py_lmdb_reads_them(photos, shale, tmp_path):
    shale("convert", photos, tmp_path / "out", "--to", "lmdb", "--shard-samples", "25")
    for shard in manifest_of(tmp_path / "out")["shards"]:
        compare_whole(str(shard_file_of(tmp_path / "out", shard)))


# ---- cursors: hundreds of sequences, move by move

MOVES = ["first", "last", "next", "prev", "next_dup", "prev_dup", "next_nodup", "prev_nodup", "key", "value", "item", "count", "first_dup", "last_dup"]  # fmt: skip
KEYED = ["set_key", "set_range", "get", "set_key", "set_range"]
ITERATORS = ["iternext", "iterprev", "iternext_dup", "iterprev_dup", "iternext_nodup", "iterprev_nodup"]


def one_move(dice, cursor, iterators, keys):
    kind = dice.random()
    key = dice.choice(keys) if dice.random() < 0.5 else random_key(dice, 6)
    if kind < 0.5:
        cursor.same(dice.choice(MOVES))
    elif kind < 0.75:
        cursor.same(dice.choice(KEYED), dice.choice([key, key, key, bytearray(key), memoryview(key), b"", "text", None, key * 600]))
    elif kind < 0.80:
        cursor.same("set_key_dup", key, b"v")
        cursor.same("set_range_dup", key, b"v")
    elif kind < 0.84:
        wanted = [dice.choice(keys) for _ in range(3)] + [key]
        cursor.same("getmulti", wanted, dice.random() < 0.1)
        cursor.same("getmulti", wanted, values=False)
        cursor.same("getmulti", wanted, True, 4)
        cursor.same("getmulti", wanted, False, 4)
    elif kind < 0.88:
        iterators.append(cursor.pair(dice.choice(ITERATORS), keys=dice.random() < 0.7, values=dice.random() < 0.7))
    elif iterators:
        dice.choice(iterators).same("__next__")
    cursor.same("item")


@pytest.mark.parametrize("seed", range(60))
def test_random_moves_of_cursors_end_where_py_lmdb_ends(seed, tmp_path):
    print(f"seed {seed}")
    dice = random.Random(seed)
    env = open_both(write_random_lmdb(tmp_path / "a.lmdb", seed))
    for _ in range(8):
        txn = env.pair("begin", buffers=dice.random() < 0.3)
        keys = list(env.theirs.begin().cursor().iternext(values=False)) or [b"none"]
        cursor, iterators = txn.pair("cursor"), []
        for _ in range(60):
            one_move(dice, cursor, iterators, keys)
        for key in dice.sample(keys, min(20, len(keys))):
            txn.same("get", key)
            txn.same("get", key + b"x", 5)
    close_both(env)


# ---- errors

OPENINGS = [
    ("gone", dict(READ)), ("gone", dict(READ, subdir=True)), ("gone/deeper", dict(READ)), ("gone", dict(readonly=False, create=False)),
    ("file", dict(READ, subdir=True)), ("folder", dict(READ)), ("text", dict(READ)), ("short", dict(READ)),
    (3, dict(READ)), (None, dict(READ)), ("file", dict(READ, map_size=-1)), ("file", dict(READ, max_readers=0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), OPENINGS)
def test_what_cannot_be_opened_raises_what_py_lmdb_raises(name, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lmdb("file", {b"k": b"v"})
    os.mkdir("folder")
    pathlib.Path("text").write_text("no database" * 1000)
    pathlib.Path("short").write_text("no")
    wanted, got = (outcome(lambda: module.open(name, **settings)) for module in (real, ours))
    assert got[:2] == wanted[:2]
    assert str(wanted[2]).split(":")[0] in str(got[2])


def test_closed_things_raise_what_py_lmdb_raises(tmp_path):
    env = open_both(write_lmdb(tmp_path / "a.lmdb", FILES["one entry"]))
    txn = env.pair("begin")
    cursor, second = txn.pair("cursor"), txn.pair("cursor")
    iterator = second.pair("iternext")
    cursor.same("close")
    for name in ("key", "value", "item", "first", "next", "count", "iternext"):
        cursor.same(name)
    txn.same("commit")
    for name, args in (("commit", ()), ("abort", ()), ("get", (b"k",)), ("stat", ()), ("id", ()), ("cursor", ())):
        txn.same(name, *args)
    second.same("next")
    iterator.same("__next__")
    txn = env.pair("begin")
    cursor = txn.pair("cursor")
    env.same("close")
    env.same("close")
    for name in ("stat", "info", "flags", "path", "max_key_size", "max_readers", "readers", "sync", "begin", "open_db", "dbs", "lib_version"):
        env.same(name)
    txn.same("get", b"k")
    txn.same("id")
    cursor.same("first")


def test_arguments_that_make_no_sense_raise_what_py_lmdb_raises(tmp_path):
    env = open_both(write_lmdb(tmp_path / "a.lmdb", FILES["one entry"]))
    env.same("begin", db=3)
    env.same("open_db", "text")
    env.same("open_db", b"name")
    env.same("open_db", None, dupsort=True)
    txn = env.pair("begin")
    for key in (b"", "text", None, 5, memoryview(b"aabb")[::2]):
        assert txn.same("get", key)
    txn.same("get", b"k", None, 3)
    assert txn.same("get", key=b"k", default=1, db=None) == b"v"


def test_names_and_parameters_are_those_of_py_lmdb():
    assert set(real.__all__) <= {*dir(ours)}
    for name in real.__all__:
        if inspect.isclass(getattr(real, name)) and issubclass(getattr(real, name), Exception):
            assert issubclass(getattr(ours, name), ours.Error)
    for kind in ("Environment", "Transaction", "Cursor", "_Database"):
        public = {name for name in dir(getattr(real, kind)) if not name.startswith("__")}
        assert public <= {*dir(getattr(ours, kind))}, kind
    assert ours.version() == real.version()


def stub_signatures():
    """(class, method) -> names of its parameters, of the stubs that py-lmdb brings along; overloads count once."""
    tree = ast.parse(pathlib.Path(real.__file__).with_name("__init__.pyi").read_text())
    for kind in (node for node in tree.body if isinstance(node, ast.ClassDef) and hasattr(ours, node.name)):
        for method in (node for node in kind.body if isinstance(node, ast.FunctionDef)):
            arguments = method.args.posonlyargs + method.args.args
            if not method.args.kwonlyargs and not method.args.vararg:
                yield (kind.name, method.name), [argument.arg for argument in arguments[1:]]


def test_parameters_have_the_names_and_order_of_py_lmdb():
    signatures = dict(stub_signatures())
    assert len(signatures) > 60
    for (kind, name), wanted in signatures.items():
        if issubclass(getattr(ours, kind), Exception) or name in [*WRITES, "flags", "__iter__"]:
            continue
        method = getattr(getattr(ours, kind), {"__new__": "__init__"}.get(name, name))
        assert list(inspect.signature(method).parameters)[1:] == wanted, f"{kind}.{name}"


def test_writes_are_refused_by_name_and_nothing_is_made(tmp_path):
    path = write_lmdb(tmp_path / "a.lmdb", FILES["one entry"])
    env = ours.open(path, subdir=False)
    txn = env.begin()
    cursor = txn.cursor()
    cursor.first()
    attempts = [
        lambda: env.begin(write=True), lambda: env.copy(str(tmp_path)), lambda: env.copyfd(1), lambda: txn.put(b"a", b"b"),
        lambda: txn.delete(b"k"), lambda: txn.pop(b"k"), lambda: txn.replace(b"k", b"b"), lambda: txn.drop(env.open_db()),
        lambda: cursor.put(b"a", b"b"), lambda: cursor.putmulti([(b"a", b"b")]), lambda: cursor.delete(), lambda: cursor.pop(b"k"),
        lambda: cursor.replace(b"k", b"b"), lambda: ours.open(str(tmp_path / "new")), lambda: ours.open(str(tmp_path / "new"), subdir=False),
    ]  # fmt: skip
    for attempt in attempts:
        with pytest.raises(ours.ReadonlyError, match=r"would write, and shale\.lmdb only reads.*real lmdb"):
            attempt()
    assert env.sync() is None
    assert os.listdir(tmp_path) == ["a.lmdb"]


def test_named_databases_and_duplicates_are_refused_by_name(tmp_path):
    env = real.open(str(tmp_path / "a.lmdb"), subdir=False, lock=False, max_dbs=2)
    with env.begin(write=True, db=env.open_db(b"named")) as txn:
        txn.put(b"inside", b"1")
    with env.begin(write=True) as txn:
        txn.put(b"plain", b"2")
    env.close()
    compare = open_both(str(tmp_path / "a.lmdb"), max_dbs=2)
    compare.same("dbs")
    txn = compare.pair("begin")
    assert list(txn.mine.cursor()) == list(txn.theirs.cursor())
    assert txn.mine.get(b"plain") == b"2"
    for attempt in (lambda: txn.mine.get(b"named"), lambda: compare.mine.open_db(b"named")):
        with pytest.raises(ours.IncompatibleError, match="b'named'"):
            attempt()
    write_with_flags(tmp_path / "b.lmdb", [(b"a", b"1"), (b"a", b"2")], 0x04)
    with pytest.raises(ours.IncompatibleError, match="MDB_DUPSORT"):
        ours.open(str(tmp_path / "b.lmdb"), **READ)


# ---- snapshots, memoryviews, threads

def test_a_transaction_sees_the_state_it_began_with(tmp_path):
    path = write_lmdb(tmp_path / "a.lmdb", {b"%04d" % i: b"old" for i in range(1000)})
    env = open_both(path)
    before = env.pair("begin")
    close = real.Environment.close
    close(env.theirs)
    write_lmdb(path, {b"%04d" % i: b"new" for i in range(1001)})
    assert before.mine.get(b"0007") == b"old" and before.mine.stat()["entries"] == 1000
    with env.mine.begin() as txn:
        assert txn.get(b"0007") == b"new" and txn.stat()["entries"] == 1001 == env.mine.stat()["entries"]
        assert txn.id() == before.mine.id() + 1


def test_a_memoryview_outlives_its_transaction_and_environment(tmp_path):
    path = write_lmdb(tmp_path / "a.lmdb", {b"k": b"v" * 100_000})
    with ours.open(path, **READ) as env, env.begin(buffers=True) as txn:
        view = txn.get(b"k")
    os.truncate(path, 0)
    assert view.readonly and bytes(view) == b"v" * 100_000


def test_threads_share_environment_transaction_and_cursor(tmp_path):
    entries = {b"%05d" % i: b"%d" % i * 50 for i in range(5000)}
    env = ours.open(write_lmdb(tmp_path / "a.lmdb", entries), **READ)
    txn = env.begin()
    shared, wrong = txn.cursor(), []

    def read(seed):
        dice = random.Random(seed)
        for key in dice.sample(sorted(entries), 2000):
            shared.set_key(key)
            item = shared.item()
            if txn.get(key) != entries[key] or (item != (b"", b"") and entries[item[0]] != item[1]):
                wrong.append(key)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == []


# ---- damage

def read_all(path):
    with ours.open(path, **READ) as env, env.begin() as txn:
        entries = list(txn.cursor())
        assert [(key, txn.get(key)) for key, _ in entries] == entries
        return entries


def test_a_file_cut_at_any_page_raises(tmp_path):
    path = write_lmdb(tmp_path / "a.lmdb", {b"%05d" % i: bytes(200) for i in range(400)} | {b"big%d" % i: bytes(9000) for i in range(9)})
    content = pathlib.Path(path).read_bytes()
    for size in range(0, len(content), 2048):
        os.truncate(path, size)
        with pytest.raises((ours.CorruptedError, ours.InvalidError), match="a.lmdb"):
            read_all(path)
        pathlib.Path(path).write_bytes(content)
    env = ours.open(path, **READ)
    os.truncate(path, 3 * 4096)
    with env.begin() as txn, pytest.raises(ours.CorruptedError, match=r"a\.lmdb: byte \d+"):
        [txn.get(b"big%d" % i) for i in range(9)]


def test_flipped_bits_of_pages_give_entries_or_errors(tmp_path):
    dice = random.Random(8)
    path = write_lmdb(tmp_path / "a.lmdb", {b"%05d" % i: b"v" * (i % 60) for i in range(900)})
    size = os.path.getsize(path)
    raised = 0
    for _ in range(300):
        place = dice.randrange(size), dice.randrange(8)
        flip(path, *place)
        try:
            assert len(read_all(path)) <= 2000
        except (ours.CorruptedError, ours.InvalidError, ours.IncompatibleError):
            raised += 1
        flip(path, *place)
    assert raised > 50
    assert len(read_all(path)) == 900
