"""Killed at any step, a run with annotations as labels continues to the same bytes; parts, an append, a repair and a changed annotation know them."""

import json
import os
import random
import shutil
import signal

from fault_case import IN_MEMORY, FaultCase
from shale_tool import Folder, png, run, snapshot, write
from steps import Steps

KILLS = int(os.environ.get("ANNOTATION_KILLS", 5))
IMAGES = 30
KINDS = {"coco": "instances.json", "captions": "captions.json", "voc": "Annotations", "yolo": "labels"}


def make_inputs(folder):
    """images: no classes. The same boxes, here and there none, for each of KINDS."""
    dice = random.Random(42)
    annotations, captions = [], []
    write(folder / "labels/classes.txt", b"cat\ndog\n")
    for number in range(IMAGES):
        write(folder / f"images/{number:03}.png", png(5, 5, seed=number))
        boxes = [(dice.randrange(2), [dice.randrange(9) + 0.5 for _ in range(4)]) for _ in range(number % 4)]
        annotations += [{"image_id": number, "category_id": kind + 1, "bbox": box, "area": 1, "iscrowd": 0} for kind, box in boxes]
        captions += [{"image_id": number, "caption": f"caption {n} of {number}"} for n in range(number % 3)]
        objects = "".join(
            f"<object><name>{('cat', 'dog')[kind]}</name><bndbox>"
            + "".join(f"<{side}>{value}</{side}>" for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box))
            + "</bndbox></object>"
            for kind, box in boxes
        )
        write(folder / f"Annotations/{number:03}.xml", f"<annotation>{objects}</annotation>".encode())
        if boxes:
            write(folder / f"labels/{number:03}.txt", "".join(f"{kind} {' '.join(map(str, box))}\n" for kind, box in boxes).encode())
    images = [{"id": number, "file_name": f"{number:03}.png"} for number in range(IMAGES)]
    dice.shuffle(annotations)
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    write(folder / "instances.json", json.dumps({"annotations": annotations, "images": images, "categories": categories}).encode())
    write(folder / "captions.json", json.dumps({"annotations": captions, "images": images}).encode())


class KilledAnnotations(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.inputs = Folder(self.base)
        self.addCleanup(self.inputs.remove)
        make_inputs(self.inputs)

    def command(self, kind, out, *options):
        return [
            "convert",
            self.inputs / "images",
            out,
            "--to",
            "record",
            "--shard-samples",
            7,
            "--labels",
            self.inputs / KINDS[kind],
            *options,
            "--io",
            "buffered",
        ]

    def test_killed_runs_continue_to_the_same_bytes(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                reference, out = self.folder / f"{kind}-reference", self.folder / f"{kind}-out/o"
                self.ok(*self.command(kind, reference))
                out.parent.mkdir()
                steps = Steps(self, self.folder, out.parent)
                command = self.command(kind, out, "--jobs", self.dice.choice((1, 3)))
                recorded = steps.recorded(command)[1]
                for number in range(1 + self.dice.randrange(3), len(recorded) + 1, max(1, len(recorded) // KILLS)):
                    shutil.rmtree(out, ignore_errors=True)
                    self.assertEqual(steps.killed(command, number), -signal.SIGKILL, recorded[number - 1])
                    self.ok(*command)
                    self.assertEqual(snapshot(out), snapshot(reference), f"killed at {recorded[number - 1]}")

    def test_a_changed_annotation_is_another_input(self):
        for kind, name in {**KINDS, "voc": "Annotations/003.xml", "yolo": "labels/003.txt"}.items():
            with self.subTest(kind=kind):
                out, file = self.folder / kind / "o", self.inputs / name
                out.parent.mkdir()
                steps = Steps(self, self.folder, out.parent)
                command = self.command(kind, out)
                number = next(step.number for step in steps.recorded(command)[1] if step.path.endswith("dataset.json"))
                shutil.rmtree(out)
                self.assertEqual(steps.killed(command, number), -signal.SIGKILL)
                was = file.read_bytes()
                changed = was.replace(b".5", b".7", 1) if kind != "captions" else was.replace(b"of 5", b"of 6", 1)
                self.assertNotEqual(changed, was)
                file.write_bytes(changed)
                self.refused(*command, says=("fingerprint",))
                file.write_bytes(was)
                self.ok(*command)
                self.ok("verify", out, "--against", self.inputs / "images", "--labels", self.inputs / KINDS[kind])

    def test_parts_and_a_repair(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                whole, parts, merged = (self.folder / f"{kind}-{name}" for name in ("whole", "parts", "merged"))
                self.ok(*self.command(kind, whole))
                for part in range(3):
                    self.ok(*self.command(kind, parts, "--part", f"{part}/3"))
                self.ok("merge", parts, merged)
                digests = [json.loads(self.ok("info", out, "--json").out)["content_digest"] for out in (whole, merged)]
                self.assertEqual(digests[0], digests[1])
                was = snapshot(whole)
                (whole / "shard-000001.tfrecord").unlink()
                self.ok("repair", whole, "--from", self.inputs / "images", "--labels", self.inputs / KINDS[kind])
                self.assertEqual(snapshot(whole), was)
                self.ok("verify", whole)

    def test_truncated_anywhere_it_is_refused_or_read_as_a_whole(self):
        """Of XML and JSON no byte can be missing at the end; of text a line may."""
        for kind, name in (("coco", "instances.json"), ("captions", "captions.json"), ("voc", "Annotations/003.xml")):
            file = self.inputs / name
            whole = file.read_bytes()
            for size in (0, 1, len(whole) - 1, *(self.dice.randrange(len(whole)) for _ in range(8))):
                with self.subTest(kind=kind, size=size):
                    file.write_bytes(whole[:size])
                    done = run(*self.command(kind, self.folder / "no"))
                    self.assertEqual(done.code, 1, done.err)
                    self.assertRegex(done.err, "(?m)^hint: ")
            file.write_bytes(whole)
