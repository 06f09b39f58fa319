"""Sets that TensorFlow Datasets itself wrote, in tests/interop/tfds_written, and what is in them.

Generator: python3 tests/interop/tfds_sets.py FOLDER, with tensorflow-cpu 2.21.0 and tensorflow-datasets 4.9.10. The tests need neither.
"""

import sys

import numpy as np

ANIMALS = ["cat", "dog", "newt"]
LANGUAGES = ["de", "en"]


def png(side, level):
    """Pixels that fit into few bytes."""
    return np.full((side, side, 3), level, np.uint8)


def sample(number):
    """What TFDS was given. Images are left to the comparison of their numbers and first bytes."""
    many = number % 3
    return {
        "number": number,
        "image": png(4 + number, number),
        "label": number % 3,
        "text": f"text {number} ä",
        "pose": (np.arange(12).reshape(3, 4) + number).astype(np.float32),
        "grid": (np.arange(6).reshape(2, 3) * number).astype(np.int32),
        "bytes": (np.arange(16).reshape(2, 8) * number).astype(np.int16),
        "packed": np.arange(16, dtype=np.float32) * number,
        "flag": number % 2 == 1,
        "path": np.ones((number, 2), np.float32) * number,
        "box": np.array([0.125, 0.25, 0.5, 0.75], np.float32),
        "objects": [{"bbox": (0.0, 0.125 * one, 0.5, 1.0), "label": one % 2, "name": f"o{one}"} for one in range(many)],
        "tokens": list(range(number)),
        "words": ["word"] * max(many, 1),
        "pairs": np.ones((3, 2), np.float32) * number,
        "frames": [png(4, one) for one in range(1 + many)],
        "nested": {"a": number / 2, "b": {"c": f"c{number}"}},
        "ragged": [[1] * one for one in range(many)],
        "audio": np.arange(4 * many, dtype=np.int16),
        "translation": {"de": "hallo", "en": "hi"},
    }


def episode(number):
    return {
        "steps": [
            {
                "observation": {"image": png(4, step), "state": np.arange(7, dtype=np.float32) + step},
                "action": np.ones(7, np.float32) * step,
                "reward": float(step),
                "is_first": step == 0,
                "instruction": f"do {number}",
            }
            for step in range(2 + number)
        ],
        "metadata": {"id": number, "path": f"/x/{number}"},
    }


def write(folder):
    import tensorflow_datasets as tfds

    features = tfds.features

    class Toy(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")
        pkg_dir_path = None

        def _info(self):
            return self.dataset_info_from_configs(
                features=features.FeaturesDict(
                    {
                        "number": np.int64,
                        "image": features.Image(shape=(None, None, 3), encoding_format="png"),
                        "label": features.ClassLabel(names=ANIMALS),
                        "text": features.Text(),
                        "pose": features.Tensor(shape=(3, 4), dtype=np.float32),
                        "grid": features.Tensor(shape=(2, 3), dtype=np.int32),
                        "bytes": features.Tensor(shape=(2, 8), dtype=np.int16, encoding="bytes"),
                        "packed": features.Tensor(shape=(16,), dtype=np.float32, encoding="zlib"),
                        "flag": np.bool_,
                        "path": features.Tensor(shape=(None, 2), dtype=np.float32),
                        "box": features.BBoxFeature(),
                        "objects": features.Sequence(
                            {"bbox": features.BBoxFeature(), "label": features.ClassLabel(names=["a", "b"]), "name": features.Text()}
                        ),
                        "tokens": features.Sequence(np.int32),
                        "words": features.Sequence(features.Text()),
                        "pairs": features.Sequence(features.Tensor(shape=(2,), dtype=np.float32), length=3),
                        "frames": features.Video(shape=(None, 4, 4, 3), encoding_format="png"),
                        "nested": {"a": np.float32, "b": {"c": features.Text()}},
                        "ragged": features.Sequence(features.Sequence(np.int32)),
                        "audio": features.Audio(shape=(None,), dtype=np.int16),
                        "translation": features.Translation(languages=LANGUAGES),
                    }
                )
            )

        def _split_generators(self, download):
            return {"train": self._generate_examples(range(5)), "test": self._generate_examples(range(5, 7))}

        def _generate_examples(self, numbers):
            for number in numbers:
                given = sample(number)
                given["box"] = tfds.features.BBox(*map(float, given["box"]))
                given["objects"] = [{**one, "bbox": tfds.features.BBox(*one["bbox"])} for one in given["objects"]]
                yield f"sample {number}", given

    class Robot(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("0.1.0")
        pkg_dir_path = None

        def _info(self):
            return self.dataset_info_from_configs(
                features=features.FeaturesDict(
                    {
                        "steps": features.Dataset(
                            {
                                "observation": {
                                    "image": features.Image(shape=(4, 4, 3), encoding_format="png"),
                                    "state": features.Tensor(shape=(7,), dtype=np.float32),
                                },
                                "action": features.Tensor(shape=(7,), dtype=np.float32),
                                "reward": features.Scalar(np.float32),
                                "is_first": features.Scalar(np.bool_),
                                "instruction": features.Text(),
                            }
                        ),
                        "metadata": {"id": np.int64, "path": features.Text()},
                    }
                )
            )

        def _split_generators(self, download):
            return {"train": self._generate_examples(range(3))}

        def _generate_examples(self, numbers):
            for number in numbers:
                yield f"episode {number}", episode(number)

    for builder in (Toy, Robot):
        made = builder(data_dir=folder, file_format="tfrecord")
        made.download_and_prepare(download_config=tfds.download.DownloadConfig(num_shards=2))


if __name__ == "__main__":
    write(sys.argv[1])
