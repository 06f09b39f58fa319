#!/usr/bin/env python3
"""COCO's annotations joined with their images: convert of a folder with --labels, beside convert of the images alone, and a loop with json or pycocotools.

python3 bench/annotations.py [--images 118000] [--boxes 860000] [--polygons] [--rounds 5] ...
Needs pycocotools for the last row (any Python that has it). bench/README.md explains the rows.
"""

import importlib.util
import json
import random
import sys

import harness
from harness import Step
from inputs import convert, made_once

# Reads the file, and gathers the boxes of each image by its name.
BY_PYCOCOTOOLS = """
import sys
from pycocotools.coco import COCO
coco = COCO(sys.argv[1])
boxes = {image["file_name"]: [one["bbox"] for one in coco.imgToAnns[number]] for number, image in coco.imgs.items()}
print(len(boxes), file=sys.stderr)
"""
BY_JSON = """
import collections, json, sys
content = json.load(open(sys.argv[1]))
of_image = collections.defaultdict(list)
for one in content["annotations"]:
    of_image[one["image_id"]].append(one["bbox"])
boxes = {image["file_name"]: of_image[image["id"]] for image in content["images"]}
print(len(boxes), file=sys.stderr)
"""
# The smallest PNG of one gray pixel: what is measured is the file of labels.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c636800000082008177cd72b60000000049454e44ae426082"
)


def parse_arguments():
    options = harness.parser(__doc__)
    options.add_argument("--images", type=int, default=118_000)
    options.add_argument("--boxes", type=int, default=860_000)
    options.add_argument("--polygons", action="store_true", help="annotations have a polygon of 30 points each, as instances_train2017.json has")
    return options.parse_args()


def make_file(path, arguments):
    """Members and spaces as in instances_train2017.json."""
    dice = random.Random(2017)
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"info": {"year": 2017}, "licenses": [], "images": [')
        for number in range(arguments.images):
            image = {"license": 3, "file_name": f"{number:012}.png", "height": 1, "width": 1, "date_captured": "2013-11-14 11:18:45", "id": number}
            file.write((", " if number else "") + json.dumps(image))
        file.write('], "annotations": [')
        for number in range(arguments.boxes):
            box = [round(dice.random() * 300, 2) for _ in range(4)]
            polygon = {"segmentation": [[round(dice.random() * 640, 2) for _ in range(60)]]} if arguments.polygons else {}
            more = {"area": round(box[2] * box[3], 4), "iscrowd": 0, "image_id": dice.randrange(arguments.images), "bbox": box}
            file.write((", " if number else "") + json.dumps({**polygon, **more, "category_id": 1 + dice.randrange(80), "id": number}))
        file.write('], "categories": ' + json.dumps([{"id": kind + 1, "name": f"class {kind}"} for kind in range(80)]) + "}")


def make_images(path, count):
    path.mkdir()
    for number in range(count):
        (path / f"{number:012}.png").write_bytes(PNG)


def results(arguments):
    work = arguments.work
    images = made_once(work / f"coco-images-{arguments.images}", lambda path: make_images(path, arguments.images))
    name = f"coco-{arguments.images}-{arguments.boxes}{'-polygons' * arguments.polygons}.json"
    file = made_once(work / name, lambda path: make_file(path, arguments))
    out = work / "out"
    wanted = ("--label-column", "boxes,categories,area,iscrowd,image_id")
    steps = [
        Step("shale convert --labels", convert(arguments, images, out, "record", "--labels", file, *wanted), [file], out),
        Step("shale convert, images alone", convert(arguments, images, out, "record", "--fields", "image"), [file], out),
        Step("json.load and a loop", [sys.executable, "-c", BY_JSON, file], [file], syncs=False),
    ]
    if importlib.util.find_spec("pycocotools"):
        steps.append(Step("pycocotools", [sys.executable, "-c", BY_PYCOCOTOOLS, file], [file], syncs=False))
    runs = harness.alternate(steps, arguments.rounds, work, "warm")
    title = f"{arguments.images:,} images, {arguments.boxes:,} boxes{', with polygons' * arguments.polygons}"
    yield title, runs, harness.table(runs, "shale convert --labels", harness.size_of([file]), title)


if __name__ == "__main__":
    harness.run(parse_arguments(), results)
