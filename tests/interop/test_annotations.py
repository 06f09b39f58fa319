"""Annotations as labels: COCO's files beside pycocotools, and the files of labelImg, CVAT, Roboflow and Ultralytics."""

import io
import json
import random
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import shale
from conftest import run_shale, write
from PIL import Image
from pycocotools.coco import COCO


def jpeg(seed, width=24, height=16):
    stream = io.BytesIO()
    Image.new("RGB", (width, height), (seed * 37 % 256, seed * 91 % 256, 7)).save(stream, "JPEG")
    return stream.getvalue()


def photos(folder, names):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(jpeg(number))
    return folder


def instances(names, random_number, ids=None):
    """As pycocotools reads it: annotations in no order, some images without any."""
    ids = ids or random_number.sample(range(1, 10**6), len(names))
    categories = [{"id": 1, "name": "person", "supercategory": "x"}, {"id": 90, "name": "toothbrush"}, {"id": 18, "name": 'dog "big"'}]
    annotations = []
    for number in range(5 * len(names)):
        box = [round(random_number.random() * 20, 2) for _ in range(4)]
        annotations.append(
            {
                "id": number + 7,
                "image_id": random_number.choice(ids[: len(ids) * 2 // 3]),
                "category_id": random_number.choice(categories)["id"],
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": random_number.choice((0, 0, 1)),
                "segmentation": [[1.5, 2, 3, 4, 5, 6]] if number % 2 else {"counts": [3, 1], "size": [2, 2]},
                "keypoints": [number] * 6,
            }
        )
    images = [{"id": i, "file_name": name, "width": 24, "height": 16, "license": 1} for i, name in zip(ids, names, strict=True)]
    random_number.shuffle(images)
    return {"info": {"year": 2017}, "licenses": [{"id": 1}], "images": images, "annotations": annotations, "categories": categories}


@pytest.fixture
def random_number():
    return random.Random(20171)


def test_boxes_are_those_of_pycocotools(tmp_path, random_number):
    names = [f"{n:012d}.jpg" for n in range(60)]
    folder = photos(tmp_path / "val2017", names)
    file = tmp_path / "instances_val2017.json"
    file.write_text(json.dumps(instances(names, random_number), indent=1))
    done = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", file, code=4)
    assert b"column 'keypoints' (not_a_label), column 'segmentation' (not_a_label)" in done.stdout
    run_shale(
        "convert", folder, tmp_path / "all", "--to", "lmdb", "--labels", file, "--label-column", "boxes,categories,segmentation,keypoints"
    )
    run_shale("convert", f"image={folder}", f"boxes={file}", tmp_path / "joined", "--to", "hdf5", "--on", "key", code=4)
    run_shale(
        "verify", tmp_path / "all", "--against", folder, "--labels", file, "--label-column", "boxes,categories,segmentation,keypoints"
    )

    coco = COCO(str(file))
    ours, every, joined = (shale.Dataset(tmp_path / name) for name in ("out", "all", "joined"))
    ids = {image["file_name"]: image["id"] for image in coco.imgs.values()}
    category = {cat["id"]: number for number, cat in enumerate(sorted(coco.cats.values(), key=lambda cat: cat["id"]))}
    assert ours.classes == every.classes == joined.classes == ["person", 'dog "big"', "toothbrush"]
    for row, name in enumerate(names):
        sample = ours[row]
        theirs = coco.loadAnns(coco.getAnnIds(imgIds=ids[name]))
        assert (sample["key"], sample["image_id"]) == (name, ids[name])
        assert sample["boxes"].dtype == np.float64 and sample["boxes"].shape == (len(theirs), 4)
        assert sample["boxes"].tolist() == [ann["bbox"] for ann in theirs]
        assert sample["categories"].tolist() == [category[ann["category_id"]] for ann in theirs]
        assert sample["area"].tolist() == [ann["area"] for ann in theirs]
        assert sample["iscrowd"].tolist() == [ann["iscrowd"] for ann in theirs]
        assert json.loads(every[row]["segmentation"]) == [ann["segmentation"] for ann in theirs]
        assert every[row]["keypoints"].tolist() == [ann["keypoints"] for ann in theirs] and every[row]["keypoints"].shape[1:] in (
            (6,),
            (0,),
        )
        assert joined[row]["boxes"].tolist() == sample["boxes"].tolist()


def test_captions_are_lists_of_text(tmp_path, random_number):
    names = [f"{n:012d}.jpg" for n in range(20)]
    folder = photos(tmp_path / "val2017", names)
    captions = [{"image_id": random_number.randrange(15), "id": n, "caption": f'A "dog" \u00e9\u4e00 \U0001f600 {n}\n'} for n in range(70)]
    file = tmp_path / "captions_val2017.json"
    for ascii_only in (True, False):
        content = {"images": [{"id": n, "file_name": name} for n, name in enumerate(names)], "annotations": captions}
        file.write_text(json.dumps(content, ensure_ascii=ascii_only), encoding="utf-8")
        run_shale("convert", folder, tmp_path / f"out{ascii_only}", "--to", "record", "--labels", file)
        coco, ours = COCO(str(file)), shale.Dataset(tmp_path / f"out{ascii_only}")
        for row in range(len(names)):
            assert list(ours[row]["captions"]) == [ann["caption"] for ann in coco.loadAnns(coco.getAnnIds(imgIds=row))]


def test_a_file_of_roboflow_lies_among_its_images(tmp_path):
    """Ids from 0, a category that is the project, empty segmentations, names with a hash."""
    names = ["a_jpg.rf.0123abcd.jpg", "b_jpg.rf.4567cdef.jpg"]
    folder = photos(tmp_path / "train", names)
    content = {
        "info": {"version": "1"},
        "licenses": [{"id": 1}],
        "categories": [{"id": 0, "name": "helmets", "supercategory": "none"}, {"id": 1, "name": "head", "supercategory": "helmets"}],
        "images": [{"id": n, "license": 1, "file_name": name, "height": 16, "width": 24} for n, name in enumerate(names)],
        "annotations": [{"id": 0, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4.5], "area": 13.5, "segmentation": [], "iscrowd": 0}],
    }
    (folder / "_annotations.coco.json").write_text(json.dumps(content))
    run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", folder / "_annotations.coco.json")
    ours = shale.Dataset(tmp_path / "out")
    assert [sample["boxes"].tolist() for sample in ours] == [[], [[1, 2, 3, 4.5]]]
    assert (ours.classes, ours[1]["categories"].tolist()) == (["helmets", "head"], [1])
    info = run_shale("info", folder).stdout.decode()
    assert f"--labels {folder}/_annotations.coco.json" in info, info


def voc(objects, filename="x.jpg", more=""):
    """As labelImg writes it, which is as the devkit does."""
    root = ElementTree.Element("annotation")
    ElementTree.SubElement(root, "folder").text = "JPEGImages"
    ElementTree.SubElement(root, "filename").text = filename
    size = ElementTree.SubElement(root, "size")
    for side, value in (("width", 24), ("height", 16), ("depth", 3)):
        ElementTree.SubElement(size, side).text = str(value)
    for name, box, members in objects:
        item = ElementTree.SubElement(root, "object")
        for member, text in {"name": name, "pose": "Unspecified", "truncated": "0", "difficult": "0", **members}.items():
            ElementTree.SubElement(item, member).text = text
        bndbox = ElementTree.SubElement(item, "bndbox")
        for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True):
            ElementTree.SubElement(bndbox, side).text = str(value)
    return ElementTree.tostring(root, encoding="unicode").replace("</annotation>", more + "</annotation>")


