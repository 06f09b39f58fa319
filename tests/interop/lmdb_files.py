"""LMDB files that the real py-lmdb writes, and liblmdb itself where py-lmdb cannot: what shale.lmdb must read."""

import ctypes
import ctypes.util
import os
import pathlib
import random

import lmdb as real


def write_lmdb(path, entries, subdir=False, transactions=1, **more):
    """Writes entries, a dict or pairs, in so many transactions."""
    pairs = list(entries.items() if isinstance(entries, dict) else entries)
    env = real.open(str(path), subdir=subdir, map_size=1 << 34, lock=False, sync=False, **more)
    for part in range(transactions):
        with env.begin(write=True) as txn:
            for key, value in pairs[part::transactions]:
                txn.put(key, value)
    env.close()
    return str(path)


def random_key(dice, most):
    return bytes(dice.choice(b"abc\x00\xff") for _ in range(dice.randint(1, most)))


def write_random_lmdb(path, seed):
    """A file with a history: entries of many sizes, replaced and deleted in several transactions, so that pages are free."""
    dice = random.Random(seed)
    most = dice.choice([3, 10, 511])
    keys = [random_key(dice, most) for _ in range(dice.choice([1, 30, 700, 3000]))]
    env = real.open(str(path), subdir=False, map_size=1 << 32, lock=False, sync=False)
    for _ in range(dice.randint(1, 5)):
        with env.begin(write=True) as txn:
            for key in dice.sample(keys, max(1, len(keys) // 2)):
                if dice.random() < 0.3:
                    txn.delete(key)
                else:
                    size = dice.choice([0, 1, 50, 300, 2026, 2027, 5000, 40_000 if dice.random() < 0.1 else 10])
                    txn.put(key, dice.randbytes(size))
    env.close()
    return str(path)


class _Value(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p)]


def write_with_flags(path, entries, tree_flags):
    """Writes a main database with flags that py-lmdb does not give it: 0x02 reverse keys, 0x08 integer keys, 0x04 duplicates."""
    library = ctypes.CDLL(ctypes.util.find_library("lmdb"))
    nosubdir_nolock, rdwr_mode = 0x4000 | 0x400000, 0o644

    def must(code):
        assert code == 0, f"liblmdb: {code}"

    def value_of(content):
        buffer = ctypes.create_string_buffer(content, max(1, len(content)))
        value = _Value(len(content), ctypes.cast(buffer, ctypes.c_void_p))
        value.keeps = buffer
        return value

    env, txn, dbi = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
    must(library.mdb_env_create(ctypes.byref(env)))
    must(library.mdb_env_set_mapsize(env, ctypes.c_size_t(1 << 30)))
    must(library.mdb_env_open(env, os.fsencode(path), nosubdir_nolock, rdwr_mode))
    must(library.mdb_txn_begin(env, None, 0, ctypes.byref(txn)))
    must(library.mdb_dbi_open(txn, None, tree_flags | 0x40000, ctypes.byref(dbi)))
    for key, content in entries:
        name, value = value_of(key), value_of(content)
        must(library.mdb_put(txn, dbi, ctypes.byref(name), ctypes.byref(value), 0))
    must(library.mdb_txn_commit(txn))
    library.mdb_env_close(env)
    return str(path)


def flip(path, offset, bit):
    content = bytearray(pathlib.Path(path).read_bytes())
    content[offset] ^= 1 << bit
    pathlib.Path(path).write_bytes(content)
