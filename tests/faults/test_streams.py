"""Tar archives that are read as streams: compressed ones, and those on stdin and in FIFOs. In the order of the archive they give what the unpacked
folder gives, byte for byte; what cannot be done with a stream, and what is damaged or hostile, is refused by name."""

import gzip
import os
import re
import shutil
import signal
import subprocess
import tarfile
import threading
import time
import zlib

import stream_case
from shale_tool import make_photos, png, run, samples_of, start, write
from stream_case import PHOTO, zstd
from tar_archives import BLOCK, add_bytes, tar_of, tar_of_tars

SKIPPABLE = b"\x51\x2a\x4d\x18\3\0\0\0abc"


class Streams(stream_case.StreamCase):
    def test_every_way_in(self):
        self.make_set()
        archive = self.archive_in_order()
        half = len(archive) // 2
        packed = {
            "x.tar.gz": gzip.compress(archive),
            "members.tgz": gzip.compress(archive[:half]) + gzip.compress(b"") + gzip.compress(archive[half:]) + bytes(700),
            "x.tar.zst": zstd(archive),
            "frames.tzst": SKIPPABLE + zstd(archive[:half]) + zstd(archive[half:], "--no-check") + SKIPPABLE,
            "by another name": gzip.compress(archive, 1),
        }
        for name, content in packed.items():
            with self.subTest(name):
                write(self.folder / name, content)
                self.same_as_folder(self.folder / name)
                self.same_as_folder("-", content=content)
        self.same_as_folder("-", content=archive)
        self.ok("verify", self.folder / "of stream", "--against", self.photos)

    def test_partners_of_images_are_left_out_and_said_so(self):
        for names, count in ((("0/1.png", "0/1.txt", "0/2.png", "0/2.json", "0/2.txt"), 3), (("0/1.json", "0/1.png", "0/2.png", "0/3.txt"), 1), (("0/1.png", "0/2.png", "0/1.txt"), 1)):
            folder = ("0", b"", {"type": tarfile.DIRTYPE})  # without it, they would be samples
            archive = tar_of(self.folder / "x.tar", folder, *((name, PHOTO if name.endswith("png") else b"text") for name in names))
            write(self.stream, gzip.compress(archive.read_bytes()))
            done = run("convert", self.stream, self.out, "--to", "record", "--overwrite")
            self.assertEqual(done.code, 4, done.err)
            self.assertIn(f"{count} file{'s have the names' if count > 1 else ' has the name'} of an image before the first dot", done.err)

    def test_options_of_a_folder(self):
        self.make_set()
        for number, name in enumerate(sorted(os.listdir(self.photos))[1:]):
            write(self.photos / name / "x.txt", b"%d" % number) if (self.photos / name).is_dir() else None
        write(self.stream, gzip.compress(self.archive_in_order()))
        for words, code in (
            (("--memory", "16MiB", "--jobs", "1", "--shard-size", "8KiB"), 4),
            (("--on-error", "keep"), 0),
            (("--hidden", "keep"), 4),
            (("--ext", "txt"), 4),
            (("--max-errors", "2"), 4),
            (("--shard-samples", "7"), 4),
        ):
            with self.subTest(words):
                self.same_as_folder(self.stream, *words, code=code)
        for container in ("hdf5", "lmdb"):
            self.container = container
            self.same_as_folder(self.stream)

    def test_one_file_as_output(self):
        self.make_set()
        write(self.stream, gzip.compress(self.archive_in_order()))
        for source, name in ((self.photos, "folder.tfrecord"), (self.stream, "stream.tfrecord")):
            self.ok("convert", source, self.folder / name, "--classes-from", self.table, "--with-index", code=4)
        self.assertEqual((self.folder / "folder.tfrecord").read_bytes(), (self.folder / "stream.tfrecord").read_bytes())

    def test_a_fifo(self):
        self.make_set()
        fifo, archive = self.folder / "fifo", self.archive_in_order()
        os.mkfifo(fifo)
        self.convert(self.photos, self.folder / "of folder", "--classes-from", self.table, code=4)
        writer = threading.Thread(target=lambda: fifo.write_bytes(gzip.compress(archive)))
        writer.start()
        self.convert(fifo, self.out, "--classes-from", self.table, code=4)
        writer.join()
        self.check_same(self.out, self.folder / "of folder")

    def test_a_tar_of_tars(self):
        make_photos(self.photos, 40, classes=5)
        self.make_table()
        archive = tar_of_tars(self.folder / "x.tar", self.photos).read_bytes()
        self.convert(self.photos, self.folder / "of folder", "--classes-from", self.table)
        self.convert_bytes(gzip.compress(archive), self.out, "--classes-from", self.table)
        # The order is the archive's; the samples are the same.
        self.assertEqual(sorted(samples_of(self.out)), sorted(samples_of(self.folder / "of folder")))
        self.ok("verify", self.out, "--against", self.photos)

    def test_a_folder_in_the_archive(self):
        self.make_set()
        content = gzip.compress(self.archive_in_order("imagenet/train/"))
        write(self.stream, content)
        self.same_as_folder(self.stream / "imagenet/train")
        self.same_as_folder("/dev/stdin/imagenet/train", content=content)
        words = ("--to", "record", "--classes-from", self.table)
        self.refused("convert", self.stream, self.out, *words, says=("'imagenet' is not in the class table", "x.tar.gz/imagenet'"))
        self.refused("convert", self.stream / "imagenet", self.out, *words, says=("is a split", "x.tar.gz/imagenet/train'"))
        self.refused("convert", self.stream / "other", self.out, *words, says=("x.tar.gz/other: is not a folder of the archive",))

    def test_numbers_for_names(self):
        members = [(f"{name}/{number}.png", png(4, 4, number)) for number, name in enumerate(("10", "2", "0", "2"))]
        write(self.stream, gzip.compress(tar_of(self.folder / "x.tar", *members).read_bytes()))
        self.convert(self.stream, self.out)
        self.assertEqual([label for _, label, _ in samples_of(self.out)], [10, 2, 0, 2])
        for name in ("02", "-1", "a", "1x", "99999999999999999999"):
            with self.subTest(name):
                write(self.stream, gzip.compress(tar_of(self.folder / "x.tar", *members, (f"{name}/x.png", PHOTO)).read_bytes()))
                self.refused(
                    "convert", self.stream, self.folder / "o", "--to", "record", code=2, says=(f"class '{name}'", "--classes-from")
                )

    def test_what_a_stream_cannot_do(self):
        self.make_set()
        write(self.stream, gzip.compress(self.archive_in_order()))
        labels = self.folder / "labels.csv"
        write(labels, b"a/b.png,1\n")
        for option in (
            ("--shuffle",),
            ("--part", "0/2"),
            ("--split", "train=0.5,val=0.5"),
            ("--listing", self.folder / "listing"),
            ("--select", labels),
            ("--exclude", labels),
            ("--group", "frames"),
        ):
            with self.subTest(option):
                self.refused(
                    "convert",
                    self.stream,
                    self.out,
                    "--to",
                    "record",
                    "--classes-from",
                    self.table,
                    *option,
                    code=2,
                    says=(f"{option[0]} is not for a stream", ".tar file"),
                )
        self.convert(self.photos, self.out, code=4)
        self.refused("convert", self.stream, self.out, "--append", code=2, says=("--append is not for a stream",))
        self.refused("convert", self.stream, self.folder / "o", "--to", "record", "--classes-from", self.table, "--layout", "lsun", code=2)

    def test_dry_runs(self):
        self.make_set()
        write(self.stream, gzip.compress(self.archive_in_order()))
        words = ("--to", "record", "--classes-from", self.table, "--dry-run")
        of_folder = self.ok("convert", self.photos, self.out, *words, code=4)
        # What is in it is said of a folder, whose files can be looked at again.
        looked_at = re.compile(r"  (classes|files|images|odd|sizes|shapes|bad|ignored) ")
        planned = [line for line in of_folder.out.splitlines() if not looked_at.match(line)]
        self.assertEqual(self.ok("convert", self.stream, self.out, *words).out.splitlines(), planned)
        with open(self.stream, "rb") as file:
            self.refused("convert", "-", self.out, *words, code=2, says=("--dry-run is not for a stream",), stdin=file)
        self.assertFalse(self.out.exists())

    def test_a_finished_output_is_compared(self):
        self.make_set()
        archive = self.archive_in_order()
        self.convert_bytes(archive, self.out, "--classes-from", self.table, code=4)
        again = self.convert_bytes(gzip.compress(archive), self.out, "--classes-from", self.table)
        self.assertIn("already complete", again.out)
        write(self.photos / "class-1/00001.png", png(9, 9, 99))
        other = self.archive_in_order()
        write(self.stream, gzip.compress(other))
        words = ("--to", "record", "--classes-from", self.table)
        self.refused("convert", self.stream, self.out, *words, says=("the input has changed since", "class-1/00001.png"))
        self.refused("convert", self.stream, self.out, *words, "--shard-samples", "5", says=("another command", "shard_samples"))
        self.convert(self.stream, self.out, "--classes-from", self.table, "--overwrite", code=4)
        self.assertIn(png(9, 9, 99), [image for _, _, image in samples_of(self.out)])

    def test_too_many_bad_images(self):
        members = [(f"0/{number}.png", PHOTO if number < 20 else b"bad") for number in range(32)]
        write(self.stream, gzip.compress(tar_of(self.folder / "x.tar", *members).read_bytes()))
        self.refused(
            "convert", self.stream, self.out, "--to", "record", says=("12 bad images, more than --max-errors allows (10)", "0/31.png")
        )
        self.convert(self.stream, self.out, "--max-errors", "50%", code=4)
        self.refused("convert", self.stream, self.folder / "o", "--to", "record", "--max-errors", "5", says=("6 bad images", "0/25.png"))