def test_files_of_labelimg_and_the_devkit(tmp_path):
    folder = photos(tmp_path / "VOC/JPEGImages", ["2007_1.jpg", "2007_2.jpg", "2007_3.jpg"])
    annotations = tmp_path / "VOC/Annotations"
    annotations.mkdir()
    (annotations / "2007_1.xml").write_text(
        voc([("dog", (1, 2, 3, 4), {"difficult": "1"}), ("a & <b>", (1.5, 2, 20, 16), {})], "renamed.jpg")
    )
    (annotations / "2007_2.xml").write_text(
        "\ufeff<?xml version='1.0' encoding='utf-8'?>\n" + voc([("cat", (5, 6, 7, 8), {"truncated": "1"})]).replace("<difficult>0</difficult>", ""),
        encoding="utf-8",
    )
    (annotations / "2007_3.xml").write_text(voc([]))
    (annotations / "2007_4.xml").write_text(voc([("bird", (5, 6, 7, 8), {})]))
    done = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", annotations)
    assert b"1 row of" in done.stderr
    ours = shale.Dataset(tmp_path / "out")
    assert ours.classes == ["a & <b>", "bird", "cat", "dog"]
    assert [sample["boxes"].tolist() for sample in ours] == [[[1, 2, 3, 4], [1.5, 2, 20, 16]], [[5, 6, 7, 8]], []]
    assert [sample["categories"].tolist() for sample in ours] == [[3, 0], [2], []]
    assert [sample["difficult"].tolist() for sample in ours] == [[1, 0], [0], []]
    assert [sample["truncated"].tolist() for sample in ours] == [[0, 0], [1], []]
    run_shale("verify", tmp_path / "out", "--against", folder, "--labels", annotations)
    info = run_shale("info", folder).stdout.decode()
    assert f"--labels {annotations}" in info, info


