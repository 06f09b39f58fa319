"""verify reads every byte once, with all its threads, and finds the same whatever their number."""

import os
import pathlib

from fault_case import IN_MEMORY, MIB, FaultCase
from shale_tool import make_photos, manifest_of, png, read_index, run, start, write

SEAM = 8 * MIB  # verify divides a shard into ranges of this size


def bytes_read_by(*words):
    """All bytes that a run asks the system for, whether the page cache has them or not."""
    process = start(*words)
    process.stdout.read(), process.stderr.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    facts = pathlib.Path(f"/proc/{process.pid}/io").read_text()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    return int(facts.split("rchar: ")[1].split()[0])


class VerifyOnce(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 4000, sides=(2, 110))

    def test_every_byte_of_a_record_set_is_read_once(self):
        write(self.source / "class-1/large.png", png(5000, 4000))  # larger than a range
        self.convert(self.source, self.out)
        self.is_read_once(1.05)

    def test_every_byte_of_an_lmdb_set_is_read_once(self):
        self.ok("convert", self.source, self.out, "--to", "lmdb")
        self.is_read_once(1.05)

    def test_every_byte_of_an_hdf5_set_is_read_once(self):
        self.ok("convert", self.source, self.out, "--to", "hdf5")
        self.is_read_once(1.15)  # numbers, offsets and keys by the walk, too

    def is_read_once(self, factor):
        size = sum(path.stat().st_size for path in self.out.iterdir())
        # The index once for its hash, and once for what it says.
        size += sum(path.stat().st_size for path in self.out.glob("*.index.npy"))
        for jobs in (1, 2, 4):
            try:
                found = bytes_read_by("verify", self.out, "--jobs", jobs)
            except PermissionError as error:
                self.skipTest(f"the reads of a process are not to be seen here: {error}")
            self.assertGreaterEqual(found, size - MIB, "the measure sees nothing")
            self.assertLessEqual(found, size * factor + MIB, f"--jobs {jobs}")

    def same_findings(self, story, *words):
        """With any number of jobs; what was said."""
        first = run("verify", self.out, "--jobs", 1, *words)
        self.assertEqual(first.code, 3, f"{story}: {first.out}{first.err}")
        for jobs in (2, 4):
            again = run("verify", self.out, "--jobs", jobs, *words)
            self.assertEqual((again.code, again.err), (3, first.err), f"{story} --jobs {jobs}")
        return first.err

    def test_damage_of_every_kind_is_told_alike_by_any_number_of_jobs(self):
        write(self.source / "class-1/02000.png", png(5000, 4000))
        self.convert(self.source, self.out)
        (shard,) = manifest_of(self.out)["shards"]
        data, index, blocks = (self.out / file["name"] for file in (shard["files"][0], shard["index"], shard["blocks"]))
        rows = read_index(index)
        row_bytes = sum(4 if column.endswith(".crc32c") else 8 for column in rows[0])
        at_seam = next(i for i, row in enumerate(rows) if row["record.offset"] >= SEAM)
        places = []
        for number in (0, at_seam - 1, at_seam, at_seam + 1, len(rows) - 1):
            row = rows[number]
            places += [(data, row["record.offset"], f"length of frame {number}")]
            places += [(data, row["record.offset"] + 14, f"features of row {number}")]
            places += [(data, row["key.offset"], f"key of row {number}")]
            places += [(data, row["image.offset"] + row["image.length"] // 2, f"image of row {number}")]
            place = index.stat().st_size - (len(rows) - number) * row_bytes
            places += [(index, place, f"key.offset of row {number}")]
            places += [(index, place + row_bytes - 16, f"record.offset of row {number}")]
        places += [(blocks, blocks.stat().st_size - 20, "list of blocks")]
        for path, place, story in places:
            content = path.read_bytes()
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            said = self.same_findings(f"{path.name}: {story}")
            self.assertIn(path.name, said, story)
            path.write_bytes(content)
        data.write_bytes(data.read_bytes() + b"\0" * 40)
        self.same_findings("a file that has grown")

