"""Tar archives as input, read where they lie: what comes out is, byte for byte, what the unpacked folder gives; what is damaged, hostile or
changes is refused by name."""

import io
import os
import shutil
import tarfile

from archive_case import PHOTO, ArchiveCase
from fault_case import IN_MEMORY
from shale_tool import make_photos, png, run, snapshot, write
from steps_case import StepsCase
from tar_archives import BLOCK, FORMATS, add_bytes, programs, tar_by_program, tar_of, tar_of_folder, tar_of_tars, with_checksum


class Archives(ArchiveCase):
    def test_every_dialect_of_every_program(self):
        self.make_set()
        shutil.rmtree(next(self.photos.glob("*/" + 60 * "d")))  # too long for V7 and USTAR
        next(self.photos.glob("*/long*")).unlink()
        for name, command in programs().items():
            with self.subTest(name):
                self.same_as_folder(tar_by_program(command, self.archive, self.photos))

    def test_long_names(self):
        self.make_set()
        for dialect in ("gnu", "pax"):
            with self.subTest(dialect):
                self.same_as_folder(tar_of_folder(self.archive, self.photos, dialect))

    def test_a_tar_of_tars(self):
        make_photos(self.photos, 40, classes=5)
        for dialect in FORMATS:
            with self.subTest(dialect):
                self.same_as_folder(tar_of_tars(self.archive, self.photos, dialect), code=0)

    def test_every_option_of_a_folder(self):
        self.make_set()
        tar_of_folder(self.archive, self.photos)
        chosen = self.folder / "chosen"
        write(chosen, b"3\n5\n11\n12\n")
        table = self.folder / "classes"
        write(table, "".join(f"{name}\n" for name in sorted(os.listdir(self.photos), reverse=True)).encode())
        for words in (
            ("--shuffle", "--seed", "3"),
            ("--hidden", "keep"),
            ("--jobs", "1", "--memory", "16MiB", "--shard-size", "8KiB"),
            ("--select", chosen),
            ("--exclude", chosen, "--shuffle"),
            ("--classes-from", table),
            ("--on-error", "keep"),
            ("--ext", "txt,png"),
        ):
            with self.subTest(words):
                code = run("convert", self.photos, self.folder / "probe", "--to", "record", *words, "--overwrite").code
                self.same_as_folder(self.archive, *words, code=code)

    def test_frames(self):
        for video in ("a/v0", "a/v1", "b/v2"):
            for frame in (1, 2, 10):
                write(self.photos / video / f"{frame}.png", png(4, 4, frame))
        out = self.same_as_folder(tar_of_folder(self.archive, self.photos), "--group", "frames", code=0)
        self.ok("verify", out, "--against", self.archive)
        self.flip_a_byte_of(png(4, 4, 10))
        self.assertIn("frame 2 differs", self.ok("verify", out, "--against", self.archive, code=3).err)

    def test_a_flat_archive_with_labels(self):
        for number in range(5):
            write(self.photos / f"val_{number}.png", png(4, 4, number))
        labels = self.folder / "labels.csv"
        write(labels, b"".join(b"val_%d.png,%d\n" % (number, number % 3) for number in range(5)))
        out = self.same_as_folder(tar_of_folder(self.archive, self.photos), "--labels", labels, code=0)
        self.ok("verify", out, "--against", self.archive, "--labels", labels)

    def test_a_folder_in_an_archive(self):
        make_photos(self.photos / "top/train", 12)
        write(self.photos / "top/notes.txt", b"text")
        tar_of_folder(self.archive, self.photos)
        self.same_as_folder(self.archive / "top/train", code=0, folder=self.photos / "top/train")
        self.refused("convert", self.archive / "top/test", self.out, "--to", "record", says=("top/test", "not a folder of the archive"))
        self.refused("convert", self.archive / "top/../..", self.out, "--to", "record", says=("leads out of the archive",))

    def make_splits(self, *folders):
        """Splits with something beside them and in them, and a class that only some have; in `photos/` + each of the folders."""
        for folder in folders or ("",):
            for split, classes in {"train": 4, "val": 3, "test": 2}.items():
                make_photos(self.photos / folder / split, 3 * classes, classes=classes)
            first = sorted(os.listdir(self.photos / folder / "val"))[0]
            write(self.photos / folder / "val" / first / "truncated.png", PHOTO[:-12])
            write(self.photos / folder / "train/notes.txt", b"text")
            write(self.photos / folder / "README.txt", b"text")
            write(self.photos / folder / ".cache/x/1.png", PHOTO)

    def test_splits(self):
        self.make_splits()
        out = self.same_as_folder(tar_of_folder(self.archive, self.photos))
        self.assertEqual(sorted(os.listdir(out)), ["duplicates.csv", "test", "train", "val"])
        self.ok("verify", out, "--against", self.archive)
        self.flip_a_byte_of((self.photos / "val").glob("*/0*.png").__next__().read_bytes())
        self.assertIn("differs from the source", self.ok("verify", out, "--against", self.archive, code=3).err)

    def test_splits_in_a_folder(self):
        self.make_splits("top/set")
        self.same_as_folder(tar_of_folder(self.archive, self.photos) / "top/set", folder=self.photos / "top/set")

    def test_splits_of_archives(self):
        """train.tar and val.tar, of class folders; and train/ and val/ of an archive per class."""
        self.make_splits()
        shutil.rmtree(self.photos / ".cache")
        for name in ("README.txt", "train/notes.txt"):
            (self.photos / name).unlink()
        whole = self.folder / "whole.tar"
        inner = self.folder / "inner.tar"
        with tarfile.open(self.archive, "w") as one, tarfile.open(whole, "w") as other:
            for split in ("val", "train", "test"):
                tar_of_folder(inner, self.photos / split)
                one.add(inner, arcname=f"./{split}.tar")
                for name in sorted(os.listdir(self.photos / split)):
                    tar_of_folder(inner, self.photos / split / name)
                    other.add(inner, arcname=f"{split}/{name}.tar")
        for archive in (self.archive, whole):
            with self.subTest(archive.name):
                self.ok("verify", self.same_as_folder(archive), "--against", archive)
                self.same_as_folder(archive / "train", folder=self.photos / "train", code=0)

    def test_splits_beside_a_class_are_classes(self):
        self.make_splits()
        write(self.photos / "zebra/1.png", PHOTO)
        out = self.same_as_folder(tar_of_folder(self.archive, self.photos), "--hidden", "skip")
        self.assertTrue((out / "dataset.json").exists())

    def test_a_class_that_train_lacks(self):
        self.make_splits()
        write(self.photos / "val/zebra/1.png", PHOTO)
        tar_of_folder(self.archive, self.photos)
        self.refused("convert", self.archive, self.out, "--to", "record", says=(self.archive / "val/zebra", "class table"))
        self.assertFalse(self.out.exists())

    def test_links(self):
        write(self.photos / "a/1.png", png(3, 3, 1))
        write(self.photos / "b/2.png", png(3, 3, 2))
        os.link(self.photos / "a/1.png", self.photos / "b/hard.png")
        os.symlink("../a/1.png", self.photos / "b/soft.png")
        os.symlink("soft.png", self.photos / "b/twice.png")
        os.makedirs(self.photos / "b/c")
        os.symlink("../../a", self.photos / "b/c/to a")
        os.symlink("..", self.photos / "b/c/round")
        os.symlink("a", self.photos / "class c")
        self.same_as_folder(tar_of_folder(self.archive, self.photos, names=("a", "b", "class c")), code=0)

    def test_the_last_member_of_a_name_counts(self):
        tar_of(
            self.archive,
            ("a/1.png", png(3, 3, 1)),
            ("a/2.png", PHOTO),
            ("a/link.png", b"", {"type": tarfile.LNKTYPE, "linkname": "a/1.png"}),
        )
        with tarfile.open(self.archive, "a") as archive:
            add_bytes(archive, "./a//1.png", png(5, 5, 5))
            add_bytes(archive, "a/2.png", b"", type=tarfile.SYMTYPE, linkname="1.png")
        write(self.photos / "a/1.png", png(5, 5, 5))
        write(self.photos / "a/2.png", png(5, 5, 5))
        write(self.photos / "a/link.png", png(3, 3, 1))
        self.same_as_folder(self.archive, code=0)

    def test_special_files_are_ignored_and_counted(self):
        tar_of(
            self.archive,
            ("a/1.png", PHOTO),
            ("a/fifo.png", b"", {"type": tarfile.FIFOTYPE}),
            ("a/disk.png", b"", {"type": tarfile.BLKTYPE}),
        )
        out = self.convert(self.archive, self.out, code=4)
        self.assertIn("2", out.out)
        self.assertEqual((self.out / "ignored.csv").read_bytes().count(b"not a regular file"), 2)

    def test_verify_and_repair_take_the_archive(self):
        self.make_set()
        tar_of_folder(self.archive, self.photos)
        self.convert(self.archive, self.out, "--shard-size", "8KiB", "--shuffle", code=4)
        self.ok("verify", self.out, "--against", self.archive)
        self.ok("verify", self.out, "--against", self.photos)
        whole = snapshot(self.out)
        (self.out / "shard-000001.tfrecord").unlink()
        self.ok("repair", self.out, "--from", self.archive)
        self.assertEqual(snapshot(self.out), whole)
        self.flip_a_byte_of(PHOTO)
        self.assertIn("differs from the source", self.ok("verify", self.out, "--against", self.archive, code=3).err)

    def flip_a_byte_of(self, member):
        content = self.archive.read_bytes()
        place = content.rindex(member) + 50
        with open(self.archive, "r+b") as file:
            file.seek(place)
            file.write(bytes([content[place] ^ 1]))

    def test_parts_of_an_archive(self):
        make_photos(self.photos, 30)
        tar_of_folder(self.archive, self.photos)
        for source in (self.photos, self.archive):
            parts = [self.folder / f"{source.name} part {number}" for number in range(3)]
            for number, part in enumerate(parts):
                self.convert(source, part, "--part", f"{number}/3", "--shuffle")
            self.ok("merge", *parts, self.folder / f"{source.name} merged")
        self.check_same(self.folder / "photos merged", self.folder / "photos.tar merged")

    def test_splits_of_an_archive(self):
        make_photos(self.photos / "train", 30)
        make_photos(self.photos / "val", 8)
        tar_of_folder(self.archive, self.photos)
        self.refused("convert", self.archive, self.folder / "x.tfrecord", says=("holds splits", "photos.tar/train;", "of the archive itself"))
        for source in (self.photos, self.archive):
            self.convert(source / "train", self.folder / f"{source.name} out", "--split", "train=0.8,val=0.2")
        for split in ("train", "val"):
            self.check_same(self.folder / "photos out" / split, self.folder / "photos.tar out" / split)

    def test_appending_an_archive(self):
        make_photos(self.photos, 12)
        tar_of_folder(self.archive, self.photos)
        for source in (self.photos, self.archive):
            out = self.folder / f"out of {source.name} as records"
            write(self.folder / "first" / sorted(os.listdir(self.photos))[0] / "0.png", PHOTO)
            self.convert(self.folder / "first", out, "--classes-from", self.classes())
            self.convert(source, out, "--append")
        self.check_same(self.folder / "out of photos as records", self.folder / "out of photos.tar as records")

    def classes(self):
        path = self.folder / "classes"
        write(path, "".join(f"{name}\n" for name in sorted(os.listdir(self.photos))).encode())
        return path

    def test_small_memory_and_many_members(self):
        with tarfile.open(self.archive, "w", format=tarfile.USTAR_FORMAT) as archive:
            for number in range(20_000):
                add_bytes(archive, f"{number % 7}/{number}.png", PHOTO)
        self.within(16, "convert", self.archive, self.out, "--to", "record")
        self.within(16, "verify", self.out, "--against", self.archive)


