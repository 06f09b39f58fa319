"""Whose is it? Nothing that shale did not write is changed: every writing command beside everything that bears a name of shale's."""

import os
import resource
import shutil
import subprocess

from fault_case import IN_MEMORY, FaultCase
from shale_tool import make_photos, npy, snapshot, write

KINDS = ("file", "folder", "link", "loose link", "hard link")


def numbers(values):
    return npy("<i8", (len(values),), b"".join(value.to_bytes(8, "little") for value in values))


def inodes(folder):
    return {os.path.join(place, name): os.lstat(os.path.join(place, name)).st_ino for place, folders, names in os.walk(folder) for name in names + folders}


class ForeignNames(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "in", 6)
        self.array = self.folder / "a.npy"
        write(self.array, numbers(range(40)))
        self.other = self.folder / "other.npy"
        write(self.other, numbers(range(40, 80)))
        self.dataset = self.folder / "set"
        self.ok("convert", f"x={self.array}", self.dataset, "--to", "npy")
        lmdb = self.folder / "lmdb"
        self.ok("convert", self.array, lmdb, "--to", "lmdb")
        self.place = self.folder / "place"
        self.place.mkdir()
        self.file = self.place / "f.lmdb"
        shutil.copy(lmdb / "shard-000000.lmdb", self.file)
        self.out = self.place / "out"

    def take(self, path, kind):
        """Puts something of the user's at a path; what must not change is below self.place and self.precious."""
        precious = self.folder / "precious"
        if not precious.exists():
            write(precious / "lock", b"")
            write(precious / "dataset.json", b'{"labels": []}')
            write(precious / "file", b"precious")
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file":
            write(path, b"precious")
        elif kind == "folder":
            write(path / "deep/notes", b"precious")
            write(path / "notes", b"precious")
        elif kind == "link":
            path.symlink_to(precious if path.name.endswith(".shale") else precious / "file")
        elif kind == "loose link":
            path.symlink_to("nowhere")
        else:
            os.link(precious / "file", path)

    def commands(self):
        """Each command that writes, and the names in self.place that it makes, replaces or works under."""
        to_set = ["convert", f"x={self.array}", self.out, "--to", "npy"]
        set_names = ["out/.shale", "out/dataset.json", "out/shard-000000.x.npy", "out/shard-000000.blocks.npy", "out/skipped.csv", "out/shard-000000.tar"]
        array = self.place / "o.npy"
        return [
            (to_set, set_names),
            ([*to_set, "--overwrite"], set_names),
            (["resample", f"x={self.array}", self.out, "--to", "npy"], ["out/.shale", "out/dataset.json"]),
            (["convert", self.array, array], ["o.npy", ".o.npy.shale"]),
            (["convert", self.array, array, "--overwrite"], [".o.npy.shale"]),
            (["resample", self.array, array], ["o.npy", ".o.npy.shale"]),
            (["resample", self.array, self.place / "r.npy", "--also", f"{self.other}={array}"], [".o.npy.shale", "o.npy"]),
            (["resample", self.array, self.place / "r.npy", "--save-indices", array], [".o.npy.shale", "o.npy"]),
            (["index", self.file], ["f.lmdb.dataset.json", "f.lmdb.index.npy", ".f.lmdb.shale"]),
            (["index", self.file, "--crc"], ["f.lmdb.blocks.npy", "f.lmdb.dataset.json"]),
        ]

    def test_no_command_changes_what_bears_one_of_its_names(self):
        for words, names in self.commands():
            for name in names:
                for kind in KINDS:
                    path = self.place / name
                    self.take(path, kind)
                    with self.subTest(words=words[0], name=name, kind=kind), self.untouched(self.folder.path):
                        before = inodes(self.folder.path)
                        self.refused(*words, says=[self.place])
                        self.assertEqual(inodes(self.folder.path), before)
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                    shutil.rmtree(self.out, ignore_errors=True)

    def test_overwrite_leaves_what_the_manifest_does_not_list(self):
        """Beside a dataset: names that the new set needs are refused before anything goes, others stay."""
        for name, is_needed in (("shard-000001.x.npy", True), ("shard-000000.tar", False), ("shard-000000.bak", False), ("images.csv", True), (".shale", True)):
            for kind in KINDS:
                self.ok("convert", f"x={self.array}", self.out, "--to", "npy")
                self.take(self.out / name, kind)
                words = ["convert", f"x={self.other}", self.out, "--to", "npy", "--overwrite"]
                with self.subTest(name=name, kind=kind):
                    if is_needed:
                        with self.untouched(self.folder.path):
                            self.refused(*words, says=[self.out / name])
                    else:
                        before = snapshot(self.folder / "precious"), os.lstat(self.out / name).st_ino
                        self.ok(*words)
                        self.assertEqual((snapshot(self.folder / "precious"), os.lstat(self.out / name).st_ino), before)
                shutil.rmtree(self.out)

    def test_a_folder_of_another_tool_is_an_ordinary_input_and_no_output(self):
        """StyleGAN has a dataset.json, webdataset shards; a folder of images may hold anything of a name of ours."""
        for name, text in (("dataset.json", b'{"labels": [["a.png", 1]]}'), ("shard-000000.index.npy", b"x"), (".shale/notes", b"x"), ("shard-000000.tar", b"x")):
            write(self.photos / name, text)
        with self.untouched(self.photos):
            self.ok("convert", self.photos, self.out, "--to", "record")
            self.ok("verify", self.out, "--against", self.photos)
            for overwrite in ([], ["--overwrite"]):
                self.refused("convert", self.array, self.photos, "--to", "npy", *overwrite, says=["holds no shale dataset"])

    def test_a_damaged_manifest_does_not_say_what_may_go(self):
        self.ok("convert", f"x={self.array}", self.out, "--to", "npy")
        text = bytearray((self.out / "dataset.json").read_bytes())
        text[len(text) // 2] ^= 1
        (self.out / "dataset.json").write_bytes(text)
        with self.untouched(self.folder.path):
            self.refused("convert", f"x={self.other}", self.out, "--to", "npy", "--overwrite", says=[self.out / "dataset.json", "is damaged"])

    def test_an_overwrite_that_fails_leaves_the_old_set(self):
        self.ok("convert", self.photos, self.out, "--to", "record")
        large = make_photos(self.folder / "large", 8, sides=(150, 160))

        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        with self.untouched(self.out):
            self.refused("convert", large, self.out, "--to", "record", "--overwrite", says=["File too large"], preexec_fn=limit_files)

    def test_room_for_both_sets_is_asked_for_beforehand(self):
        with self.small_disk("200k") as disk:
            self.ok("convert", self.array, disk / "set", "--to", "npy")
            big = self.folder / "big.npy"
            write(big, numbers(range(40_000)))
            with self.untouched(disk):
                self.refused("convert", big, disk / "set", "--to", "npy", "--overwrite", says=["needs ", " of free space, only ", "free space for both"])


class InputsAsOutputs(FaultCase):
    """An output is never an input, by whatever name, nor inside of one or of a dataset."""

    base = IN_MEMORY

    def test_refused_through_any_spelling_and_link(self):
        array, labels = self.folder / "a.npy", self.folder / "b.npy"
        write(array, numbers(range(40)))
        write(labels, numbers(range(40)))
        dataset, inner = self.folder / "set", self.folder / "set/inner.npy"
        self.ok("convert", f"x={array}", f"y={labels}", dataset, "--to", "npy")
        (self.folder / "link.npy").symlink_to("a.npy")
        os.link(array, self.folder / "hard.npy")
        (self.folder / "way").symlink_to("set")
        shutil.copy(dataset / "shard-000000.x.npy", self.folder / "f.npy")
        same = [array, self.folder / "link.npy", self.folder / "hard.npy", self.folder / "set/../a.npy"]
        commands = [["convert", f"x={array}", f"y={labels}", output, "--fields", "y", "--overwrite"] for output in same]
        commands += [["resample", array, output, "--overwrite"] for output in same]
        commands += [["resample", labels, self.folder / "r.npy", "--also", f"{array}={output}", "--overwrite"] for output in same]
        commands += [["resample", labels, output, "--indices", array, "--overwrite"] for output in same]
        for output in (inner, dataset / "shard-000000.x.npy", self.folder / "way/inner.npy"):
            commands += [["convert", dataset, output, "--fields", "y", "--overwrite"], ["convert", array, output, "--overwrite"], ["resample", array, output, "--overwrite"]]
        commands += [["convert", array, dataset / "deep/er", "--to", "npy"], ["convert", dataset, dataset / "deep", "--to", "npy"]]
        commands += [["convert", f"x={dataset}/shard-000000.x.npy", dataset, "--to", "npy", "--overwrite"]]
        commands += [["index", self.folder / "f.npy", "--index-dir", dataset], ["index", dataset / "shard-000000.x.npy"]]
        for words in commands:
            with self.subTest(words=words), self.untouched(self.folder.path):
                self.refused(*words, code=2)

    def test_refused_through_a_bind_mount(self):
        write(self.folder / "in/a.npy", numbers(range(40)))
        with self.small_disk("1m") as disk:
            if subprocess.run(["mount", "--bind", self.folder / "in", disk]).returncode:
                self.skipTest("no bind mount can be made here")
            try:
                with self.untouched(self.folder / "in"):
                    self.refused("convert", self.folder / "in/a.npy", disk / "a.npy", "--overwrite", code=2)
                    self.refused("resample", self.folder / "in/a.npy", disk / "a.npy", "--overwrite", code=2)
            finally:
                subprocess.run(["umount", disk], check=True)

    def test_refused_in_a_folder_of_the_input_that_is_mounted_elsewhere(self):
        photos, inner, disk = make_photos(self.folder / "in", 6), self.folder / "in/c0/deep/er", self.folder / "mount"
        inner.mkdir(parents=True)
        disk.mkdir()
        if subprocess.run(["mount", "--bind", inner, disk]).returncode:
            self.skipTest("no bind mount can be made here")
        try:
            for output in (disk, disk / "out", disk / ".out", disk / "../mount/out"):
                for dry in ([], ["--dry-run"]):
                    with self.subTest(output=output, dry=dry), self.untouched(photos):
                        self.refused("convert", photos, output, "--to", "record", *dry, code=2, says=["is inside the input"])
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_refused_where_a_link_in_the_input_leads_to(self):
        photos, pool = make_photos(self.folder / "in", 6), make_photos(self.folder / "pool", 2)
        (photos / "more").symlink_to(pool)
        with self.untouched(photos, pool):
            self.refused("convert", photos, pool / "out", "--to", "record", code=2, says=["is inside the input"])


class HiddenFilesOfDeletedOnes(FaultCase):
    """FUSE, as NFS, keeps a deleted file that is open under a hidden name: a finished output does not fail for it."""

    def setUp(self):
        super().setUp()
        if shutil.which("bindfs") is None or not os.access("/dev/fuse", os.W_OK):
            self.skipTest("no bindfs, or no /dev/fuse")
        self.below, self.mount = self.folder / "below", self.folder / "mount"
        self.below.mkdir()
        self.mount.mkdir()
        mounted = subprocess.run(["bindfs", self.below, self.mount], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"bindfs: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.mount], check=True)

    def test_every_writing_command_succeeds(self):
        photos = make_photos(self.folder / "in", 6)
        array = self.folder / "a.npy"
        write(array, numbers(range(40)))
        out = self.mount / "out"
        for words in (["--to", "record"], ["--to", "hdf5", "--overwrite", "--verify"], ["--to", "lmdb", "--overwrite"]):
            self.ok("convert", photos, out, *words)
            self.ok("verify", out, "--deep")
            # The kernel tells FUSE of a closed file when it likes: what may stay is an empty folder.
            self.assertEqual(snapshot(out).get(b".shale"), None)
        self.ok("convert", photos, out, "--to", "lmdb")
        (out / "shard-000000.index.npy").unlink()
        self.ok("index", out)
        self.ok("resample", array, self.mount / "set", "--to", "npy")
        self.ok("resample", array, self.mount / "r.npy")
        self.ok("convert", array, self.mount / "c.npy")
        shutil.copy(out / "shard-000000.lmdb", self.mount / "f.lmdb")
        self.ok("index", self.mount / "f.lmdb", "--crc")
        self.ok("verify", self.mount / "f.lmdb")
