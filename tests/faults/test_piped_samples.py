"""WebDataset tars that come from stdin or a FIFO: read as they are by name; any other archive stays one of files."""

import gzip
import json
import os
import shutil
import threading

from fault_case import IN_MEMORY, FaultCase
from shale_tool import png, snapshot, write
from stream_case import zstd
from tar_archives import tar_of


def members(numbers):
    """Of samples with an image, a class and a text each."""
    for i in numbers:
        yield from ((f"{i:04}.png", png(5, 4, i)), (f"{i:04}.cls", b"%d" % (i % 3)), (f"{i:04}.txt", b"text %d" % i))


class PipedSamples(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.tar = tar_of(self.folder / "x.tar", *members(range(40)))

    def piped(self, command, *words, content=None, **options):
        """Runs it with what stands in the tar, or these bytes, on stdin."""
        write(self.folder / "stdin", self.tar.read_bytes() if content is None else content)
        with open(self.folder / "stdin", "rb") as file:
            return command(*words, stdin=file, **options)

    def through_fifo(self, command, *words, content=None, **options):
        """The same with a FIFO in the place of "-"."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        written = threading.Thread(target=self.write_all, args=(pipe, self.tar.read_bytes() if content is None else content), daemon=True)
        written.start()
        done = command(*(pipe if word == "-" else word for word in words), **options)
        written.join(60)
        pipe.unlink()
        return done

    @staticmethod
    def write_all(pipe, content):
        try:
            pipe.write_bytes(content)
        except BrokenPipeError:  # whoever reads it has refused it
            pass

    def same_result(self, out):
        shutil.rmtree(self.folder / "by name", ignore_errors=True)
        self.convert(self.tar, self.folder / "by name")
        self.check_same(self.folder / "by name", out)

    def test_convert(self):
        whole = self.tar.read_bytes()
        for name, content in {"plain": whole, "gzip": gzip.compress(whole), "zstd": zstd(whole)}.items():
            with self.subTest(name):
                shutil.rmtree(self.out, ignore_errors=True)
                done = self.piped(self.convert, "-", self.out, "--verify", content=content)
                self.assertNotIn("/proc/", done.out + done.err)
                self.same_result(self.out)
        shutil.rmtree(self.out)
        self.through_fifo(self.convert, "-", self.out)
        self.same_result(self.out)

    def test_a_large_first_image(self):
        """More of the stream is looked at; entries for folders are none of the tars of classes that they would be."""
        large = png(2200, 2200, 7)
        self.assertGreater(len(large), 4 << 20)
        rest = [(f"0/{name}", content) for name, content in members(range(1, 5))]
        whole = tar_of(self.tar, ("0/0000.png", large), ("0/0000.cls", b"2"), *rest).read_bytes()
        for name, content in {"plain": whole, "gzip": gzip.compress(whole, 1)}.items():
            with self.subTest(name):
                shutil.rmtree(self.out, ignore_errors=True)
                self.piped(self.convert, "-", self.out, content=content)
                self.same_result(self.out)
        write(self.folder / "x.tar.gz", gzip.compress(whole, 1))
        shutil.rmtree(self.out)
        self.convert(self.folder / "x.tar.gz", self.out)
        self.assertEqual(self.ok("ls", self.out, "--tsv").out, self.ok("ls", self.folder / "by name", "--tsv").out)

    def test_links_are_left_out_and_said_compressed_or_not(self):
        link = ("0002.png", b"", {"type": b"2", "linkname": "0000.png"})
        tar_of(self.tar, *members(range(2)), link, ("0002.cls", b"1"), ("0002.txt", b"text"))
        write(self.folder / "x.tar.gz", gzip.compress(self.tar.read_bytes()))
        for source in (self.tar, self.folder / "x.tar.gz"):
            with self.subTest(source):
                shutil.rmtree(self.out, ignore_errors=True)
                self.assertIn("0002.png", self.convert(source, self.out, code=4).err)

    def test_what_is_asked_of_samples_by_name(self):
        for words in (
            ["--shuffle", "--seed", "3"],
            ["--split", "train=0.8,val=0.2"],
            ["--drop", "txt"],
            ["--rename", "txt:caption"],
            ["--part", "0/2"],
            ["--limit", "5"],
        ):
            with self.subTest(words):
                for place in ("out", "by name"):
                    shutil.rmtree(self.folder / place, ignore_errors=True)
                self.piped(self.convert, "-", self.out, *words)
                self.convert(self.tar, self.folder / "by name", *words)
                self.assertEqual(snapshot(self.out), snapshot(self.folder / "by name"))
        # Nothing would be left for the run.
        self.piped(
            self.refused,
            "convert",
            "-",
            self.folder / "plan",
            "--to",
            "record",
            "--dry-run",
            code=2,
            says=("--dry-run is not for a stream",),
        )
        self.assertFalse((self.folder / "plan").exists())

    def test_a_second_run_finds_it_complete_and_another_stream_is_refused(self):
        self.piped(self.convert, "-", self.out)
        self.assertIn("already complete", self.piped(self.convert, "-", self.out).out)
        other = tar_of(self.folder / "y.tar", *members(range(1, 41))).read_bytes()
        with self.untouched(self.out):
            self.piped(self.refused, "convert", "-", self.out, "--to", "record", content=other)

    def test_commands_that_read(self):
        by_name = {"info": [], "ls": ["--tsv"], "cat": ["7", "--field", "txt"], "verify": ["--deep"]}
        for command, words in by_name.items():
            with self.subTest(command):
                expected = self.ok(command, self.tar, *words)
                for through in (self.piped, self.through_fifo):
                    done = through(self.ok, command, "-", *words)
                    self.assertNotIn("/proc/", done.out + done.err)
                    if command in ("ls", "cat"):
                        self.assertEqual(done.out, expected.out)
                    else:
                        self.assertIn("40", done.out)
        facts = json.loads(self.piped(self.ok, "info", "-", "--json").out)
        self.assertEqual(facts["samples"], 40)
        page = self.folder / "report.html"
        self.piped(self.ok, "report", "-", "-o", page)
        self.assertNotIn("/proc/", page.read_text())

    def test_damage_is_that_of_stdin(self):
        damaged = bytearray(self.tar.read_bytes())
        at = 30 * 3 * 1024  # the header of a member
        damaged[at + 10] ^= 1
        for content in (bytes(damaged), gzip.compress(damaged)):
            for words in (
                ("convert", "-", self.out, "--to", "record"),
                ("info", "-"),
                ("ls", "-"),
                ("verify", "-"),
                ("report", "-", "-o", self.folder / "r.html"),
            ):
                with self.subTest(words):
                    done = self.piped(self.refused, *words, content=content, code=3, says=("stdin: byte 92160",))
                    self.assertNotIn("/proc/", done.out + done.err)
        self.assertFalse(self.out.exists())
        rest = self.piped(self.ok, "convert", "-", self.out, "--to", "record", "--on-error", "skip", content=bytes(damaged), code=4)
        self.assertIn("39 samples", rest.out)

    def test_a_truncated_stream(self):
        whole = self.tar.read_bytes()
        self.piped(self.refused, "convert", "-", self.out, "--to", "record", content=whole[: 100 * 1024 + 300], code=3, says=("stdin",))
        self.piped(self.refused, "convert", "-", self.out, "--to", "record", content=gzip.compress(whole)[:-900], code=3, says=("stdin",))

    def test_what_is_not_of_samples_stays_files(self):
        photos = {f"{i % 3}/{i}.png": png(5, 4, i) for i in range(12)}
        for name, content in photos.items():
            write(self.folder / "photos" / name, content)
        files = tar_of(self.folder / "files.tar", *photos.items()).read_bytes()
        self.convert(self.folder / "photos", self.folder / "of folder")
        for through in (self.piped, self.through_fifo):
            for content in (files, gzip.compress(files)):
                shutil.rmtree(self.out, ignore_errors=True)
                through(self.convert, "-", self.out, content=content)
                self.assertIn("12 samples", self.ok("info", self.out).out.replace("12, ", "12 samples, "))
            for command in ("info", "ls", "verify"):
                through(self.refused, command, "-", content=files)
        # What only files take makes files of samples, too.
        shutil.rmtree(self.out, ignore_errors=True)
        self.piped(self.convert, "-", self.out, "--labels", "none", "--pairs", "off")
        self.assertIn("image", self.ok("info", self.out).out)
        self.assertNotIn("txt", self.ok("info", self.out, "--json").out.replace(".txt", ""))

    def test_any_archive_is_of_samples_with_parse(self):
        texts = tar_of(self.folder / "t.tar", *((f"{i}.txt", b"abc") for i in range(4))).read_bytes()
        self.piped(self.convert, "-", self.out, "--parse", "webdataset", content=texts)
        self.assertEqual(self.ok("cat", self.out, "2").out, "abc")
        self.assertEqual(self.piped(self.ok, "cat", "-", "2", "--parse", "webdataset", content=texts).out, "abc")

    def test_an_index_is_that_of_a_file(self):
        for command in ("info", "ls", "verify"):
            self.piped(self.refused, command, "-", "--index-dir", self.folder)
        self.piped(self.refused, "convert", "-", self.out, "--to", "record", "--index-dir", self.folder, code=2, says=("--index-dir",))

    def test_nothing_is_left_behind(self):
        write(self.folder / "tmp/x", b"")
        self.piped(self.ok, "verify", "-", environment={"TMPDIR": str(self.folder / "tmp")})
        self.assertEqual(os.listdir(self.folder / "tmp"), ["x"])