class HostileArchives(ArchiveCase):
    def refuse(self, *says, code=1):
        done = self.refused("convert", self.archive, self.out, "--to", "record", says=(self.archive.name, *says), code=code)
        self.assertFalse((self.out / "dataset.json").exists())
        self.assertEqual(os.path.exists(self.folder / "evil.png"), False)
        return done

    def test_names_that_lead_out(self):
        for name in ("../evil.png", "a/../../evil.png", str(self.folder / "evil.png"), "a/.."):
            with self.subTest(name):
                tar_of(self.archive, ("a/1.png", PHOTO), (name, PHOTO))
                self.refuse(name, "leads out of the archive", "byte 1024")

    def test_links_that_lead_out_or_nowhere(self):
        for kind, target, fact in (
            (tarfile.SYMTYPE, "/etc/passwd", "leads out of the archive"),
            (tarfile.SYMTYPE, "../../x.png", "leads out of the archive"),
            (tarfile.SYMTYPE, "nothing.png", "is not in the archive"),
            (tarfile.SYMTYPE, "link.png", "leads round in circles"),
            (tarfile.SYMTYPE, "1.png/x", "is not in the archive"),
            (tarfile.LNKTYPE, "a/later.png", "not a file before it"),
            (tarfile.LNKTYPE, "../x", "leads out of the archive"),
            (tarfile.LNKTYPE, "a", "not a file before it"),
        ):
            with self.subTest(target):
                tar_of(self.archive, ("a/1.png", PHOTO), ("a/link.png", b"", {"type": kind, "linkname": target}), ("a/later.png", PHOTO))
                self.refuse(fact)

    def test_sparse_files(self):
        with open(self.folder / "sparse.png", "wb") as file:
            file.truncate(1 << 20)
        for dialect, version in (("gnu", None), ("pax", "0.0"), ("pax", "0.1"), ("pax", "1.0")):
            with self.subTest(f"{dialect} {version}"):
                options = [f"--sparse-version={version}"] if version else []
                tar_by_program(["tar", f"--format={dialect}", "--sparse", *options, "-cf"], self.archive, self.only("sparse.png"))
                self.refuse("sparse.png", "sparse file")

    def only(self, name):
        place = self.folder / "only"
        place.mkdir(exist_ok=True)
        shutil.copy(self.folder / name, place / name) if not (place / name).exists() else None
        os.truncate(place / name, 0)
        os.truncate(place / name, 1 << 20)
        return place

    def test_archives_joined_by_cat(self):
        one = tar_of(self.archive, ("a/1.png", PHOTO)).read_bytes()
        self.archive.write_bytes(one + one)
        self.refuse("another archive begins behind the end", f"byte {len(one)}")
        self.archive.write_bytes(one + b"signature")
        self.refuse("a byte behind the end of the archive is not zero", f"byte {len(one)}", code=3)

    def test_a_file_and_a_folder_of_one_name(self):
        for members in (
            (("a", PHOTO), ("a/1.png", PHOTO)),
            (("b/1.png", PHOTO), ("b/1.png/", b"", {"type": tarfile.DIRTYPE})),
        ):
            tar_of(self.archive, ("c/1.png", PHOTO), *members)
            self.refuse()

    def test_a_class_as_a_folder_and_as_an_archive(self):
        inner = io.BytesIO()
        with tarfile.open(fileobj=inner, mode="w") as archive:
            add_bytes(archive, "1.png", PHOTO)
        tar_of(self.archive, ("a.tar", inner.getvalue()), ("a/2.png", PHOTO))
        self.refuse("as an archive")
        tar_of(self.archive, ("a.tar", inner.getvalue()), ("a/1.png", png(9, 9)))
        self.refuse("1.png", "in a folder and in an archive in it")
        tar_of(self.archive, ("a.tar", inner.getvalue()), ("a.tar", inner.getvalue()))
        self.refuse("twice")

    def test_a_class_whose_archive_is_damaged_is_not_left_out(self):
        whole = tar_of(self.folder / "a.tar", ("1.png", PHOTO)).read_bytes()
        for name, damaged in (("flipped", b"X" + whole[1:]), ("short", whole[:300]), ("empty", b"")):
            with self.subTest(name):
                tar_of(self.archive, ("a.tar", whole), ("b.tar", damaged), ("c.tar", whole))
                self.refuse("member b.tar is not the archive that its name says it is", code=3)
                with open(self.archive, "rb") as file:
                    write(self.folder / "classes.txt", b"a\nb\nc\n")
                    done = run("convert", "-", self.out, "--to", "record", "--classes-from", self.folder / "classes.txt", stdin=file)
                self.assertEqual(done.code, 3, done.err)
                self.assertIn("member b.tar is not the archive that its name says it is", done.err)
        tar_of(self.archive, ("a.tar", whole), ("._a.tar", b"of a Mac"), ("c.tar", whole))
        self.ok("convert", self.archive, self.out, "--to", "record")

    def test_truncation_at_every_block(self):
        """Whatever is left: an error that names the archive and the byte, or what the whole gives, if only padding is gone."""
        for number in range(2):
            write(self.photos / "a" / f"{number}.png", png(20, 30, number))
        write(self.photos / "b" / f"{120 * 'n'}.png", PHOTO)
        self.convert(self.photos, self.folder / "reference")
        for make in (tar_of_folder, tar_of_tars):
            whole = make(self.archive, self.photos).read_bytes()
            end = max(at for at in range(len(whole)) if whole[at]) + 1
            for size in range(0, len(whole), BLOCK):
                self.archive.write_bytes(whole[:size])
                shutil.rmtree(self.out, ignore_errors=True)
                done = run("convert", self.archive, self.out, "--to", "record")
                if done.code == 0:
                    # What ends between two members has no mark of its end, and a note says so.
                    self.assertTrue(size >= end or "no mark of its end" in done.err)
                    if size >= end:
                        self.check_same(self.out, self.folder / "reference")
                else:
                    self.refuse(code=done.code)
                    self.assertIn(done.code, (1, 3))

    def test_lies_about_sizes(self):
        whole = bytearray(tar_of(self.archive, ("a/1.png", PHOTO)).read_bytes())
        for size in (b"77777777777\0", b"\x80" + 11 * b"\xff", b"\x80\0\0\0\x7f" + 7 * b"\xff", b"\xff" * 12, b"-1         \0", b"9" * 12):
            with self.subTest(size):
                whole[124:136] = size
                whole[:BLOCK] = with_checksum(whole[:BLOCK])
                self.archive.write_bytes(whole)
                self.refuse("byte 0", code=3)

    def test_any_bit_of_a_header_may_flip(self):
        """Every header has a checksum: a flip is refused."""
        whole = bytearray(tar_of(self.archive, ("a/1.png", PHOTO), ("b/2.png", PHOTO)).read_bytes())
        for at in (0, 10, 124, 156, 300, 345, 511):
            flipped = bytearray(whole)
            flipped[1024 + at] ^= 1 << self.dice.randrange(7)
            self.archive.write_bytes(flipped)
            self.refuse("checksum does not match", "byte 1024", code=3)

    def test_pax_headers_that_lie(self):
        for line in (b"9999 path=a/2.png\n", b"5 path=a/2.png\n", b"path=a/2.png\n", b"17 path=a/2.png\0\n", b"16 pathXa/2.png\n\n"):
            with self.subTest(line):
                header = with_checksum(tarfile.TarInfo("x").tobuf()[:156] + b"x" + tarfile.TarInfo("x").tobuf()[157:])
                header = bytearray(header)
                header[124:136] = b"%011o\0" % len(line)
                rest = tar_of(self.archive, ("a/1.png", PHOTO)).read_bytes()
                self.archive.write_bytes(with_checksum(bytes(header)) + line.ljust(BLOCK, b"\0") + rest)
                self.refuse("byte", code=3)

    def test_an_archive_that_changes_under_the_run(self):
        make_photos(self.photos, 30)
        tar_of_folder(self.archive, self.photos)
        paused = self.paused_after_listing(self.archive, self.out)
        with open(self.archive, "r+b") as file:
            file.seek(700)
            file.write(b"?")
        code, err = paused.resume()
        self.assertEqual(code, 1, err)
        self.assertIn("archive has changed since its contents were listed", err)

    def test_other_archives_are_refused_by_name(self):
        for name, command in (("x.tar.xz", "w:xz"), ("x.tar.bz2", "w:bz2")):
            with tarfile.open(self.folder / name, command) as archive:
                add_bytes(archive, "a/1.png", PHOTO)
            self.refused("convert", self.folder / name, self.out, "--to", "record", says=(name,))


class KilledOnArchives(StepsCase):
    base = IN_MEMORY

    def test_an_archive_after_a_kill(self):
        photos, archive = self.folder / "photos", self.folder / "photos.tar"
        make_photos(photos, 60, classes=4)
        tar_of_tars(archive, photos)

        def command(jobs, memory):
            words = ["--to", "record", "--shard-size", "8KiB", "--shuffle", "--io", "buffered", "--jobs", jobs, "--memory", memory]
            return ["convert", archive, self.place / "out", *words]

        self.kill_at_steps(command, most=12)
