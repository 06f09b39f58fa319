"""What CoCLR's readers do with an LMDB and the lists beside it (dataset/lmdb_dataset.py, commit 45f200e), call by call.

No package brings them, and pandas is left out: the lists are read by the csv module, as pandas.read_csv(header=None) does.
"""

import csv
import json

import lmdb
import msgpack


def read_file(path):
    with open(path) as file:
        return [line.strip() for line in file.readlines()]


class Reader:
    def open(self, db_path, root, list_name):
        self.env = lmdb.open(str(db_path), subdir=False, readonly=True, lock=False, readahead=False, meminit=False)
        with self.env.begin(write=False) as txn:
            self.db_order = msgpack.loads(txn.get(b"__order__"))
        classes = read_file(root / "ClassInd.txt")
        if "," in classes[0]:
            classes = [line.split(",")[-1].strip() for line in classes]
        self.class_to_idx = {name: number for number, name in enumerate(classes)}
        self.get_video_id = dict(zip([name.decode() for name in self.db_order], [f"{number:09}" for number in range(len(self.db_order))]))
        with open(root / list_name, newline="") as file:
            return [(path, int(frames)) for path, frames in csv.reader(file)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        vpath, vlen, vlabel, vname = self.rows[index]
        with self.env.begin(write=False) as txn:
            raw = msgpack.loads(txn.get(self.get_video_id[vname].encode("ascii")))
        return vname, [raw[frame] for frame in range(vlen)], self.class_to_idx[vlabel], vpath


class UCF101LMDB(Reader):
    """Of the lists of UCF101 and HMDB51; `root` has them."""

    def __init__(self, root, db_path, mode, which_split=1):
        split_mode = "test" if mode == "val" else mode
        rows = self.open(db_path, root, f"{split_mode}_split{which_split:02}.csv")
        self.rows = [(path, frames, path.split("/")[-3], path.split("/")[-3] + "/" + path.split("/")[-2]) for path, frames in rows]
        assert len({label for _, _, label, _ in self.rows}) == len(self.class_to_idx)


class K400LMDB(Reader):
    """KineticsLMDB_2CLIP."""

    def __init__(self, root, db_path, mode, filename="k400_frame"):
        split_mode = "val" if mode == "test" else mode
        rows = self.open(db_path / f"{filename}_{split_mode}.lmdb", root, f"{split_mode}_split.csv")
        rows = [(path, frames, path.split("/")[-2], path.split("/")[-2] + "/" + path.split("/")[-1]) for path, frames in rows]
        self.rows = [row for row in rows if row[2] in self.class_to_idx]
        with open(root / "video_source.json") as file:
            self.video_source = json.load(file)