def test_what_voc_does_not_hold_is_left_out_by_name(tmp_path):
    """`occluded` of CVAT and Roboflow, poses of the devkit; a file that is cut short is named."""
    folder = photos(tmp_path / "train", ["a.jpg", "b.jpg"])
    (folder / "a.xml").write_text(voc([("dog", (1, 2, 3, 4), {"pose": "Left", "occluded": "1"})]))
    (folder / "b.xml").write_text(voc([("dog", (1, 2, 3, 4), {"occluded": "0"})]))
    done = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", folder, code=4)
    assert b"column 'occluded' (not_a_label), column 'pose' (not_a_label)" in done.stdout
    run_shale("convert", folder, tmp_path / "named", "--to", "record", "--labels", folder, "--label-column", "boxes,pose,occluded")
    assert [list(sample["pose"]) for sample in shale.Dataset(tmp_path / "named")] == [["Left"], ["Unspecified"]]
    whole = (folder / "b.xml").read_text()
    for bad, fact in (
        (whole[:-20], "b.xml: byte"),
        (whole.replace("<xmin>1<", "<xmin>one<"), "no number 'xmin'"),
        ("<html></html>", "no element"),
        (whole + whole, "more behind the end"),
        (whole.replace("</bndbox>", "</bndbox><bndbox><xmin>9</xmin></bndbox>"), "more than one 'bndbox'"),
        (whole.replace("<name>dog", "<name>cat</name><name>dog"), "more than one 'name'"),
        (whole.replace("<name>dog", "<name>d<!-- -->og"), "'name' of several pieces"),
        (whole.replace("<name>dog", "<name>d\udcf6g"), "'name' that is not UTF-8"),
        ("<?xml version='1.0' encoding='GBK'?>" + whole.replace("<name>dog", "<name>\u00e8"), "encoding 'GBK'"),
    ):
        (folder / "b.xml").write_bytes(bad.encode(errors="surrogateescape"))
        assert fact in run_shale("convert", folder, tmp_path / "no", "--to", "record", "--labels", folder, code=1).stderr.decode()


def test_what_has_parts_is_not_offered(tmp_path):
    folder = photos(tmp_path / "train", ["a.jpg"])
    one = voc([("dog", (1, 2, 3, 4), {"pose": "Left"})])
    (folder / "a.xml").write_text(one.replace("</object>", "<part><name>head</name></part></object>"))
    told = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", folder, code=4).stderr.decode()
    assert "left out: part, pose; --label-column" in told
    words = told.split("takes them: ")[1].split()[0]
    run_shale("convert", folder, tmp_path / "named", "--to", "record", "--labels", folder, "--label-column", words)
    told = run_shale("convert", folder, tmp_path / "no", "--to", "record", "--labels", folder, "--label-column", "boxes,part", code=1)
    assert b"has parts in its 'part'" in told.stderr and b"leave it out of --label-column" in told.stderr