class HostileStreams(stream_case.StreamCase):
    def refuse(self, *says, code=1, content=None, words=()):
        """From stdin, and from a compressed file."""
        for packed in (gzip.compress(content), content) if content is not None else (None,):
            if packed is not None:
                write(self.stream, packed)
            shutil.rmtree(self.out, ignore_errors=True)
            with open(self.stream, "rb") as file:
                self.refused("convert", "-", self.out, "--to", "record", *words, code=code, says=("stdin", *says), stdin=file)
            self.assertFalse((self.out / "dataset.json").exists())
            self.assertFalse((self.folder / "evil.png").exists())

    def refuse_members(self, *members, says, code=1, dialect="gnu"):
        self.refuse(*says, code=code, content=tar_of(self.folder / "x.tar", *members, dialect=dialect).read_bytes())

    def test_names_links_and_types(self):
        kinds = {"symbolic": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "sparse": tarfile.GNUTYPE_SPARSE}
        one = ("0/1.png", PHOTO)
        for name in ("../evil.png", "0/../../evil.png", str(self.folder / "evil.png"), "0/.."):
            self.refuse_members(one, (name, PHOTO), says=(name, "leads out of the archive", "byte 1024"))
        for name, kind in (("0/x.png", "hard"), ("0/x.png", "symbolic"), ("0/x.txt", "symbolic"), ("1", "symbolic")):
            self.refuse_members(one, (name, b"", {"type": kinds[kind], "linkname": "0/1.png"}), says=(name, "is a link to 0/1.png"))
        self.refuse_members(one, ("0/x.png", b"", {"type": kinds["sparse"]}), says=("0/x.png is a sparse file", "byte 1024"))
        self.refuse_members(("x.png", PHOTO), says=("holds 1 image but no class folders",))
        self.refuse_members(("0/x.txt", PHOTO), says=("class '0' has no images",))
        self.refuse_members(one, ("1/", b"", {"type": tarfile.DIRTYPE}), says=("class '1' has no images",))
        self.refuse_members(one, (".x/1.png", PHOTO), says=("/.x: hidden folder holds images",))
        self.refuse_members(says=("holds no images",))
        inner = tar_of(self.folder / "inner.tar", ("1.png", PHOTO)).read_bytes()
        self.refuse_members(("0.tar", inner), ("0/2.png", PHOTO), says=("/0: is in the archive both",))
        self.refuse_members(("0/2.png", PHOTO), ("0.tar", inner), says=("/0: is in the archive both",))
        self.refuse_members(("0.tar", inner), ("0.tar", inner), says=("/0: archive is there twice",))
        # Damage inside of an archive in the archive is told with its name.
        self.refuse_members(
            ("0.tar", inner[:700] + b"garbage" + inner[707:]), ("1.tar", inner[:1024] + 512 * b"x"), says=("1.tar", "checksum"), code=3
        )

    def test_a_name_that_comes_twice(self):
        """Which one counts is known at the end only."""
        archive = tar_of(self.folder / "x.tar", ("0/1.png", PHOTO), ("0/1.png", png(4, 4))).read_bytes()
        write(self.stream, gzip.compress(archive))
        self.refused("convert", self.stream, self.out, "--to", "record", says=("0/1.png", "the key is not unique"))

    def test_special_files_are_ignored_and_counted(self):
        archive = tar_of(
            self.folder / "x.tar",
            ("0/1.png", PHOTO),
            ("0/fifo.png", b"", {"type": tarfile.FIFOTYPE}),
            ("0/d.png", b"", {"type": tarfile.BLKTYPE}),
        )
        self.convert_bytes(archive.read_bytes(), self.out, code=4)
        self.assertEqual((self.out / "ignored.csv").read_bytes().count(b"not a regular file"), 2)

    def test_truncation_at_every_block(self):
        """An error that names stream and byte, or what the whole gives, if only padding is gone; compressed, always an error."""
        whole = tar_of(self.folder / "x.tar", ("0/1.png", png(20, 30)), ("1/" + 120 * "n" + ".png", PHOTO), dialect="pax").read_bytes()
        end = max(at for at in range(len(whole)) if whole[at]) + 1
        self.convert_bytes(whole, self.folder / "reference")
        packed = {"gzip": gzip.compress(whole), "zstd": zstd(whole)}
        for size in range(BLOCK, end + 2 * BLOCK, BLOCK):
            shutil.rmtree(self.out, ignore_errors=True)
            write(self.folder / "stdin", whole[:size])
            with open(self.folder / "stdin", "rb") as file:
                done = run("convert", "-", self.out, "--to", "record", stdin=file)
            if done.code == 0:
                self.assertTrue(size >= end or "no mark of its end" in done.err)
            else:
                self.assertIn("stdin: byte", done.err)
                self.assertEqual(done.code, 3)
            if size >= end:
                self.check_same(self.out, self.folder / "reference")
        for name, content in packed.items():
            for size in range(20, len(content), 97):
                write(self.stream, content[:size])
                self.refuse(f"{name} data end in the middle", "byte", "decompressed", code=3)

    def test_any_bit_of_a_compressed_archive_may_flip(self):
        """Nothing is written under a name of its own, or it is what the whole gives: flags and the time in a header say nothing of the data."""
        whole = tar_of(self.folder / "x.tar", ("0/1.png", PHOTO)).read_bytes()
        self.convert_bytes(whole, self.folder / "reference")
        for packed in (gzip.compress(whole, mtime=0), zstd(whole)):
            for _ in range(12):
                at = self.dice.randrange(len(packed))
                flipped = bytearray(packed)
                flipped[at] ^= 1 << self.dice.randrange(8)
                shutil.rmtree(self.out, ignore_errors=True)
                write(self.stream, flipped)
                with self.subTest(at):
                    with open(self.stream, "rb") as file:
                        done = run("convert", "-", self.out, "--to", "record", stdin=file)
                    if done.code == 0:
                        self.check_same(self.out, self.folder / "reference")
                    else:
                        self.assertIn(done.code, (1, 3))
                        self.assertFalse((self.out / "dataset.json").exists())

    def test_what_follows_the_end(self):
        one = tar_of(self.folder / "x.tar", ("0/1.png", PHOTO)).read_bytes()
        self.refuse("another archive begins behind the end", f"byte {len(one)}", content=one + one)
        self.refuse("a byte behind the end of the archive is not zero", f"byte {len(one)}", code=3, content=one + b"signature")
        end = BLOCK + (len(PHOTO) + BLOCK - 1) // BLOCK * BLOCK  # of the only member
        for zeros in (1, 2, 3):
            for behind, says, code in ((one, "another archive begins behind the end", 1), (b"signature" * 99, "behind the end of the archive is not zero", 3)):
                with self.subTest((zeros, code)):
                    self.refuse(says, f"byte {end + zeros * BLOCK}", code=code, content=one[:end] + bytes(zeros * BLOCK) + behind)
        for packed, name in ((gzip.compress(one), "gzip"), (zstd(one), "zstd")):
            write(self.stream, packed + b"signature")
            self.refuse(f"compressed data is not valid {name}", code=3)
            write(self.stream, packed + bytes(10) + b"signature")
            self.refuse("what follows its end is not zero", code=3)
            write(self.stream, packed + packed)
            self.refuse("another archive begins behind the end")

    def test_what_is_not_an_archive(self):
        for content, facts in (
            (gzip.compress(b"text"), "does not begin like a tar archive when it is decompressed"),
            (zstd(b""), "does not begin like a tar archive when it is decompressed"),
            (b"\xfd7zXZ\0" + bytes(600), "is compressed with xz"),
            (b"BZh91AY&SY" + bytes(600), "is compressed with bzip2"),
        ):
            write(self.stream, content)
            self.refuse(facts)
        write(self.folder / "x.tar.xz", b"\xfd7zXZ\0" + bytes(600))
        self.refused("convert", self.folder / "x.tar.xz", self.out, "--to", "record", says=("x.tar.xz", "xz -dc"))
        write(self.folder / "x.csv.gz", gzip.compress(b"text"))
        self.refused("convert", self.folder / "x.csv.gz", self.out, "--to", "record", says=("x.csv.gz: is not a tar archive",))

    def test_bombs_and_large_samples(self):
        """What a header says is checked before memory is taken; what is not a sample is passed over in constant memory."""

        def packed(*members):
            packer = zlib.compressobj(1, zlib.DEFLATED, 31)
            content = b""
            for name, size, mebibytes in members:
                member = tarfile.TarInfo(name)
                member.size = size
                content += packer.compress(member.tobuf())
                content += b"".join(packer.compress(bytes(1 << 20)) for _ in range(mebibytes))
            return content + packer.compress(bytes(1024)) + packer.flush()

        write(self.stream, packed(("0/x.png", 10 << 30, 20)))
        self.refuse("0/x.png", "10,737,418,240 bytes, but --memory leaves", "byte 0")
        write(self.stream, packed(("0/x.txt", 120 << 20, 120)))
        self.within(16, "convert", self.stream, self.out, "--to", "record", "--allow-empty")
        # A frame whose window is 128 MiB.
        write(self.stream, b"\x28\xb5\x2f\xfd" + bytes([0, 17 << 3]) + bytes(100))
        self.refuse("window of", "--memory has room for", words=("--memory", "64MiB"))

    def test_small_memory_and_many_members(self):
        archive = self.folder / "x.tar"
        with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as writer:
            for number in range(6000):
                add_bytes(writer, f"{number % 7}/{number}.png", PHOTO)
            for number in range(40):
                add_bytes(writer, f"7/{number}.png", png(1000, 1000, number))
        with open(archive, "rb") as file, open(self.stream, "wb") as packed:
            subprocess.run(["gzip", "-1"], stdin=file, stdout=packed, check=True)
        self.within(16, "convert", self.stream, self.out, "--to", "record")


