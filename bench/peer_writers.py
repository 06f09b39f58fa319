"""Packs an image folder with a peer's own writer, used as its documents show; runs in the peers' environment.

peer_writers.py webdataset|mds FOLDER OUT
"""

import importlib.util
import os
import sys
import types


def samples(folder):
    """(path, label) in the order of ImageFolder, for folders without nested ones."""
    for label, name in enumerate(sorted(os.listdir(folder))):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            yield os.path.join(folder, name, file), label


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write_webdataset(folder, out):
    import webdataset

    os.makedirs(out)
    with webdataset.ShardWriter(os.path.join(out, "%06d.tar"), maxsize=256 << 20, maxcount=1 << 30, verbose=0) as sink:
        for number, (path, label) in enumerate(samples(folder)):
            sink.write({"__key__": f"{number:08}", "jpg": read(path), "cls": label})


def import_mds_writer():
    """MDSWriter without what the package imports besides: PyTorch, the datasets and the cloud clients, which the writer never
    calls. They would cost it seconds of start-up in a measurement that takes seconds.
    """
    (home,) = importlib.util.find_spec("streaming").submodule_search_locations
    for name in ("streaming", "streaming.base", "streaming.base.format"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(home, *name.split(".")[1:])]
        sys.modules[name] = package
    for name in ("torch", "torch.distributed", "torch.utils", "torch.utils.data"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["torch"].distributed = sys.modules["torch.distributed"]
    sys.modules["torch"].Tensor = sys.modules["torch.utils.data"].get_worker_info = None
    from streaming.base.format.mds.writer import MDSWriter

    return MDSWriter


def write_mds(folder, out):
    MDSWriter = import_mds_writer()

    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=out, columns=columns, size_limit=64 << 20, hashes=["xxh3_64"]) as sink:
        for path, label in samples(folder):
            sink.write({"image": read(path), "label": label})


if __name__ == "__main__":
    {"webdataset": write_webdataset, "mds": write_mds}[sys.argv[1]](*sys.argv[2:])