@pytest.mark.parametrize("member", ["images", "annotations", "categories"])
def test_a_member_of_coco_that_comes_twice_is_refused(tmp_path, member, random_number):
    """json.load takes the last one."""
    folder = photos(tmp_path / "photos", ["a.jpg", "b.jpg"])
    made = json.dumps(instances(["a.jpg", "b.jpg"], random_number))
    (tmp_path / "coco.json").write_text(made[:-1] + f', "{member}": []}}')
    told = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", tmp_path / "coco.json", code=1)
    assert f"has two arrays '{member}'" in told.stderr.decode()


@pytest.mark.parametrize("name", ['"caf\\xE9"', "'it''s'", '"a" b', "'open"])
def test_names_in_yaml_with_escapes_are_refused(tmp_path, name):
    folder = photos(tmp_path / "images", ["a.jpg"])
    write(tmp_path, "labels/a.txt", b"1 .1 .2 .3 .4\n")
    for content in (f"names: [cat, {name}]\n", f"names:\n- cat\n- {name}\n", f"names:\n  0: cat\n  1: {name}\n"):
        (tmp_path / "data.yaml").write_text(content)
        told = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", tmp_path / "labels", code=1)
        assert b"in a way that is not read" in told.stderr, content


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels/train/classes.txt", "cat\ndog\n\n"),
        ("data.yaml", "train: ../train/images\nnc: 2\nnames: ['cat', \"dog\"]  # two\n"),
        ("data.yaml", "names:\n  0: cat\n  1: dog  # large\nnc: 2\n"),
        ("data.yaml", "# Ultralytics\nnames:\n- cat\n- 'dog'\npath: x\n"),
        ("obj.names", "cat\r\ndog\r\n"),
    ],
)
def test_text_files_of_yolo(tmp_path, name, content):
    folder = photos(tmp_path / "images/train", ["a.jpg", "b.c.jpg", "background.jpg"])
    labels = tmp_path / "labels/train"
    labels.mkdir(parents=True)
    (labels / "a.txt").write_text("0 0.5 0.25 0.1 1e-05\r\n1 .5 1 0.125 0.0625\n")
    (labels / "b.c.txt").write_text("")
    (tmp_path / name).write_text(content)
    done = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", labels)
    assert b"1 image has no file in" in done.stderr and b"outside" not in done.stderr
    ours = shale.Dataset(tmp_path / "out")
    assert ours.classes == ["cat", "dog"]
    assert [sample["boxes"].tolist() for sample in ours] == [[[0.5, 0.25, 0.1, 1e-05], [0.5, 1, 0.125, 0.0625]], [], []]
    assert [sample["categories"].tolist() for sample in ours] == [[0, 1], [], []]
    run_shale("verify", tmp_path / "out", "--against", folder, "--labels", labels)
    info = run_shale("info", folder).stdout.decode()
    assert f"--labels {labels}" in info, info


