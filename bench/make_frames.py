"""Makes a tree of frames as UCF101 is extracted to: OUT/Class/v_Class_g01_c01/image_00001.jpg, JPEGs of 320 x 240; runs in the peers' environment.

make_frames.py OUT VIDEOS FRAMES [PHOTOS]

The frames are 200 pictures over and over, so that any two videos differ in their order: PHOTOS scaled, or without those noise of
several sizes, which compresses to as many bytes on average (52 KB).
"""

import io
import itertools
import os
import pathlib
import random
import sys

from PIL import Image

SIZE = (320, 240)
PICTURES = 200
QUALITY = 98
VIDEOS_A_CLASS = 5


def scaled(path):
    with Image.open(path) as photo:
        return photo.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS)


def painted(dice):
    """Coarse noise below fine noise: what makes a photo large is not its edges but its grain."""
    picture = Image.new("RGB", SIZE)
    for cells, weight in ((4, 0.6), (20, 0.4), (160, dice.uniform(0.02, 0.2))):
        small = (cells * 4 // 3, cells)
        layer = Image.frombytes("RGB", small, dice.randbytes(3 * small[0] * small[1])).resize(SIZE, Image.Resampling.BICUBIC)
        picture = layer if cells == 4 else Image.blend(picture, layer, weight)
    return picture


def encoded(picture):
    sink = io.BytesIO()
    picture.save(sink, "JPEG", quality=QUALITY)
    return sink.getvalue()


def main(out, videos, frames, photos=None):
    dice = random.Random(1)
    found = sorted(pathlib.Path(photos).rglob("*.JPEG")) if photos else []
    pictures = [encoded(scaled(path)) for path in found[:PICTURES]] or [encoded(painted(dice)) for _ in range(PICTURES)]
    for number in range(int(videos)):
        group, place = divmod(number, VIDEOS_A_CLASS)
        video = os.path.join(out, f"Class{group:02}", f"v_Class{group:02}_g01_c{place + 1:02}")
        os.makedirs(video)
        shown = itertools.cycle(dice.sample(pictures, len(pictures)))
        for frame in range(int(frames)):
            pathlib.Path(video, f"image_{frame + 1:05}.jpg").write_bytes(next(shown))


if __name__ == "__main__":
    main(*sys.argv[1:])
