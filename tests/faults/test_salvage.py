"""convert --on-error skip of damaged files of other tools: wherever the damage is, what comes out is as it was written, under its own key, and the rest is listed."""

import csv
import gzip
import io
import shutil
import sys
import zipfile
from pathlib import Path

from fault_case import IN_MEMORY, FaultCase
from shale_tool import make_photos, npy, png, read_index, run, samples_of, write

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from tar_archives import BLOCK, tar_of

SKIP = ("--on-error", "skip", "--max-errors", "100%", "--quiet")
PAGE = 4096


def flipped(content, at, _):
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


def zeroed(content, at, count):
    return content[:at] + bytes(len(content[at : at + count])) + content[at + count :]


def dropped(content, at, count):
    return content[:at] + content[at + count :]


def grown(content, at, count):
    return content[:at] + b"\x5a" * count + content[at:]


def cut(content, at, _):
    return content[:at]


class _Salvage(FaultCase):
    base = IN_MEMORY

    def saved(self, *inputs, words=()):
        """What comes out, as key -> label and image, and the rows of skipped.csv."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.ok("convert", *inputs, self.out, "--to", "record", *SKIP, *words, code=4)
        found = {key: (label, image) for key, label, image in samples_of(self.out)}
        return found, self.listed(self.out)

    def listed(self, out):
        return list(csv.reader((out / "skipped.csv").read_text().splitlines()))[1:]

    def offered(self, *inputs):
        """Without the option it is refused, and the option is named."""
        done = self.refused("convert", *inputs, self.folder / "refused", "--to", "lmdb", code=3)
        self.assertIn("pass --on-error skip to take what is whole of it", done.err)


class SavedRecords(_Salvage):
    def setUp(self):
        super().setUp()
        photos = make_photos(self.folder / "in", 24, sides=(2, 9))
        self.one = self.folder / "one.tfrecord"
        self.ok("convert", photos, self.one, "--with-index", "--quiet")
        index = read_index(f"{self.one}.index.npy")
        self.content = self.one.read_bytes()
        self.frames = [(row["record.offset"], row["record.length"]) for row in index]
        self.all = {}
        for row in index:
            key, image = (self.content[row[f"{f}.offset"] :][: row[f"{f}.length"]] for f in ("key", "image"))
            self.all[key] = (row["label"], image)
        self.bad = self.folder / "bad.tfrecord"

    def test_whatever_region_is_damaged_all_other_records_come_out(self):
        ends = {0, *(begin + length for begin, length in self.frames)}
        for damage in (flipped, zeroed, dropped, grown, cut):
            for at in self.dice.sample(range(1, len(self.content) - 40), 16):
                count = self.dice.choice((1, 17, 300)) if damage is not flipped else 1
                content = damage(self.content, at, count)
                # A file without its last records, or without some between, is whole.
                if content == self.content or (damage is cut and at in ends) or (damage is dropped and {at, at + count} <= ends):
                    continue
                self.bad.write_bytes(content)
                end = {cut: len(self.content), grown: at + 1}.get(damage, at + count)
                # Bytes that are inserted between two frames are in neither.
                is_touched = [at < begin + length and end > begin and not (damage is grown and at == begin) for begin, length in self.frames]
                with self.subTest(damage=damage.__name__, at=at, count=count):
                    if all(is_touched):
                        continue
                    found, listed = self.saved(self.bad)
                    kept = [item for item, touched in zip(self.all.items(), is_touched) if not touched]
                    self.assertEqual(list(found.items()), kept)
                    self.assertTrue(listed)

    def test_the_option_is_named_and_no_default(self):
        self.bad.write_bytes(self.content[:-40])
        self.offered(self.bad)
        self.bad.write_bytes(flipped(self.content, self.frames[7][0] + 20, 1))
        self.offered(self.bad)

    def test_a_damaged_payload_in_one_file_of_a_set_is_found(self):
        self.bad.write_bytes(flipped(self.content, self.frames[7][0] + 20, 1))
        self.offered(self.one, self.bad)

    def test_of_a_set_of_files_each_gives_what_is_whole_of_it(self):
        first, second, none = (self.folder / f"part-{n}.tfrecord" for n in range(3))
        first.write_bytes(self.content[:-40])
        second.write_bytes(flipped(self.content, self.frames[7][0] + 20, 1))
        none.write_bytes(bytes(300))
        self.ok("convert", first, second, none, self.out, "--to", "record", *SKIP, code=4)
        self.assertEqual([[*range(23)], [n for n in range(24) if n != 7]], self.rows_by_file())
        self.assertEqual([row[2].split(":")[0] for row in self.listed(self.out)], ["part-0.tfrecord", "part-1.tfrecord", "part-2.tfrecord"])

    def rows_by_file(self):
        keys, images = list(self.all), list(self.all.values())
        found, rows = [], []
        for _, label, image in samples_of(self.out):
            row = images.index((label, image))
            if rows and row < rows[-1]:
                found.append(rows)
                rows = []
            rows.append(row)
        self.assertEqual(len(keys), 24)
        return [*found, rows]

    def test_of_a_truncated_gzip_file_comes_what_is_decompressed(self):
        packed = gzip.compress(self.content)
        self.bad.write_bytes(packed[: len(packed) * 3 // 4])
        self.offered(self.bad)
        found, listed = self.saved(self.bad)
        self.assertEqual(list(found.items()), list(self.all.items())[: len(found)])
        self.assertGreater(len(found), 8)
        self.assertEqual(len(listed), 1)

    def test_of_gzip_data_all_that_comes_before_the_damage_is_taken(self):
        packed = gzip.compress(self.content)
        for bad in (packed[:-8] + bytes(8), packed[:-4] + bytes(4), packed[:-6], packed + b"junk"):
            with self.subTest(bytes=bad[-12:]):
                self.bad.write_bytes(bad)
                self.offered(self.bad)
                found, listed = self.saved(self.bad)
                self.assertEqual(found, self.all)
                self.assertIn(f"bad.tfrecord: byte {len(self.content)}: ", listed[0][2])

    def test_records_in_a_record_are_none_of_the_file(self):
        files = self.folder / "files" / "a"
        for n in range(3):
            frames = self.frames[3 * n : 3 * n + 3]
            write(files / f"{n}.tfrecord", b"".join(self.content[begin : begin + length] for begin, length in frames))
        outer = self.folder / "outer.tfrecord"
        self.ok("convert", files.parent, outer, "--ext", "tfrecord", "--with-index", "--quiet")
        content, rows = outer.read_bytes(), read_index(f"{outer}.index.npy")
        for number, row in enumerate(rows):
            begin, length = row["record.offset"], row["record.length"]
            for byte in (0, 9):  # of the length, of its checksum
                with self.subTest(number=number, byte=byte):
                    self.bad.write_bytes(flipped(content, begin + byte, 1))
                    found, listed = self.saved(self.bad, words=("--rename", "data:image"))
                    self.assertEqual(list(found), [f"a/{n}.tfrecord".encode() for n in range(3) if n != number])
                    self.assertEqual(len(listed), 1)
                    self.assertIn(f"{length} bytes from byte {begin} on", listed[0][2])

    def test_in_another_order_the_same_come_out(self):
        self.bad.write_bytes(flipped(self.content, self.frames[7][0] + 20, 1))
        whole = {key: value for n, (key, value) in enumerate(self.all.items()) if n != 7}
        self.assertEqual(self.saved(self.bad, words=("--shuffle", "--seed", 5))[0], whole)


class SavedRows(_Salvage):
    def test_the_whole_rows_of_a_truncated_array(self):
        rows = bytes(range(240)) * 5
        x, y, bad = (self.folder / f"{name}.npy" for name in ("x", "y", "bad"))
        write(x, npy("<f4", (60, 5), rows))
        write(y, npy("|u1", (60,), bytes(range(60))))
        content = x.read_bytes()
        begin = len(content) - len(rows)
        for end in (begin + 20, begin + 21, len(content) - 21, len(content) - 1):
            with self.subTest(end=end - begin):
                bad.write_bytes(content[:end])
                self.offered(f"x={bad}", f"y={y}")
                shutil.rmtree(self.out, ignore_errors=True)
                self.ok("convert", f"x={bad}", f"y={y}", self.out, "--to", "npy", *SKIP, code=4)
                whole = (end - begin) // 20
                self.assertTrue((self.out / "shard-000000.x.npy").read_bytes().endswith(rows[: whole * 20]))
                self.assertTrue((self.out / "shard-000000.y.npy").read_bytes().endswith(bytes(range(whole))))
                self.assertEqual([row[0] for row in self.listed(self.out)], [str(whole)])
        write(self.folder / "chosen", b"1\n2\n")
        for order in (["--shuffle"], ["--select", self.folder / "chosen"]):
            told = self.refused("convert", bad, self.folder / "none", "--to", "npy", *order, *SKIP[:2], code=3).err
            self.assertIn("whole rows are saved in their own order", told)

    def test_rows_behind_a_truncated_file_keep_their_numbers(self):
        rows = bytes(range(60)) * 20
        a, b = self.folder / "a.npy", self.folder / "b.npy"
        write(a, npy("<f4", (60, 5), rows))
        b.write_bytes(a.read_bytes()[:-100])
        self.ok("convert", f"x={b}", f"x={a}", self.out, "--to", "lmdb", *SKIP, code=4)
        keys = self.ok("ls", self.out, "--keys", "escaped").out.split()
        self.assertEqual([key for key in keys if key.isdigit()], [str(n) for n in (*range(55), *range(60, 120))])


class SavedEntries(_Salvage):
    def setUp(self):
        super().setUp()
        photos = make_photos(self.folder / "in", 60, sides=(2, 34))
        self.one, self.bad = self.folder / "one.lmdb", self.folder / "bad.lmdb"
        self.ok("convert", photos, self.one, "--quiet")
        self.ok("convert", photos, self.out, "--to", "record", "--quiet")
        self.all = {key: (label, image) for key, label, image in samples_of(self.out)}
        self.content = self.one.read_bytes()

    def check(self, content, least):
        if content == self.content:
            return
        self.bad.write_bytes(content)
        found, _ = self.saved(self.bad)
        self.assertEqual(found, {key: self.all[key] for key in found})
        self.assertGreaterEqual(len(found), least)

    def test_whatever_page_is_lost_the_entries_of_all_others_come_out(self):
        pages = len(self.content) // PAGE
        self.bad.write_bytes(self.content[:-PAGE])
        self.offered(self.bad)
        for page in range(2, pages):
            with self.subTest(page=page):
                content = zeroed(self.content, page * PAGE, PAGE)
                is_leaf = self.content[page * PAGE + 10] & 2
                is_branch = self.content[page * PAGE + 10] & 1
                if is_branch:
                    continue  # the root: nothing can be reached
                self.check(content, len(self.all) - (20 if is_leaf else 1))

    def test_a_damaged_header_of_a_page_loses_its_entries_alone(self):
        pages = len(self.content) // PAGE
        for page in self.dice.sample(range(2, pages), min(10, pages - 2)):
            if self.content[page * PAGE + 10] & 1:
                continue
            for byte in (0, 10, 13, 15, 17):
                with self.subTest(page=page, byte=byte):
                    self.check(flipped(self.content, page * PAGE + byte, 1), len(self.all) - 20)

    def test_without_its_first_meta_page_the_second_one_is_read(self):
        for content in (zeroed(self.content, 0, PAGE), flipped(self.content, 17, 1), flipped(self.content, 20, 1)):
            self.bad.write_bytes(content)
            done = self.refused("verify", self.bad, code=3)
            self.assertIn("the first meta page is unusable", done.err)
            self.offered(self.bad)
            found, listed = self.saved(self.bad)
            self.assertEqual(len(found), len(self.all))
            self.assertEqual(len(listed), 1)

    def test_a_truncated_file_gives_what_lies_before_its_end(self):
        for share in (2, 3, 5):
            with self.subTest(share=share):
                content = self.content[: -len(self.content) // share]
                self.bad.write_bytes(content)
                self.offered(self.bad)
                done = run("convert", self.bad, self.out, "--to", "record", "--overwrite", *SKIP)
                self.assertIn(done.code, (3, 4))
                if done.code == 4:
                    found = {key: (label, image) for key, label, image in samples_of(self.out)}
                    self.assertEqual(found, {key: self.all[key] for key in found})


class SavedMembers(_Salvage):
    def setUp(self):
        super().setUp()
        self.all = {b"%02d" % n: (n % 3, png(2 + n, 3, n)) for n in range(9)}
        members = [member for key, (label, image) in self.all.items() for member in ((f"{key.decode()}.png", image), (f"{key.decode()}.cls", b"%d" % label))]
        self.bad = tar_of(self.folder / "bad.tar", *members)
        self.content = self.bad.read_bytes()
        self.end = len(self.content.rstrip(b"\0")) // BLOCK * BLOCK + BLOCK
        self.headers = [at for at in range(0, self.end, BLOCK) if self.content[at + 257 : at + 262] == b"ustar"]

    def check(self, content, touched):
        """Samples that the damage has not touched come out as they were written, and those that it has touched as well or not at all."""
        self.bad.write_bytes(content)
        self.offered(self.bad)
        self.refused("verify", self.bad, code=3)
        found, listed = self.saved(self.bad)
        self.assertEqual(found, {key: self.all[key] for key in found})
        self.assertLessEqual(set(self.all) - {b"%02d" % n for n in touched}, set(found))
        self.assertTrue(listed)

    def test_wherever_an_archive_ends_early_whole_samples_come_out(self):
        for size in self.dice.sample(range(8 * BLOCK, self.end + BLOCK, BLOCK // 2), 12):
            with self.subTest(size=size):
                # The sample with the last member that is there at all; the one before it may be half as far as anybody knows.
                last = (sum(at < size for at in self.headers) - 1) // 2
                self.check(self.content[:size], range(last, 9))

    def test_a_damaged_header_loses_its_sample_alone(self):
        # Two whole members say that it is an archive of samples, and a whole sample which members one has.
        for number, at in self.dice.sample(list(enumerate(self.headers))[3:], 4):
            for byte in (0, 124, 152, 156, 400):
                with self.subTest(number=number, byte=byte):
                    self.check(flipped(self.content, at + byte, 1), {number // 2})

    def test_one_block_of_zeros_ends_a_whole_archive(self):
        for size in (self.end + BLOCK, self.end + 2 * BLOCK, len(self.content)):
            self.bad.write_bytes(self.content[:size])
            self.ok("verify", self.bad)


class SavedFiles(_Salvage):
    """Of zip archives of class folders, by Python's zipfile: sizes and places are in the directory, names in both."""

    def setUp(self):
        super().setUp()
        self.all = {f"{('cat', 'cow', 'dog')[n % 3]}/{n}.png".encode(): (n % 3, png(3 + n, 4, n)) for n in range(9)}
        self.bad = self.folder / "bad.zip"
        self.content = self.archive(zipfile.ZIP_STORED)

    def archive(self, method, more=()):
        with zipfile.ZipFile(out := io.BytesIO(), "w", method) as archive:
            for key, (_, image) in [*self.all.items(), *more]:
                archive.writestr(zipfile.ZipInfo(key.decode()), image, method)
        return out.getvalue()

    def header(self, key):
        return self.content.index(key) - 30

    def entry(self, key):
        return self.content.rindex(key) - 46

    def left(self, content, code, fact):
        """Without the option it is refused; with it this is what comes out, and what is listed."""
        self.bad.write_bytes(content)
        done = self.refused("convert", self.bad, self.folder / "refused", "--to", "lmdb", code=code, says=(fact, "pass --on-error skip"))
        self.assertFalse((self.folder / "refused").exists(), done.err)
        found, listed = self.saved(self.bad)
        self.assertEqual(found, {key: self.all[key] for key in found})
        self.assertIn("bad.zip: byte ", listed[0][2])
        self.assertIn(fact, listed[0][2])
        self.ok("convert", self.bad, self.folder / "planned", "--to", "lmdb", *SKIP, "--dry-run", code=4)
        self.ok("verify", self.out, "--against", self.bad)
        return set(self.all) - set(found), {key.encode(): reason for key, reason, _ in listed}

    def test_a_member_that_cannot_be_read_is_left_out_alone(self):
        header, entry = self.header(b"cow/4.png"), self.entry(b"cow/4.png")
        for at, bits, code, fact in (
            (header, 1, 3, "expected the local header of member 'cow/4.png' here"),
            (header + 8, 8, 3, "local header is for 'cow/4.png' (method 8), but the directory says 'cow/4.png' (0)"),
            (entry + 8, 1, 1, "member 'cow/4.png' is encrypted"),
            (entry + 10, 14, 1, "member 'cow/4.png' is compressed by method 14, not deflate"),
            (entry + 20, 1, 3, "stored member 'cow/4.png' of"),
            (entry + 42, 1, 3, "expected the local header of member 'cow/4.png' here"),
        ):
            with self.subTest(fact=fact):
                content = self.content[:at] + bytes([self.content[at] ^ bits]) + self.content[at + 1 :]
                self.assertEqual(self.left(content, code, fact), ({b"cow/4.png"}, {b"cow/4.png": "damaged-input"}))

    def test_a_member_that_reaches_into_the_next_one_is_left_out_and_not_that(self):
        self.content = self.archive(zipfile.ZIP_DEFLATED)
        at = self.entry(b"cow/4.png") + 20
        lost, listed = self.left(self.content[:at] + bytes([self.content[at] + 9]) + self.content[at + 1 :], 3, "members 'cow/4.png' and 'dog/5.png' overlap")
        self.assertEqual((lost, set(listed)), ({b"cow/4.png"}, {b"cow/4.png"}))

    def test_a_photo_that_is_named_like_a_folder_is_not_passed_over(self):
        lost, listed = self.left(self.archive(zipfile.ZIP_STORED, [(b"dog/9.png/", (2, png(4, 4)))]), 3, "has the name of a folder")
        self.assertEqual((lost, set(listed)), (set(), {b"dog/9.png"}))

    def test_a_damaged_name_makes_no_class(self):
        for place in (self.header(b"cow/4.png") + 30, self.entry(b"cow/4.png") + 46):
            for name in (b"cot/4.png", b"../x4.png", b"/ow/4.png", b"c\0w/4.png"):
                with self.subTest(place=place, name=name):
                    content = self.content[:place] + name + self.content[place + 9 :]
                    self.assertEqual(self.left(content, 3, "local header is for")[1].keys(), {b"cow/4.png"})
        place = self.entry(b"cow/4.png") + 46
        for name, listed in ((b"cow/5.png", {b"cow/4.png", b"cow/5.png"}), (b"cow/7.png", {b"cow/4.png"})):
            with self.subTest(name=name):
                self.assertEqual(self.left(self.content[:place] + name + self.content[place + 9 :], 3, "local header is for")[1].keys(), listed)

    def test_whatever_byte_is_damaged_nothing_comes_out_wrong(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.content = self.archive(method)
            for damage in (flipped, zeroed, grown, dropped):
                for at in self.dice.sample(range(4, len(self.content)), 25):
                    content = damage(self.content, at, 1)
                    with self.subTest(method=method, damage=damage.__name__, at=at):
                        self.bad.write_bytes(content)
                        shutil.rmtree(self.out, ignore_errors=True)
                        done = run("convert", self.bad, self.out, "--to", "record", *SKIP)
                        if done.code in (1, 3):  # all of it
                            self.assertTrue(at >= self.content.index(b"PK\1\2") or damage in (grown, dropped), done.err)
                            self.assertRegex(done.err, "\nhint: .*(zip -FF|7z)")
                            continue
                        found = {key: (label, image) for key, label, image in samples_of(self.out)}
                        self.assertEqual(found, {key: self.all[key] for key in found}, done.err)
                        lost = {key.decode() for key in set(self.all) - set(found)}
                        self.assertLessEqual(lost, {row[0] for row in self.listed(self.out)} if lost else lost)
                        self.assertEqual(done.code, 4 if lost else 0, done.err)
