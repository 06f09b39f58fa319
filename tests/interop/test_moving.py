"""docs/loading.md, "Images" and "Coming from another loader": the code in them runs; that of other loaders where they are installed."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from conftest import real_torchvision
from documented_code import blocks_of, bytes_left_by
from view_sets import photo

DOCUMENT = ["docs/loading.md"]
TORCHVISION = f"""
import os, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from conftest import real_torchvision
real_torchvision()
"""
CROP = textwrap.dedent(
    """
    import torch, shale, shale.torch
    from torchvision.transforms import v2
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    crop = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])
    """
)
COUNT = """
samples = sum(len(batch["image"] if isinstance(batch, dict) else batch[0]) for batch in loader)
assert samples == {samples}, samples
"""


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "loader images"))
def test_the_documented_pipeline_runs_in_threads(block, dataset, tmp_path):
    real_torchvision()
    said = "\nassert 'Normalize' in repr(loader) and batch['image'].dtype == torch.float32, loader\n"
    bytes_left_by(TORCHVISION + block + said, dataset, tmp_path)


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "moving"))
def test_what_replaces_imagefolder_and_ffcv_runs(block, dataset, tmp_path):
    bytes_left_by(TORCHVISION + CROP + block + COUNT.format(samples="56 if 'half' in globals() else 61"), dataset, tmp_path)


def run_with(package, write, block, folder, samples=10):
    if subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True).returncode != 0:
        pytest.skip(f"{package} is not installed")
    for number in range(10):
        pathlib.Path(folder, f"{number}.jpg").write_bytes(photo(60, 50, number))
    code = TORCHVISION + CROP + textwrap.dedent(write) + block + COUNT.format(samples=samples)
    # Other loaders start processes, which import the program.
    pathlib.Path(folder, "job.py").write_text("if __name__ == '__main__':\n" + textwrap.indent(code, "    "))
    run = subprocess.run([sys.executable, "job.py"], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


WRITE = """
images = [open(f"{number}.jpg", "rb").read() for number in range(10)]
"""


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "moving webdataset"))
def test_what_replaces_webdataset_runs(block, tmp_path):
    write = """
    import webdataset as wds
    shards = ["shard-000000.tar"]
    with wds.TarWriter(shards[0]) as sink:
        for number, image in enumerate(images):
            sink.write({"__key__": str(number), "jpg": image, "cls": str(number % 2)})
    """
    run_with("webdataset", WRITE + textwrap.dedent(write), block, tmp_path)


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "moving streaming"))
def test_what_replaces_mosaicml_streaming_runs(block, tmp_path):
    write = """
    from streaming import MDSWriter, StreamingDataset
    with MDSWriter(out="mds", columns={"image": "bytes", "label": "int"}) as sink:
        for number, image in enumerate(images):
            sink.write({"image": image, "label": number % 2})
    """
    run_with("streaming", WRITE + textwrap.dedent(write), block, tmp_path)


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "moving litdata"))
def test_what_replaces_litdata_runs(block, tmp_path):
    write = """
    import litdata, photos_by_number
    litdata.optimize(photos_by_number.sample, list(range(10)), "optimized", chunk_bytes="1MB", num_workers=1)
    """
    (tmp_path / "photos_by_number.py").write_text("def sample(n):\n    return {'image': open(f'{n}.jpg', 'rb').read(), 'label': n % 2}\n")
    run_with("litdata", WRITE + textwrap.dedent(write), block, tmp_path, samples=8)
