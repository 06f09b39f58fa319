"""shale.torch.transforms where there is no torchvision."""

import subprocess
import sys

from view_sets import packed, photo, sizes

CODE = """
import sys
sys.modules["torchvision"] = None  # import torchvision raises ImportError
import torch, shale, shale.torch
from shale.torch import transforms as T

crop = T.Compose([
    T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToImage(), T.ToDtype(torch.float16, scale=True), T.Normalize([0.5] * 3, [0.25] * 3),
    lambda image: image.add(1),
])
loader = shale.torch.Loader(sys.argv[1], 4, transform=crop, shuffle=True, memory_format=torch.channels_last)
batches = list(loader)
assert [tuple(batch["image"].shape) for batch in batches] == [(4, 3, 24, 24)] * 2, batches
assert all(batch["image"].dtype == torch.float16 and batch["image"].is_contiguous(memory_format=torch.channels_last) for batch in batches)
assert type(batches[0]["image"]) is torch.Tensor and float(batches[0]["image"].max()) > 1
assert "RandomResizedCrop, RandomHorizontalFlip, ToImage, ToDtype, Normalize, float16" in repr(loader), loader

gray = T.Compose([T.Resize((20, 30)), T.Grayscale(), T.ToTensor()])
for ds in (shale.Dataset(sys.argv[1], decode="torchrgb8"), shale.Dataset(sys.argv[1], decode="pil")):
    (batch,) = shale.torch.Loader(ds, 8, transform=gray, scaled_decoding=False)
    alone = torch.stack([gray(sample["image"]) for sample in ds])
    assert batch["image"].shape == alone.shape == (8, 1, 20, 30) and (batch["image"] - alone).abs().mean() < 1 / 255, (batch["image"] - alone).abs().mean() * 255
assert tuple(shale.torch.ImageFolder(sys.argv[1], transform=gray)[0][0].shape) == (1, 20, 30)
"""


def test_transforms_of_our_own_need_no_torchvision(tmp_path):
    path = packed([photo(*size, seed) for seed, size in enumerate(sizes(8))], tmp_path)
    run = subprocess.run([sys.executable, "-c", CODE, path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