class ResumedStreams(stream_case.StreamCase):
    # With one job and little memory few samples are in flight: a stream that stands still shortly before its end has shards.
    words = ("--to", "record", "--shard-size", "32KiB", "--jobs", "1", "--memory", "16MiB")

    def setUp(self):
        super().setUp()
        members = [(f"{number % 3}/{number}.png", png(40, 40, number)) for number in range(1200)]
        members.insert(100, ("0/odd.txt", b"text"))
        members.insert(120, ("0/bad.png", b"bad"))
        self.archive = tar_of(self.folder / "x.tar", *members).read_bytes()

    def killed(self, source, content=b"", which=signal.SIGKILL):
        """A run that a signal ends when its journal has a few shards; from stdin it gets `content` and waits for more."""
        process = start(
            "convert", source, self.out, *self.words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if source == "-":
            process.stdin.write(content)
            process.stdin.flush()
        deadline = time.monotonic() + 60
        while process.poll() is None and len(self.journaled(self.out)) < 9 and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(which)
        process.wait()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        return process.returncode in (-signal.SIGKILL, 130)

    def test_a_killed_run_reads_the_stream_again(self):
        self.convert_bytes(self.archive, self.folder / "reference", *self.words[2:], code=4)
        part = len(self.archive) - 40_000
        for which in (signal.SIGKILL, signal.SIGINT):
            self.assertTrue(self.killed("-", self.archive[:part], which))
            self.check_unfinished(self.out, self.folder / "reference")
            # However it is compressed: the bytes of the archive are the stream's.
            done = self.convert_bytes(zstd(self.archive), self.out, *self.words[2:], code=4)
            self.assertIn("continuing: ", done.err)
            self.check_same(self.out, self.folder / "reference")
            shutil.rmtree(self.out)

    def test_a_killed_run_of_a_file_continues(self):
        write(self.stream, gzip.compress(self.archive, 1))
        self.convert(self.stream, self.folder / "reference", *self.words[2:], code=4)
        for _ in range(50):
            if self.killed(self.stream):
                break
            shutil.rmtree(self.out)
        else:
            self.skipTest("every run was faster than the signal")
        done = self.convert(self.stream, self.out, *self.words[2:], code=4)
        self.assertIn("continuing: ", done.err)
        self.check_same(self.out, self.folder / "reference")

    def test_another_stream_is_refused(self):
        self.convert_bytes(self.archive, self.folder / "reference", *self.words[2:], code=4)
        self.assertTrue(self.killed("-", self.archive[:-40_000]))
        self.check_refusal(
            self.archive[:1000] + bytes([self.archive[1000] ^ 1]) + self.archive[1001:], "the stream does not begin with the"
        )
        # What is not a sample is a part of it, too.
        text = self.archive.index(b"text" + bytes(508))
        self.check_refusal(self.archive[:text] + b"tex!" + self.archive[text + 4 :], "the stream does not begin with the")
        short = tar_of(
            self.folder / "short.tar", *((f"{number % 3}/{number}.png", png(40, 40, number)) for number in range(5))
        ).read_bytes()
        self.check_refusal(short, "the stream ends after 5 samples")
        self.convert_bytes(self.archive, self.out, *self.words[2:], code=4)

    def test_a_key_of_the_run_before_is_not_taken_twice(self):
        once = self.archive
        # The last sample has the key of the first one, which is in a shard of the run that was killed.
        members = [("0/0.png", png(40, 40, 7))]
        self.archive = once[: once.rindex(b"ustar") - 257] + tar_of(self.folder / "y.tar", *members).read_bytes()
        self.assertTrue(self.killed("-", self.archive[:-40_000]))
        write(self.folder / "stdin", self.archive)
        with open(self.folder / "stdin", "rb") as file:
            self.refused("convert", "-", self.out, *self.words, says=("0/0.png", "the key is not unique"), stdin=file)

    def test_other_labels_are_another_run(self):
        labels = self.folder / "labels.csv"
        rows = ["0/bad.png,9\n", *(f"{number % 3}/{number}.png,{number % 5}\n" for number in range(1200))]
        write(labels, "".join(rows).encode())
        self.words = (*self.words, "--labels", labels)
        self.convert_bytes(self.archive, self.folder / "reference", *self.words[2:], code=4)
        self.assertTrue(self.killed("-", self.archive[:-40_000]))
        write(labels, "".join(rows[:-1]).encode() + b"2/1199.png,1\n")
        self.check_refusal(self.archive, "labels")
        write(labels, "".join(reversed(rows)).encode())
        self.assertIn("continuing: ", self.convert_bytes(self.archive, self.out, *self.words[2:], code=4).err)
        self.check_same(self.out, self.folder / "reference")
        self.assertIn("already complete", self.convert_bytes(self.archive, self.out, *self.words[2:]).out)

    def check_refusal(self, content, fact):
        write(self.folder / "stdin", content)
        whole = self.journaled(self.out)
        with open(self.folder / "stdin", "rb") as file:
            self.refused("convert", "-", self.out, *self.words, says=(fact, "--overwrite"), stdin=file)
        self.assertEqual(self.journaled(self.out), whole)
        self.check_unfinished(self.out, self.folder / "reference")
