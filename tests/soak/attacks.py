"""The attacks of a soak. Each takes a Field and dice, injects faults, checks what must hold, and returns how many faults it injected.

Damage is to be found (exit 3) or to be without effect: what is written then has the digests of the source. What a signal or a full disk
stops leaves nothing half-done under a final name, and the same command finishes.
"""

import os
import shutil
import signal
import subprocess

from ground import CONTAINERS, copy_of, digests, pick_file
from hostile import hostile_manifest
from shale_tool import differences

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FAULTS_IN_A_ROUND = 12


# ---- commands that write ---------------------------------------------------------------------------------------------------


def some_conversion(field, dice, out):
    """Words that write `out`, a directory."""
    container = dice.choice(CONTAINERS)
    source = dice.choice(
        [
            [field.ground.photos],
            field.ground.columns,
            [field.ground.sets[f"photos-{dice.choice(CONTAINERS)}"]],
            [field.ground.sets[f"arrays-{dice.choice((*CONTAINERS, 'npy'))}"]],
        ]
    )
    words = ["convert", *source, out, "--to", container, "--shard-samples", dice.choice((40, 1000)), "--jobs", dice.randint(1, 3)]
    words += dice.choice([[], ["--shuffle", "--seed", dice.randint(0, 9)]])
    return [*words, *dice.choice([[], ["--verify"], ["--io", "direct"], ["--memory", "16MiB"]])]


def some_file(field, dice, out):
    """Words that write `out`, an .npy file."""
    array = field.ground.folder / "x.npy"
    of_set = field.ground.sets[f"arrays-{dice.choice(('npy', 'hdf5'))}"]
    return dice.choice(
        [
            ["resample", array, out, "--rows", 2000, "--seed", dice.randint(0, 9)],
            ["resample", array, out, "--replace", "--rows", 5000, "--memory", "16MiB"],
            ["convert", array, array, out],
            ["convert", of_set, out, "--fields", "x"],
        ]
    )


def reference_of(field, words, out):
    """What the command writes when nothing disturbs it."""
    reference = out.with_name("reference" + out.suffix)
    field.run(*[reference if word == out else word for word in words], codes=(0, 4))
    return reference


def is_same(left, right):
    return not differences(left, right) if left.is_dir() else left.read_bytes() == right.read_bytes()