@pytest.mark.parametrize("group", ["video", "seq", "image_id"])
def test_images_of_one_video_stay_together(tmp_path, random_number, group):
    """`--split-group` was refused beside annotations."""
    names = [f"{n:03d}.jpg" for n in range(24)]
    folder, content = photos(tmp_path / "photos", names), instances(names, random_number, list(range(24)))
    for image in content["images"]:
        image |= {"video": f"clip {image['id'] // 4}", "seq": image["id"] // 3}
    (tmp_path / "boxes.json").write_text(json.dumps(content))
    words = ["--labels", tmp_path / "boxes.json"]

    run_shale("convert", folder, tmp_path / "out", "--to", "record", *words, "--split", "train=0.5,val=0.5", "--split-group", group, code=4)

    sides = [{sample[group] for sample in shale.Dataset(tmp_path / "out" / part)} for part in ("train", "val")]
    assert not sides[0] & sides[1] and len(sides[0] | sides[1]) == {"video": 6, "seq": 8, "image_id": 24}[group]
    assert b"holds these samples" in run_shale("verify", tmp_path / "out/train", "--against", folder, *words).stdout
    shares = ["--split", "a=0.5,b=0.5", "--split-group", "scene"]
    refused = run_shale("convert", folder, tmp_path / "x", "--to", "record", *words, *shares, code=1).stderr
    assert b"no image has a 'scene'" in refused and b"video, seq" in refused


def test_what_yolo_does_not_mean_is_refused(tmp_path):
    folder = photos(tmp_path / "images", ["a.jpg", "b.jpg"])
    labels = tmp_path / "labels"
    labels.mkdir()
    for line, fact in (
        ("0 0.1 0.2 0.3 0.4 0.5 0.6", "box in line 1 has 7 numbers, expected 5: polygons"),
        ("0 0.1 0.2 0.3", "box in line 1 has 4 numbers"),
        ("0 0.1 0.2 0.3 nan", "box in line 1 has 'nan'"),
        ("-1 0.1 0.2 0.3 0.4", "box in line 1 has the class -1"),
        ("0.5 0.1 0.2 0.3 0.4", "box in line 1 has the class 0.5"),
        ("cat 0.1 0.2 0.3 0.4", "box in line 1 has 'cat'"),
    ):
        (labels / "a.txt").write_text(line + "\n")
        assert fact in run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", labels, code=1).stderr.decode()
    (labels / "a.txt").write_text("3 0.1 0.2 0.3 0.4\n")
    (labels / "b.txt").write_text("3 0.1 0.2 0.3 1.5\n3 -0.1 0.2 0.3 1\n0 0 1 1 1\n")
    done = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", labels)
    assert b"2 boxes in" in done.stderr and b"outside of 0 to 1" in done.stderr
    (labels / "b.txt").unlink()
    assert shale.Dataset(tmp_path / "out")[0]["categories"].tolist() == [3]
    (tmp_path / "names.txt").write_text("a\nb\n")
    told = run_shale(
        "convert", folder, tmp_path / "no", "--to", "record", "--labels", labels, "--classes-from", tmp_path / "names.txt", code=1
    )
    assert b"has the class 3, but there are 2" in told.stderr
    (labels / "a.txt").write_text("4000000000 0.1 0.2 0.3 0.4\n")
    told = run_shale("convert", folder, tmp_path / "no", "--to", "record", "--labels", labels, code=1)
    assert b"expected an integer from 0 to 1073741824" in told.stderr
    (labels / "a.txt").write_text("3 0.1 0.2 0.3 0.4\n")
    (labels / "classes.txt").write_text("a\n")
    told = run_shale("convert", folder, tmp_path / "no", "--to", "record", "--labels", labels, code=1)
    assert b"has the class 3, but" in told.stderr


def test_quotes_in_yaml_hold_what_is_a_comment_elsewhere(tmp_path):
    folder = photos(tmp_path / "images", ["a.jpg"])
    write(tmp_path, "labels/a.txt", b"1 .1 .2 .3 .4\n")
    for content in ('names:\n- cat\n- "no #1"  # best\n', "names:\n  0: cat\n  1: 'no #1' # best\n", "names: [cat, 'no #1'] # best\n"):
        (tmp_path / "data.yaml").write_text(content)
        run_shale("convert", folder, tmp_path / "out", "--to", "record", "--labels", tmp_path / "labels", "--overwrite")
        assert shale.Dataset(tmp_path / "out").classes == ["cat", "no #1"], content


def test_annotations_that_are_too_large_say_what_helps(tmp_path):
    """Segmentations of LVIS and uncompressed masks; --memory is named only where it does help."""
    folder = photos(tmp_path / "photos", ["a.jpg"])

    def told(segmentations, *more, code=1):
        made = {"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 1, "name": "x"}]}
        made["annotations"] = [
            {"id": i, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "segmentation": one} for i, one in enumerate(segmentations)
        ]
        (tmp_path / "coco.json").write_text(json.dumps(made))
        words = ("--labels", tmp_path / "coco.json", "--label-column", "boxes,segmentation", "--overwrite", *more)
        return run_shale("convert", folder, tmp_path / "out", "--to", "record", *words, code=code).stderr.decode()

    mask = {"size": [1000, 1000], "counts": [i % 1000 for i in range(100_000)]}
    assert "element 1 of 'annotations' is too large" in told([mask])
    told([mask], "--memory", "2GiB", code=0)
    polygons = [[[i * 1.25 for i in range(150)]]] * 300
    assert "pass a larger --memory" in told(polygons)
    told(polygons, "--memory", "2GiB", code=0)
    assert "no --memory helps" in told(polygons * 2) and "no --memory helps" in told(polygons * 2, "--memory", "2GiB")
