"""Datasets that are valid in form, absurd in content, and sealed with right hashes: each member of dataset.json, and the payload of shards."""

import json
import re
import resource
import shutil
import signal
import struct

from fault_case import BUG_MARKS, IN_MEMORY, FaultCase
from manifests import NUMBER, NUMBERS, OTHERS, TEXT, TEXTS, reseal_shards, sealed
from shale_tool import CMYK_JPEG, GRAY_JPEG, IS_SANITIZED, RGB_JPEG, make_photos, manifest_of, npy, run, samples_of, write

MOST_BYTES = 96 << 20  # program, libraries, budget of 16 MiB
MOST_SECONDS = 20


def limited():
    """Neither spinning nor waiting is endless: a signal ends it, and no exit code is a signal's."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    signal.alarm(3 * MOST_SECONDS)


class HostileManifests(FaultCase):
    """Each number, text and name of a manifest is replaced in turn, by another value each time; every command reads the result."""

    base = IN_MEMORY

    def survives(self, dataset, text, commands, story):
        (dataset / "dataset.json").write_bytes(sealed(text))
        for words in commands:
            done = run(*words, preexec_fn=limited)
            told = f"{story}: shale {words}: exit {done.code}\n{done.out[:2000]}{done.err[:2000]}"
            self.assertIn(done.code, (0, 1, 3), told)
            if not IS_SANITIZED:
                self.assertLess(done.peak_bytes, MOST_BYTES, told)
            for mark in (*BUG_MARKS, "\033", "\u202e", "\0"):
                self.assertNotIn(mark, done.out + done.err, told)
            shutil.rmtree(self.out, ignore_errors=True)
            yield words, done

    def survives_all(self, dataset, commands):
        whole = (dataset / "dataset.json").read_bytes()
        body = whole.rindex(b'"hash"')
        changes = []
        for pattern, values in ((NUMBER, NUMBERS), (TEXT, TEXTS)):
            for turn, place in enumerate(pattern.finditer(whole, 0, body)):
                changes.append((place, values[turn % len(values)]))
                if turn % 8 == 0:
                    changes.append((place, OTHERS[turn // 8 % len(OTHERS)]))
        for place, value in changes[:: 8 if IS_SANITIZED else 1]:
            story = f"{place[0]!r} at byte {place.start()} is {value[:30]!r}"
            for _ in self.survives(dataset, whole[: place.start()] + value + whole[place.end() :], commands, story):
                pass

    def test_of_photos(self):
        dataset = self.folder / "set"
        self.ok("convert", make_photos(self.folder / "in", 4), dataset, "--to", "record")
        few = ("--memory", "16MiB")
        self.survives_all(dataset, [
            ["info", dataset], ["cat", dataset, "1", "--json"], ["verify", dataset, "--deep", *few], ["convert", dataset, self.out, "--to", "lmdb", *few],
            ["index", dataset, *few],
        ])  # fmt: skip

    def test_of_arrays(self):
        dataset = self.folder / "set"
        write(self.folder / "x.npy", npy("<i2", (6, 3), bytes(36)))
        self.ok("convert", self.folder / "x.npy", dataset, "--to", "npy")
        few = ("--memory", "16MiB")
        self.survives_all(dataset, [
            ["cat", dataset, "1", "--json"], ["verify", dataset, "--deep", *few], ["convert", dataset, self.out, "--to", "hdf5", *few],
            ["convert", dataset, self.out, "--to", "record", "--dry-run", *few], ["resample", dataset, self.out, "--to", "npy", *few],
        ])  # fmt: skip

    def test_more_rows_of_no_bytes_than_can_be_counted(self):
        """B1.10: a file of 128 bytes had convert count to 2^60."""
        array, dataset, rows = self.folder / "x.npy", self.folder / "set", 2**60
        write(array, npy("<i2", (rows, 0), b""))
        write(self.folder / "y.npy", npy("<i2", (6, 0), b""))
        few = ("--memory", "16MiB")
        for words in (["convert", array, self.out, "--to", "npy"], ["convert", array, self.out, "--to", "record", "--dry-run"], ["convert", array, self.folder / "o.npy"],
                      ["convert", array, self.out, "--to", "hdf5", "--shuffle"], ["resample", array, self.folder / "o.npy"], ["resample", array, self.out, "--to", "npy"],
                      ["index", array], ["info", array], ["verify", array], ["cat", array, "1"]):  # fmt: skip
            self.refused(*words, *(few if words[0] not in ("info", "cat") else ()), says=[f"{rows} rows of zero bytes"], preexec_fn=limited)
        self.ok("convert", self.folder / "y.npy", dataset, "--to", "npy")
        text = (dataset / "dataset.json").read_bytes().replace(b'"samples":6', b'"samples":%d' % rows).replace(b'"samples": 6', b'"samples": %d' % rows)
        commands = [["verify", dataset], ["verify", dataset, "--deep"], ["cat", dataset, "1", "--json"], ["convert", dataset, self.out, "--to", "record"]]
        for words, done in self.survives(dataset, text, [*commands, ["resample", dataset, self.out, "--to", "npy"]], "2^60 rows"):
            self.assertNotEqual(done.code, 0, words)

    def test_what_a_manifest_counts_is_proved(self):
        """A number that is another one is found by verify, whatever it counts."""
        dataset = self.folder / "set"
        self.ok("convert", make_photos(self.folder / "in", 4), dataset, "--to", "record")
        whole = (dataset / "dataset.json").read_bytes()
        free = re.compile(rb'"(?:source|images|options)": ')  # facts about an input that is not there
        for place in NUMBER.finditer(whole, 0, whole.rindex(b'"hash"')):
            line = whole.rindex(b"\n", 0, place.start()) + 1
            if free.match(whole, line) or whole[place.start() - 1 : place.start()] == b'"':
                continue
            text = whole[: place.start()] + str(int(place[0]) + 1).encode() + whole[place.end() :]
            for words, done in self.survives(dataset, text, [["verify", dataset]], f"{place[0]!r} at {place.start()} is one more"):
                self.assertIn(done.code, (1, 3), f"{words}: {place[0]!r} at byte {place.start()} of {whole[line : line + 60]}")


def sized(jpeg, width, height):
    """A baseline JPEG whose frame claims another size."""
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HH", height, width) + jpeg[at + 4 :]


class HostileImages(FaultCase):
    """Images that claim more than they hold."""

    base = IN_MEMORY

    def test_the_largest_frame_that_a_JPEG_can_claim(self):
        """libjpeg reads 65,500 pixels a side. The container is whole all the same, and its library is asked."""
        for side, says in ((65_500, "it does not decode as JPEG"), (65_501, "JPEG of 65501 x 65501, libjpeg reads 65500 a side")):
            photos, dataset = self.folder / f"in-{side}", self.folder / f"set-{side}"
            for name, jpeg in {"gray": GRAY_JPEG, "rgb": RGB_JPEG, "cmyk": CMYK_JPEG}.items():
                write(photos / f"c/{name}.jpg", sized(jpeg, side, side))
            self.ok("convert", photos, dataset, "--to", "lmdb", "--memory", "16MiB")
            done = self.ok("verify", dataset, "--deep", "--memory", "16MiB", "--json", code=4, preexec_fn=limited)
            self.assertIn(says, done.err + done.out)
            facts = json.loads(done.out)
            self.assertEqual((facts["findings"], facts["bad_when_written"]), (3, 3))
            self.assertEqual((facts["second_opinion"]["shards"], facts["second_opinion"]["findings"]), (1, 0))
            if not IS_SANITIZED:
                self.assertLess(done.peak_bytes, MOST_BYTES)


class ForgedShards(FaultCase):
    """Shards that shale's own walk is content with, under right hashes: `verify --deep` asks the container's library."""

    base = IN_MEMORY

    def forged(self, container, forge):
        dataset = self.folder / container
        self.ok("convert", make_photos(self.folder / f"in-{container}", 4), dataset, "--to", container)
        reseal_shards(dataset)
        self.assertIn("and agrees", self.ok("verify", dataset, "--deep").out)
        shard = dataset / manifest_of(dataset)["shards"][0]["files"][0]["name"]
        content = bytearray(shard.read_bytes())
        forge(content)
        shard.write_bytes(content)
        self.refused("verify", dataset, "--full", code=3)
        reseal_shards(dataset)
        self.assertIn("every byte is as it was written", self.ok("verify", dataset).out)
        done = self.refused("verify", dataset, "--deep", code=3, says=["the library of its format does not"])
        facts = json.loads(run("verify", dataset, "--deep", "--json").out)
        self.assertEqual((facts["second_opinion"]["findings"], facts["findings"]), (1, 1), done.err)

    def test_lmdb(self):
        def forge(content):
            for meta in (0, 4096):
                content[meta + 32 : meta + 40] = (1 << 60).to_bytes(8, "little")

        self.forged("lmdb", forge)

    def test_hdf5(self):
        """Here shale's own walk lets nothing pass that the library reads: it wants each byte of the metadata as it would write it."""
        dataset = self.folder / "hdf5"
        self.ok("convert", make_photos(self.folder / "in", 4), dataset, "--to", "hdf5")
        shard = dataset / "shard-000000.h5"
        whole, found = shard.read_bytes(), 0
        begin = min(whole.index(image) for _, _, image in samples_of(dataset))
        places = range(0, begin, max(1, begin // 40))
        for place in places:
            shard.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
            reseal_shards(dataset)
            done = run("verify", dataset, "--deep")
            self.assertIn(done.code, (0, 3), f"byte {place}: {done.out}{done.err}")
            self.assertNotIn("the library of its format does not", done.err)
            found += done.code == 3
        self.assertGreater(found, len(places) * 4 // 5)  # the rest lies in bytes that mean nothing: before the rows, where they are aligned