def hidden_entries(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


def kills(field, dice):
    return strikes(field, dice, [signal.SIGKILL])


def signals(field, dice):
    return strikes(field, dice, SIGNALS)


def strikes(field, dice, which):
    """A command that writes, struck again and again, and then left alone."""
    is_set = dice.random() < 0.7
    out = field.folder / ("out" if is_set else "out.npy")
    words = (some_conversion if is_set else some_file)(field, dice, out)
    reference = reference_of(field, words, out)
    faults = 0
    for _ in range(FAULTS_IN_A_ROUND):
        done = field.struck(dice.choice(which), dice.uniform(0, 0.12), words)
        faults += done.code not in (0, 4)
        is_whole = (out / "dataset.json").exists() if is_set else out.exists()
        if done.code in (0, 4):
            field.check(is_whole and is_same(out, reference), "differs from a run that nothing disturbed", done)
        if is_whole:
            remove(out)
        elif is_set and out.exists():
            for name in set(os.listdir(out)) - {".shale"}:
                whole = reference / name
                field.check(whole.exists() and whole.read_bytes() == (out / name).read_bytes(), f"{name} is not whole", done)
    last = field.run(*words, codes=(0, 4))
    field.check(is_same(out, reference), "differs from a run that nothing disturbed", last)
    left = hidden_entries(field.folder) + (hidden_entries(out) if is_set else [])
    field.check(not left, f"left behind: {left}", last)
    return faults


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def overwrites(field, dice):
    """--overwrite that is struck leaves the old set or the new one, or says that it is unfinished and finishes."""
    old, new = (field.ground.sets[f"photos-{container}"] for container in dice.sample(CONTAINERS, 2))
    out = field.folder / "out"
    shutil.copytree(old, out)
    mine = out / "notes of mine"
    mine.write_text("precious")
    words = ["convert", new, out, "--to", dice.choice(CONTAINERS), "--overwrite", "--shard-samples", 40]
    faults = 0
    for _ in range(FAULTS_IN_A_ROUND):
        done = field.struck(dice.choice((signal.SIGKILL, *SIGNALS)), dice.uniform(0, 0.12), words)
        faults += done.code not in (0, 4)
        field.check(mine.read_text() == "precious", "a file of the user has changed", done)
        verified = field.run("verify", out, codes=(0, 1))
        field.check(verified.code == 0 or ".shale" in os.listdir(out), "neither whole nor unfinished", done, verified)
    last = field.run(*words, codes=(0, 4))
    field.run("verify", out, codes=(0,))
    field.check(not hidden_entries(out), f"left behind: {hidden_entries(out)}", last)
    return faults


def reading_signals(field, dice):
    """verify, index and info, struck."""
    place = field.ground.sets[dice.choice(sorted(field.ground.sets))]
    file = field.folder / "copy.lmdb"
    shutil.copyfile(field.ground.folder / "foreign/maps.lmdb", file)
    faults = 0
    for _ in range(FAULTS_IN_A_ROUND):
        words = dice.choice(
            [
                ["verify", place, "--deep", "--jobs", dice.randint(1, 4)],
                ["verify", place, "--jobs", dice.randint(1, 4)],
                ["verify", file, "--deep"],
                ["index", file, "--crc", "--index-dir", field.folder / "ix"],
            ]
        )
        done = field.struck(dice.choice(SIGNALS), dice.uniform(0, 0.03), words)
        faults += done.code != 0
        field.check(not os.listdir(field.tmp), f"left in TMPDIR: {os.listdir(field.tmp)}", done)
    return faults


# ---- damage ----------------------------------------------------------------------------------------------------------------


def flip(path, dice):
    content = bytearray(path.read_bytes())
    at, bit = dice.randrange(len(content)), dice.randrange(8)
    content[at] ^= 1 << bit
    path.write_bytes(content)
    return f"{path.name}: bit {bit} of byte {at}"


def truncate(path, dice):
    size = path.stat().st_size
    left = dice.choice((0, 1, size // 2, size - 1, dice.randrange(size)))
    os.truncate(path, left)
    return f"{path.name}: truncated from {size} to {left} bytes"


def extend(path, dice):
    with open(path, "ab") as file:
        file.write(dice.choice((b"\0", b"\n", b"\0" * 4096)))
    return f"{path.name}: extended"


def blank(path, dice):
    content = bytearray(path.read_bytes())
    begin = dice.randrange(len(content))
    was = bytes(content[begin : begin + 512])
    content[begin : begin + 512] = bytes(len(was)) if any(was) else b"\1" * len(was)
    path.write_bytes(content)
    return f"{path.name}: 512 bytes from {begin} on are blank"


def vanish(path, _):
    path.unlink()
    return f"{path.name}: removed"


def swap(path, dice):
    """With another file of the set that differs."""
    others = [other for other in sorted(path.parent.iterdir()) if other.read_bytes() != path.read_bytes()]
    other = dice.choice(others)
    left, right = path.read_bytes(), other.read_bytes()
    path.write_bytes(right)
    other.write_bytes(left)
    return f"{path.name} and {other.name} swapped"


def damage(field, dice):
    """Each command that reads a set finds the damage, or is right all the same."""
    name = dice.choice(sorted(field.ground.sets))
    original = field.ground.sets[name]
    for turn in range(FAULTS_IN_A_ROUND):
        place = copy_of(field, name)
        story = dice.choice((flip, flip, flip, flip, truncate, extend, blank, vanish, swap))(pick_file(place, dice), dice)
        depth = dice.choice((["--full"], ["--deep"], []))
        # Without a manifest that is shale's a folder is unfinished or nobody's, and a file that is not there is the disk's fault.
        absent = (1,) if "dataset.json" in story or "removed" in story else ()
        verified = field.run("verify", place, *depth, codes=(3, *absent))
        field.check(verified.err, story, verified)
        check_conversion(field, dice, place, original, story, turn, absent)
        check_rows(field, dice, place, original, story)
        shutil.rmtree(place)
    return FAULTS_IN_A_ROUND


def check_conversion(field, dice, place, original, story, turn, absent):
    out = field.folder / f"out-{turn}"
    done = field.run("convert", place, out, "--to", dice.choice(CONTAINERS), codes=(0, 3, 4, *absent))
    if done.code in (0, 4):
        field.check(digests(out) == digests(original), f"{story}: passed on", done)
    else:
        field.check(not (out / "dataset.json").exists(), f"{story}: a manifest is there", done)
    if out.exists():
        shutil.rmtree(out)


def check_rows(field, dice, place, original, story):
    samples = digests(original)[0]
    for row in [dice.randrange(samples) for _ in range(3)]:
        fields = ("image", "label") if "photos" in original.name else ("x", "y")
        words = [row, "--field", dice.choice(fields)]
        found = field.run("cat", place, *words, codes=(0, 1, 3))
        if found.code == 0:
            right = field.run("cat", original, *words, codes=(0,))
            field.check(found.out == right.out, f"{story}: another value", found)


def python_reads(field, dice):
    """shale.Dataset gives the right samples of a damaged set, or raises an error of shale's."""
    import shale

    name = dice.choice(sorted(field.ground.sets))
    whole = shale.Dataset(field.ground.sets[name])
    for _ in range(FAULTS_IN_A_ROUND):
        place = copy_of(field, name)
        story = dice.choice((flip, flip, flip, truncate, blank, swap))(pick_file(place, dice), dice)
        rows = [dice.randrange(len(whole)) for _ in range(20)]
        try:
            # "auto" proves what an index has checksums of: rows of arrays have none.
            found = shale.Dataset(place, verify=True if "arrays" in name else "auto").__getitems__(rows)
        except shale.Error:
            found = None
        if found is not None:
            field.check(repr(found) == repr(whole.__getitems__(rows)), f"{name}: {story}: another value")
        shutil.rmtree(place)
    return FAULTS_IN_A_ROUND


def foreign_files(field, dice):
    """Mutated files of other tools: an answer or a clear refusal; what converts is whole."""
    original = dice.choice([path for path in field.ground.foreign if path.suffix in (".lmdb", ".h5", ".npy", ".npz")])
    for turn in range(FAULTS_IN_A_ROUND):
        path = field.folder / f"{turn}{original.suffix}"
        shutil.copyfile(original, path)
        for _ in range(dice.randint(1, 4)):
            dice.choice((flip, flip, truncate, extend, blank))(path, dice)
            if path.stat().st_size == 0:
                break
        for words in (["info", path], ["verify", path], ["index", path, "--index-dir", field.folder / f"ix-{turn}"]):
            field.run(*words, codes=(0, 1, 2, 3))
        out = field.folder / f"out-{turn}"
        done = field.run("convert", path, out, "--to", dice.choice((*CONTAINERS, "npy")), codes=(0, 1, 2, 3))
        if done.code == 0:
            field.run("verify", out, "--deep", codes=(0,))
    return FAULTS_IN_A_ROUND


def manifests(field, dice):
    """Hostile manifests with a right hash of their own: every command ends soon, with an answer or a clear error."""
    place = copy_of(field, dice.choice(sorted(field.ground.sets)))
    manifest = place / "dataset.json"
    whole = manifest.read_bytes()
    for turn in range(FAULTS_IN_A_ROUND):
        manifest.write_bytes(hostile_manifest(whole, dice))
        out = field.folder / f"out-{turn}"
        for words in (
            ["info", place],
            ["verify", place, *dice.choice((["--quick"], ["--full"], ["--deep"]))],
            ["cat", place, 0],
            ["convert", place, out, "--to", dice.choice(CONTAINERS), *dice.choice(([], ["--dry-run"]))],
        ):
            done = field.run(*words, codes=(0, 1, 2, 3, 4))
            raw = [c for c in done.out + done.err if ord(c) < 32 and c not in "\n\t"]
            field.check(not raw or words[0] == "cat", f"raw control characters: {raw}", done)
    return FAULTS_IN_A_ROUND


# ---- surroundings ------------------------------------------------------------------------------------------------------------


def full_disks(field, dice):
    """A file system that is too small: a clear error, nothing half-done; with more room the same command finishes."""
    disk = field.folder / "disk"
    disk.mkdir()
    faults = 0
    for _ in range(4):
        kib = dice.choice((8, 64, 256, dice.randint(16, 3000)))
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", disk], check=True)
        try:
            is_set = dice.random() < 0.7
            out = disk / ("out" if is_set else "out.npy")
            words = (some_conversion if is_set else some_file)(field, dice, out)
            done = field.run(*words, codes=(0, 1, 4))
            faults += done.code == 1
            if done.code == 1:
                field.check(not (out / "dataset.json").exists() if is_set else not out.exists(), "half a result", done)
                subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
                field.run(*words, codes=(0, 4))
            field.check(not hidden_entries(disk), f"left behind: {hidden_entries(disk)}", done)
        finally:
            subprocess.run(["umount", "-l", disk], check=True)
    return faults


def clean_runs(field, dice):
    """Nothing is wrong, and nothing is said to be: no fault is injected here."""
    out = field.folder / "out"
    field.run(*some_conversion(field, dice, out), codes=(0, 4))
    field.run("verify", out, *dice.choice((["--deep"], ["--full"], ["--quick"])), codes=(0,))
    copy = field.folder / "copy"
    field.run("convert", out, copy, "--to", dice.choice(CONTAINERS), codes=(0,))
    field.check(digests(copy) == digests(out), "the digests differ")
    field.run("cat", copy, dice.randrange(digests(out)[0]), codes=(0,))
    array = field.folder / "out.npy"
    field.run(*some_file(field, dice, array), codes=(0,))
    # What is compressed has no place of its own in its file: only convert reads it.
    file = dice.choice([path for path in field.ground.foreign if path.name not in ("packed.h5", "rows.npz")])
    field.run("verify", file, codes=(0,))
    field.run("info", file, codes=(0,))
    return 0


ATTACKS = {
    "clean": clean_runs,
    "damage": damage,
    "foreign": foreign_files,
    "full": full_disks,
    "kill": kills,
    "manifest": manifests,
    "overwrite": overwrites,
    "python": python_reads,
    "reading": reading_signals,
    "signal": signals,
}
WEIGHTS = {name: 3 if name in ("damage", "clean") else 2 for name in ATTACKS}
