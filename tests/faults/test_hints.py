"""Hints can be followed: what a hint says, done literally, ends the error that it belongs to.

A row is a command that is refused (or notes something) and the command of somebody who does what the hint says. Every option that he adds or
leaves out must be named by what he was told, and every other command of shale that he runs. Then it ends with exit 0 (or as the row says), and
does not say the same again. `{o}` is a name of the row's own; what stands before "&&" is run by the shell and prepares.
"""

import os
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

from fault_case import BUG_MARKS, IN_MEMORY, FaultCase
from hint_texts import NOT_FOLLOWED, hints_that_name, pattern_of
from shale_tool import GRAY_JPEG, RGB_JPEG, SHALE, npy, png, write
from tar_archives import add_bytes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_test import make_inputs


def deep_png(depth, color, pixel_bytes, *chunks):
    """5 x 5, of 16 bits or with a palette."""
    header = struct.pack(">IIBBBBB", 5, 5, depth, color, 0, 0, 0)
    pieces = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress((b"\0" + bytes(range(5 * pixel_bytes))) * 5)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c)) for n, c in pieces)


DEEP = deep_png(16, 0, 2)
PALETTE = deep_png(8, 3, 1, (b"PLTE", bytes(range(48))))
SET = "convert photos {o}s --to record --quiet"
FLIP = "python3 -c \"import sys; p = sys.argv[1]; b = bytearray(open(p, 'rb').read()); b[len(b) // 2] ^= 1; open(p, 'wb').write(b)\""
ZIP = "python3 -c \"import sys; at, p = sys.argv[2:]; b = bytearray(open('photos.zip', 'rb').read()); b[b.rindex(b'PK' + bytes.fromhex(sys.argv[1])) + int(at)] ^= 1; open(p, 'wb').write(b)\""
JOINED = "convert photos {o}a.lmdb --quiet && convert photos {o}b.lmdb --quiet --shuffle && convert photos {o}c.lmdb --quiet --classes cats"
# (command, what is done then, its exit code)
FOLLOWED = [
    # ---- inputs with names
    (JOINED + " && convert x={o}a.lmdb y={o}b.lmdb {o} --to record", "convert x={o}a.lmdb y={o}b.lmdb {o} --to record --on key"),
    (JOINED + " && convert x={o}a.lmdb y={o}c.lmdb {o} --to record", "convert x={o}a.lmdb y={o}c.lmdb {o} --to record --on key", 4),
    (JOINED + " && convert x={o}a.lmdb y={o}c.lmdb {o} --to record --partners all", "convert x={o}a.lmdb y={o}c.lmdb {o} --to record --on key --partners all"),
    (
        JOINED + " && convert x={o}a.lmdb y={o}b.lmdb {o} --to record --on key --quiet && verify {o} --against x={o}a.lmdb --on key",
        "verify {o} --against x={o}a.lmdb --against y={o}b.lmdb --on key",
    ),
    ("resample y.npy {o}y.npy --rows 7 --quiet && convert image=photos y={o}y.npy {o} --to record --on key", "convert image=photos y={o}y.npy {o} --to record --on row"),
    ("convert photos {o} --to parquet --row-group-size 1", "convert photos {o} --to parquet --row-group-size 100MB"),
    ("convert photos {o} --to lmdb --row-group-size 2MiB", "convert photos {o} --to parquet --row-group-size 2MiB"),
    ("verify photos --quick", "verify photos --deep"),
    ("report photos --verify --json", "verify photos"),
    (JOINED + " && report x={o}a.lmdb y={o}b.lmdb --on key --verify --json", "verify --on key x={o}a.lmdb y={o}b.lmdb"),
    (
        JOINED + " && verify x={o}a.lmdb y={o}b.lmdb --on key --against x={o}a.lmdb --against y={o}b.lmdb",
        "convert x={o}a.lmdb y={o}b.lmdb {o} --to record --on key && verify {o} --on key --against x={o}a.lmdb --against y={o}b.lmdb",
    ),
    (
        JOINED + " && convert x={o}a.lmdb y={o}b.lmdb {o} --to record --on key --quiet && repair {o} --from x={o}a.lmdb --on key",
        "repair {o} --from x={o}a.lmdb --from y={o}b.lmdb --on key",
    ),
    (
        JOINED + " && convert x={o}a.lmdb y={o}a.lmdb {o} --to record --quiet && repair {o} --from photos --from more",
        "repair {o} --from x={o}a.lmdb --from y={o}a.lmdb",
    ),
    (
        JOINED + " && resample y.npy {o}y.npy --rows 7 --quiet && convert x={o}y.npy y={o}a.lmdb {o} --to record --axis images=-1",
        "convert x={o}y.npy y={o}a.lmdb {o} --to record --axis x=-1",
    ),
    (JOINED + " && convert more {o}d.lmdb --quiet && convert x={o}a.lmdb y={o}d.lmdb {o} --to record --on key", "ls {o}d.lmdb"),
    # ---- the command line
    ("convert photos {o}.lmdb --split-by prefix", "convert photos {o}.lmdb --fields image"),
    ("convert photos {o} --to record --split-by prefix --fields image", "convert photos {o} --to record --fields image --rename image:images"),
    ("convert x=y.npy z=y.npy {o}a.npz --quiet && convert {o}a.npz {o} --to npy --split-by prefix", "info {o}a.npz"),
    ("convert photos {o}", "convert photos {o} --to record"),
    ("convert photos {o}.ldb", "convert photos {o}.lmdb"),
    ("convert photos {o}.ldb", "convert photos {o}.ldb --to lmdb"),
    ("convert photos {o} --to lmbd", "convert photos {o} --to lmdb"),
    ("convert photos {o} --to npz", "convert x.npy {o}.npz"),
    ("convert photos {o}.h5 --to lmdb", "convert photos {o}.h5"),
    ("convert photos - --to lmdb", "convert photos ./- --to lmdb"),
    ("convert photos {o} --tooo lmdb", "convert photos {o} --to lmdb"),
    ("convert photos {o} --verfy --to lmdb", "convert photos {o} --verify --to lmdb"),
    ("convert photos {o} --labels --to lmdb", "convert flat {o} --labels=labels.csv --to lmdb"),
    ("convert photos {o} --bad", "convert --help"),
    ("convrt --help", "convert --help"),
    ("nothing", "--help"),
    ("help convert more", "help convert"),
    ("convert photos {o} --to lmdb --on-error kepp", "convert photos {o} --to lmdb --on-error keep"),
    ("convert photos {o} --to lmdb --shard-size 0.3K", "convert photos {o} --to lmdb --shard-size 30K"),
    ("convert photos {o} --to record --shard-size 900", "convert photos {o} --to record --shard-size 1375"),
    ("convert photos {o} --to lmdb --memory 5MiB", "convert photos {o} --to lmdb --memory 16MiB"),
    ("convert --jobs x", "help convert"),
    ("convert photos {o} --to lmdb --seed 3", "convert photos {o} --to lmdb"),
    ("convert photos {o} --to lmdb --seed 3", "convert photos {o} --to lmdb --seed 3 --shuffle"),
    ("convert photos {o} --to lmdb --new-classes append", "convert photos {o} --to lmdb"),
    ("convert photos {o} --to lmdb --part-offset 3", "convert photos {o} --to lmdb"),
    ("convert photos {o} --to lmdb --label-column x", "convert photos {o} --to lmdb"),
    # ---- what does not go together
    ("convert photos {o}.h5 --append", "convert photos {o} --to hdf5"),
    ("convert photos {o}.h5 --shard-size 5M", "convert photos {o}.h5"),
    ("convert photos {o}.h5 --shard-size 5M", "convert photos {o} --to hdf5 --shard-size 5M"),
    ("convert photos {o}.h5 --shard-samples 5", "convert photos {o} --to hdf5 --shard-samples 5"),
    ("convert photos {o}.h5 --part 0/2", "convert photos {o} --to hdf5 --part 0/2"),
    ("convert photos {o}.h5 --split train=0.5,val=0.5", "convert photos {o} --to hdf5 --split train=0.5,val=0.5"),
    ("convert photos {o} --to lmdb --with-index", "convert photos {o} --to lmdb"),
    ("convert photos {o} --to lmdb --compress deflate", "convert photos {o} --to lmdb"),
    ("convert x.npy {o}.npz --with-index", "convert x.npy {o}.npz"),
    ("convert photos {o} --to lmdb --encode raw --on-error keep --resize exact=8x8", "convert photos {o} --to lmdb --encode raw --on-error skip --resize exact=8x8"),
    ("convert splits {o} --to lmdb --listing {o}l", "convert splits {o} --to lmdb"),
    ("convert splits {o} --to lmdb --select keys.txt", "convert splits/train {o} --to lmdb --select keys.txt"),
    (SET + " && convert more {o}s --append --part 0/1", "convert more {o}s --append"),
    (SET + " && convert photos {o}s --append --overwrite", "convert more {o}s --append"),
    (SET + " && convert photos {o}s --append --classes-from classes.txt", "convert more {o}s --append"),
    (SET + " && convert photos {o}s --append --class-order natural", "convert more {o}s --append"),
    ("convert photos {o} --to lmdb --class-order natural --classes-from classes.txt", "convert photos {o} --to lmdb --class-order natural"),
    ("convert photos {o} --to lmdb --class-order number", "convert photos {o} --to lmdb --class-order natural"),
    ("convert photos {o} --to lmdb --limit 0", "convert photos {o} --to lmdb --limit 1"),
    ("convert photos {o}.lmdb --layout vlen", "convert photos {o}.h5 --layout vlen"),
    ("convert photos {o} --layout caffe", "convert photos {o}.lmdb --layout caffe"),
    ("convert paired {o}.lmdb --layout caffe", "convert paired {o}.lmdb --layout caffe --pairs off"),
    ("convert paired {o}.h5 --layout vlen", "convert paired {o}.h5 --layout vlen --pairs off"),
    ("convert paired {o}s --to record --quiet && convert {o}s {o}.h5 --layout vlen", "convert {o}s {o}.h5 --layout vlen --fields image,label"),
    ("convert frames {o}.lmdb --layout coclr", "convert frames {o}.lmdb --layout coclr --group frames"),
    ("convert photos {o}.h5 --layout fixed", "convert photos {o}.h5 --layout vlen"),
    ("convert frames {o} --layout coclr-k400 --group frames", "convert frames {o} --layout coclr-k400 --group frames --split train=0.5,val=0.5"),
    ("convert frames {o}.lmdb --layout coclr-k400 --group frames --split train=0.5,val=0.5", "convert frames {o} --layout coclr-k400 --group frames --split train=0.5,val=0.5"),
    ("convert frames {o} --to lmdb --group frames --pairs on", "convert frames {o} --to lmdb --group frames"),
    ("convert photos {o} --to lmdb --quality 5", "convert photos {o} --to lmdb"),
    ("convert photos {o} --to lmdb --quality 5", "convert photos {o} --to lmdb --quality 5 --encode jpeg"),
    ("convert photos {o} --to lmdb --quality 5 --encode png", "convert photos {o} --to lmdb --quality 5 --encode jpeg"),
    ("convert photos {o} --to lmdb --only-larger", "convert photos {o} --to lmdb --only-larger --resize longer=9"),
    ("convert photos {o} --to lmdb --masks image", "convert photos {o} --to lmdb --masks image --crop center=5x5", 4),
    ("convert photos {o} --to lmdb --encode raw", "convert photos {o} --to lmdb --encode raw --resize exact=8x8"),
    ("convert photos {o} --to lmdb --encode raw", "convert photos {o} --to lmdb --encode raw --resize shorter=8 --crop center=8x8"),
    ("convert photos {o} --to lmdb --encode raw --resize exact=8x8 --only-larger", "convert photos {o} --to lmdb --encode raw --resize exact=8x8"),
    ("convert photos {o} --to lmdb --axes chw", "convert photos {o} --to lmdb"),
    ("convert photos {o} --to lmdb --shards 5", "convert photos {o} --to lmdb --shards 4"),
    ("convert paired {o} --to lmdb --pairs image=*.jpg", "convert paired {o} --to lmdb --pairs image=*.jpg,text=*.txt"),
    ("convert photos {o} --to lmdb --axes chw --resize exact=8x8", "convert photos {o} --to lmdb --axes chw --resize exact=8x8 --encode raw"),
    ("convert image=left mask=right {o} --to lmdb --encode png --color mask:gray", "convert image=left mask=right {o} --to lmdb --encode png"),
    ("convert photos {o} --to lmdb --encode raw --resize exact=8x8 --strip-metadata", "convert photos {o} --to lmdb --encode raw --resize exact=8x8"),
    ("convert photos {o} --to lmdb --resize 5", "convert photos {o} --to lmdb --resize shorter=5"),
    ("convert photos {o} --to lmdb --crop 9", "convert photos {o} --to lmdb --crop center=9x9", 4),
    ("convert photos {o} --to lmdb --resize picture:exact=5x5", "convert photos {o} --to lmdb --resize image:exact=5x5"),
    ("convert image=left mask=right {o} --to lmdb --resize image:exact=5x5 --resize exact=4x4", "convert image=left mask=right {o} --to lmdb --resize image:exact=5x5 --resize mask:exact=4x4"),
    # ---- what is read
    ("convert photo {o} --to lmdb", "convert photos {o} --to lmdb"),
    ("convert left {o} --to lmdb", "convert left {o} --to lmdb --labels left.csv"),
    ("convert mnist {o} --to lmdb", "convert image=mnist/train-images-idx3-ubyte label=mnist/train-labels-idx1-ubyte {o} --to lmdb"),
    (SET + " && verify photos --against {o}s", "verify {o}s --against photos"),
    ("mkdir {o}f && cp flat/1.jpg flat/2.jpg {o}f && ls {o}f", "ls {o}f --labels labels.csv"),
    ("info photos.zip", "convert photos.zip {o} --to record"),
    (ZIP + " 0304 0 {o}.zip && convert {o}.zip {o} --to record", "convert {o}.zip {o} --to record --on-error skip", 4),
    (ZIP + " 0102 8 {o}.zip && convert {o}.zip {o} --to record", "convert {o}.zip {o} --to record --on-error skip", 4),
    ("convert image=photos.zip mask=right {o} --to lmdb", "convert image=left mask=right {o} --to lmdb"),
    ("convert flat {o} --to lmdb --labels table.xlsx", "convert flat {o} --to lmdb --labels labels.csv"),
    ("convert flat {o} --to lmdb --labels pipes.csv", "convert flat {o} --to lmdb --labels semicolons.csv"),
    ("convert flat {o} --to lmdb --labels tabs.csv", "convert flat {o} --to lmdb --labels tabs.csv --key-column name --label-column kind,age"),
    ("convert flat {o} --to lmdb --labels wide.csv", "convert flat {o} --to lmdb --labels wide.csv --key-column path --label-column a.b"),
    ("convert flat {o} --to lmdb --labels faces.txt", "convert flat {o} --to lmdb --labels faces.txt --label-column Bald"),
    ("convert flat {o} --to lmdb --labels windows.csv", "convert flat {o} --to lmdb --labels windows.csv --strip-prefix D:/w/"),
    ("convert flat {o} --to lmdb --labels vector.csv --label-column label=a,b", "convert flat {o} --to lmdb --labels vector.csv --label-column a,b"),
    ("convert flat {o} --to lmdb --split-group label --labels labels.csv", "convert flat {o} --to lmdb --labels labels.csv"),
    ("convert flat {o} --to lmdb --labels object.json", "convert flat {o} --to lmdb --labels lines.jsonl"),
    ("convert flat {o} --to lmdb --labels names.jsonl", "convert flat {o} --to lmdb --labels names.jsonl --key-column name --label-column kind"),
    ("mkdir {o}m && cp records/one.tfrecord one.h5 {o}m && convert {o}m {o} --to lmdb", "convert {o}m/*.tfrecord {o} --to lmdb"),
    ("mkdir {o}s && cp records/one.tfrecord {o}s/train-1.tfrecord && cp records/one.tfrecord {o}s/val-1.tfrecord && ls {o}s", "info {o}s/train-*.tfrecord"),
    ("convert records/one.tfrecord keys.txt {o} --to lmdb", "convert records/one.tfrecord {o} --to lmdb"),
    ("convert list.txt {o} --to lmdb", "! shale convert - {o} --to lmdb < list.txt"),
    ("convert left right {o} --to lmdb", "convert image=left mask=right {o} --to lmdb"),
    ("convert image=left right {o} --to lmdb", "convert image=left mask=right {o} --to lmdb"),
    ("convert image=left image=right {o} --to lmdb", "convert image=left mask=right {o} --to lmdb"),
    ("convert image=left label=right {o} --to lmdb", "convert image=left mask=right {o} --to lmdb"),
    ("convert image=left mask=right {o} --to lmdb --pairs on", "convert image=left mask=right {o} --to lmdb"),
    ("convert x.npy photos {o} --to lmdb", "convert photos {o} --to lmdb"),
    ("convert x.npy nine.npy {o} --to npy", "convert x=x.npy y=y.npy {o} --to npy"),
    ("convert x=x.npy y=y.npy {o}.npy", "convert x=x.npy y=y.npy {o}.npy --fields y"),
    ("convert x=x.npy y=y.npy {o} --to npy --fields z", "convert x=x.npy y=y.npy {o} --to npy --fields y"),
    ("convert both.npz {o}.npy", "convert both.npz {o}.npy --fields labels"),
    ("convert x.npy {o} --to npy --labels labels.csv", "convert x.npy {o} --to npy"),
    ("convert x.npy {o} --to npy --hidden keep", "convert x.npy {o} --to npy"),
    ("convert photos {o} --to npy", "convert photos {o} --to record"),
    ("convert y=y.npy {o} --to npy --cast y:bool", "convert y=y.npy {o} --to npy --cast y:bool --lossy"),
    ("convert photos {o} --to lmdb --rename image:label", "convert photos {o} --to lmdb --rename image:label --drop label"),
    ("convert photos {o} --to hdf5 --rename image:image/encoded", "convert photos {o} --to record --rename image:image/encoded"),
    ("convert photos {o} --to lmdb --fields image --drop label", "convert photos {o} --to lmdb --fields image"),
    ("convert photos {o} --to record --index-dir {o}i", "convert photos {o} --to record"),
    ("convert photos {o} --to record --parse plain", "convert photos {o} --to record"),
    ("tar -cf {o}.tar photos && convert {o}.tar {o} --to record --parse plain", "convert {o}.tar {o} --to record --parse webdataset"),
    ("convert photos {o}.npy", "convert photos {o}.lmdb"),
    ("convert photos {o}.pt", "convert photos {o}.npz --encode raw --resize exact=8x8"),
    ("convert photos {o} --to npy", "formats"),
    ("info fortran.npy", "convert fortran.npy {o} --to record"),
    ("info big.npy", "convert big.npy {o} --to record"),
    ("info labels.csv", "convert photos {o} --to record"),
    ("info labels.csv", "formats"),
    ("convert loose {o} --to lmdb", "convert loose {o} --to lmdb --allow-empty"),
    ("convert none {o} --to lmdb", "convert none {o} --to lmdb --allow-empty"),
    ("convert hidden {o} --to lmdb", "convert hidden {o} --to lmdb --hidden skip"),
    ("convert hidden {o} --to lmdb", "convert hidden {o} --to lmdb --hidden keep"),
    ("convert splits {o}.lmdb", "convert splits/train {o}.lmdb"),
    ("convert bad {o} --to lmdb --on-error fail", "convert bad {o} --to lmdb --on-error skip", 4),
    ("convert bad {o} --to lmdb --on-error fail", "convert bad {o} --to lmdb --on-error keep"),
    ("head -c -40 one.tfrecord > {o}.tfrecord && convert {o}.tfrecord {o} --to lmdb", "convert {o}.tfrecord {o} --to lmdb --on-error skip", 4),
    ("head -c -3 x.npy > {o}.npy && convert {o}.npy {o} --to npy --on-error skip --shuffle", "convert {o}.npy {o} --to npy --on-error skip", 4),
    ("head -c -40 one.tfrecord > {o}.tfrecord && verify {o}.tfrecord", "convert {o}.tfrecord {o} --to record --on-error skip", 4),
    ("convert x.npy {o}.pt --quiet && head -c -9 {o}.pt > {o}c.pt && verify {o}c.pt", "convert x.npy {o}c.pt --overwrite"),
    ("convert bad {o} --to lmdb --max-errors 1", "convert bad {o} --to lmdb --max-errors 3", 4),
    ("convert photos {o} --to lmdb --select rows.txt", "ls set --tsv"),
    ("convert birds {o} --to lmdb --classes-from set", "convert birds {o} --to lmdb --classes-from classes.txt"),
    ("convert birds set2 --append", "convert birds set2 --append --new-classes append"),
    ("convert more set2 --append --to lmdb", "convert more set2 --append"),
    ("convert photos {o} --append", "convert photos {o} --to record"),
    # ---- what is at the output
    ("convert photos {o} --to lmdb --quiet && convert photos {o} --to record", "convert photos {o} --to record --overwrite"),
    ("convert x.npy {o}.npy --quiet && convert y.npy {o}.npy", "convert y.npy {o}.npy --overwrite"),
    ("convert photos {o} --to record --quiet && convert photos {o} --to record --shuffle", "convert photos {o} --to record --shuffle --overwrite"),
    ("convert photos flat --to lmdb", "convert photos {o} --to lmdb"),
    ("convert photos photos/out --to lmdb", "convert photos {o} --to lmdb"),
    ("convert photos {o}/a/b --to lmdb", "! mkdir -p {o}/a && shale convert photos {o}/a/b --to lmdb"),
    ("convert photos set/more.h5", "convert photos {o}.h5"),
    # ---- parts
    ("convert photos {o} --to record --part 3/3", "convert photos {o} --to record --part 2/3"),
    ("convert photos {o} --to record --part x", "convert photos {o} --to record --part 0/3"),
    ("convert photos {o} --to record --part slurm", "convert photos {o} --to record --part 0/3"),
    ("convert photos {o} --to record --part mpi", "convert photos {o} --to record --part 0/3"),
    ("convert photos {o} --to record --part 0/2 --quiet && convert photos {o} --to record --part 1/3", "convert photos {o} --to record --part 1/2"),
    ("convert photos {o} --to record --part 0/2 --quiet && merge {o} {o}m", "! shale convert photos {o} --to record --part 1/2 && shale merge {o} {o}m"),
    ("convert photos {o} --to record --part 0/2 --quiet && parts {o}", "convert photos {o} --to record --part 1/2"),
    ("convert photos {o} --to record --part 0/1 --quiet && merge {o} {o}.h5", "merge {o} {o}m"),
    ("parts photos", "! shale convert photos {o} --to record --part 0/1 && shale parts {o}"),
    ("parts set", "convert set {o} --to lmdb"),
    # ---- other commands
    ("cat set 0 --key cats/a.jpg", "cat set --key cats/a.jpg"),
    ("cat set --key nothing", "ls set --tsv"),
    ("cat set 0 --field picture", "cat set 0 --field label"),
    ("cat set 0 --element 1", "cat set 0"),
    ("cat set 99", "cat set 0"),
    ("cat set x", "cat --help"),
    ("ls set --rows 5", "ls set --rows 5:"),
    ("ls set --rows 5:2", "ls set --rows 2:5"),
    ("report set", "report set -o {o}.html"),
    ("report set", "report set --json"),
    ("report set -o -", "report set -o {o}.html"),
    ("report set -o {o}.html --sample 0", "report set -o {o}.html --sample all"),
    ("report set -o {o}.html > {o}.log && report set -o {o}.html", "report set -o {o}.html --overwrite"),
    ("verify set --quick --deep", "verify set --full"),
    ("verify set --labels labels.csv", "verify flatset --labels labels.csv --against flat"),
    ("cp x.npy {o}.npy && verify {o}.npy", "index {o}.npy --crc"),
    ("cp one.tfrecord {o}.tfrecord && verify {o}.tfrecord", "index {o}.tfrecord --crc"),
    ("cp -r set {o}d && rm {o}d/shard-000000.index.npy && ls {o}d", "index {o}d"),
    ("cp -r set {o}d && rm {o}d/shard-000000.index.npy && verify {o}d", "index {o}d"),
    ("cp -r set {o}d && rm {o}d/shard-000000.blocks.npy && verify {o}d", "index {o}d"),
    ("cp -r set {o}d && rm {o}d/dataset.json && convert {o}d {o} --to lmdb", "! cp set/dataset.json {o}d && shale convert {o}d {o} --to lmdb"),
    ("cp -r set {o}d && rm {o}d/dataset.json && index {o}d", "! cp set/dataset.json {o}d && shale index {o}d"),
    ("index set --crc", "index set"),
    ("index set --parse plain", "index set"),
    ("index plain.lmdb --parse msgpack --index-dir {o}i", "index plain.lmdb --parse plain --index-dir {o}i"),
    ("index plain.lmdb --parse caffe --index-dir {o}i", "index plain.lmdb --parse plain --index-dir {o}i"),
    ("index plain.lmdb --parse image=image --index-dir {o}i", "index plain.lmdb --parse image=%d --index-dir {o}i"),
    ("index plain.lmdb --parse image=image-%d --index-dir {o}i", "ls plain.lmdb --parse plain --keys escaped"),
    ("index plain.lmdb --database images --index-dir {o}i", "index plain.lmdb --index-dir {o}i"),
    ("index one.tfrecord --database x --index-dir {o}i", "index one.tfrecord --index-dir {o}i"),
    ("gzip -c one.tfrecord > {o}.tfrecord && info {o}.tfrecord", "convert {o}.tfrecord {o} --to record"),
    ("index plain.lmdb --parse robomimic --index-dir {o}i", "index plain.lmdb --index-dir {o}i"),
    ("index one.h5 --parse msgpack --index-dir {o}i", "index one.h5 --index-dir {o}i"),
    ("index one.tfrecord --parse coclr --index-dir {o}i", "index one.tfrecord --index-dir {o}i"),
    ("cp own.lmdb {o}.lmdb && shale index {o}.lmdb --parse msgpack --quiet && cp plain.lmdb {o}.lmdb && index {o}.lmdb --crc", "index {o}.lmdb --crc --parse plain"),
    ("cp own.lmdb {o}.lmdb && shale index {o}.lmdb --parse msgpack --quiet && report {o}.lmdb -o {o}.html --parse plain", "report {o}.lmdb -o {o}.html --parse plain --index-dir {o}i"),
    ("index one.tfrecord set", "index set"),
    ("resample x.npy {o}.npy --rows 20", "resample x.npy {o}.npy --rows 20 --replace"),
    ("resample x.npy {o}.npy --rows 20", "resample x.npy {o}.npy --rows 10"),
    ("resample x.npy {o}.npy --replace --permute", "resample x.npy {o}.npy --replace"),
    ("resample x.npy {o}.npy --indices rows.npy --seed 4", "resample x.npy {o}.npy --indices rows.npy"),
    ("resample x.npy {o}.npy --indices rows.npy --rows 4", "resample x.npy {o}.npy --indices rows.npy"),
    ("resample photos {o} --to record", "convert photos {o} --to record --shuffle"),
    ("resample set {o} --to record", "convert set {o} --to record --shuffle"),
    ("resample x.npy {o}", "resample x.npy {o} --to npy"),
    ("resample x.npy {o}.npy --also nine.npy={o}9.npy", "resample x.npy {o}.npy --also y.npy={o}y.npy"),
    ("resample x.npy {o}.npy --weights nine.npy", "resample x.npy {o}.npy --weights y.npy"),
    # ---- the rest of what the sources say
    ("convert photos.tar.gz {o} --to lmdb", "convert photos.tar.gz {o} --to lmdb --classes-from classes.txt"),
    ("convert photos.tar.gz {o} --to lmdb", "! gunzip -kc photos.tar.gz > {o}.tar && shale convert {o}.tar {o} --to lmdb"),
    ("convert x=both.npz {o} --to npy", "convert both.npz {o} --to npy --fields labels"),
    ("convert unequal.npz {o} --to npy", "convert unequal.npz {o} --to npy --fields a"),
    ("cp -r set {o}d && " + FLIP + " {o}d/shard-000000.index.npy && cat {o}d 0", "verify {o}d", 3),
    ("cp -r set {o}d && " + FLIP + " {o}d/shard-000000.tfrecord && convert {o}d {o} --to lmdb", "verify {o}d", 3),
    ("cp -r set {o}d && rm {o}d/shard-000000.tfrecord && verify {o}d", "repair {o}d --from set"),
    ("cp -r set {o}d && rm {o}d/shard-000000.tfrecord && info {o}d", "! (shale verify {o}d || test $? = 3) && shale repair {o}d --from photos"),
    ("cp -r set {o}d && rm {o}d/shard-000000.tfrecord && convert photos {o}d --to record", "convert photos {o}d --to record --overwrite"),
    ("cp -r set {o}d && rm {o}d/shard-000000.tfrecord && convert photos {o}d --to record", "verify {o}d", 3),
    ("cp one.tfrecord {o}.tfrecord && truncate -s 900 {o}.tfrecord && verify {o}.tfrecord", "convert photos {o}.tfrecord --overwrite"),
    ("cp one.tfrecord {o}.tfrecord && truncate -s 900 {o}.tfrecord && index {o}.tfrecord", "verify --deep {o}.tfrecord", 3),
    ("convert image=left mask=half {o} --to lmdb --on-error keep", "convert image=left mask=half {o} --to lmdb --on-error skip", 4),
    ("convert image=left mask=right {o} --to lmdb --resize exact=4x4 --encode mask:jpeg", "convert image=left mask=right {o} --to lmdb --resize exact=4x4 --encode mask:png"),
    ("convert image=left mask=right {o} --to lmdb --resize exact=4x4 --encode jpeg --quality mask:5", "convert image=left mask=right {o} --to lmdb --resize exact=4x4 --encode jpeg"),
    ("convert photos {o} --to lmdb --encode jpeg --depth 16", "convert photos {o} --to lmdb --encode png --depth 16", (0, 4)),
    ("convert photos {o} --to lmdb --group frames", "convert photos {o} --to lmdb"),
    ("convert empty-video {o} --to lmdb --group frames", "convert empty-video {o} --to lmdb --group frames --allow-empty"),
    ("convert - {o} --to lmdb", "convert - {o} --to lmdb --allow-empty"),
    ("convert twometa {o} --to lmdb", "convert twometa {o} --to lmdb --pairs off"),
    ("convert mixed {o} --to lmdb", "convert mixed {o} --to lmdb --pairs off --overwrite"),
    ("convert dotted {o} --to lmdb", "convert dotted {o} --to lmdb --pairs off --overwrite"),
    ("convert strange {o} --to lmdb", "convert strange {o} --to lmdb --pairs off"),
    ("convert metaflat {o} --to lmdb --labels metaflat/labels.csv", "convert metaflat {o} --to lmdb"),
    ("convert metaflat {o} --to lmdb --labels metaflat/labels.csv", "convert metaflat {o} --to lmdb --labels metaflat/labels.csv --pairs off"),
    ("convert named {o} --to lmdb --classes-from a.txt", "convert named {o} --to lmdb --classes-from classes.txt"),
    ("convert photos {o} --to lmdb --ext .,,", "convert photos {o} --to lmdb --ext jpg"),
    ("convert half-empty {o} --to lmdb", "convert half-empty {o} --to lmdb --allow-empty"),
    ("convert captioned {o} --to lmdb", "convert captioned {o} --to lmdb --pairs on"),
    ("convert photos {o} --to lmdb --classes-from own.lmdb", "! shale convert photos {o}c.lmdb --with-index && shale convert photos {o} --to lmdb --classes-from {o}c.lmdb"),
    ("convert photos {o} --to lmdb --classes-from wide", "convert photos {o} --to lmdb --classes-from set"),
    ("convert flat {o} --to lmdb --labels headed.csv", "convert flat {o} --to lmdb --labels headed.csv --key-column bild --label-column art"),
    ("convert flat {o} --to lmdb --labels yolo --label-column boxes,area", "convert flat {o} --to lmdb --labels yolo --label-column boxes"),
    ("convert flat {o} --to lmdb --labels polygons", "convert image=flat text=polygons {o} --to lmdb --partners any", 4),
    ("convert flat {o} --to lmdb --labels panoptic.json", "convert flat {o} --to lmdb --labels panoptic.json --label-column segments_info"),
    ("convert flat {o} --to lmdb --labels zeros.csv", "convert flat {o} --to lmdb --labels zeros.csv --classes-from numbers.txt"),
    ("convert digits {o} --to lmdb --select digits.txt", "convert digits {o} --to lmdb --select digits.txt --keys rows"),
    ("convert digits {o} --to lmdb --select digits.txt", "! shale convert digits {o} --to lmdb --classes 1,2"),
    ("convert photos {o} --to lmdb --select class.txt", "! shale convert photos {o} --to lmdb --classes cats"),
    ("convert photos {o} --to lmdb --classes fish", "info set"),
    ("convert x.npy {o} --to npy --classes cats", "! python3 -c \"import struct; open('{o}.txt','w').write('3\\n5\\n')\" && shale convert x.npy {o} --to npy --select {o}.txt"),
    ("convert photos {o} --to lmdb --split train=0.5", "convert photos {o} --to lmdb --split train=1/2,val=50%"),
    ("convert frames {o} --layout coclr-k400 --group frames --split train=0.5,val=0.5 --classes a", "convert frames {o} --layout coclr-k400 --group frames --split train=a.txt,val=b.txt", (0, 1)),
    ("convert frames {o} --layout coclr-k400 --split train=0.5,val=0.5", "convert frames {o} --layout coclr-k400 --group frames --split train=0.5,val=0.5"),
    ("cat set --key cats/a.jp", "ls set --tsv"),
    ("cat set 0 --element 1", "cat set 0"),
    ("index one.tfrecord records/one.tfrecord", "index one.tfrecord records/one.tfrecord --index-dir {o}i"),
    ("mkdir {o}s && cp one.tfrecord {o}s && index {o}s --index-dir {o}s", "index {o}s"),
    ("mkdir {o}s && cp one.tfrecord {o}s && shale index {o}s --quiet && python3 -c \"open('{o}s/one.tfrecord', 'ab').write(open('one.tfrecord', 'rb').read())\" && info {o}s", "! shale index {o}s && shale info {o}s"),
    ("shale index one.tfrecord records/one.tfrecord --index-dir {o}i --quiet && info {o}i", "info one.tfrecord records/one.tfrecord --index-dir {o}i"),
    ("repair set --from x.npy --from photos", "repair set --from photos"),
    ("repair set --from left --from photos", "repair set --from photos"),
    ("resample x.npy {o}.npy --permute --rows 3", "resample x.npy {o}.npy --rows 3"),
    ("convert photos {o}s --to record --select keys2.txt --quiet && rm {o}s/shard-000000.tfrecord && repair {o}s --from photos", "repair {o}s --from photos --select keys2.txt"),
    (SET + " && convert birds {o}s --append", "convert birds {o}s --append --new-classes append"),
    ("convert photos {o}.h5 --with-index --layout vlen", "convert photos {o}.h5 --layout vlen"),
    ("convert x=x.npy y=y.npy {o}.npz --with-index", "convert x=x.npy y=y.npy {o}.npz"),
    ("convert left {o}.npy --labels left.csv --encode raw --resize exact=4x4", "convert left {o}.npz --labels left.csv --encode raw --resize exact=4x4"),
    ("convert paired {o}s --to record --pairs off --quiet && convert paired {o}s --to record", "convert paired {o}s --to record --pairs off"),
    ("convert rotten {o}s --to record", "convert rotten {o}s --to record --on-error fail", 1),
    ("verify set --against photos --against photos", "verify set --against photos"),
    ("verify set --against nine.npy", "verify set --against photos"),
    ("convert more {o}m --to record --quiet && verify set --against {o}m", "verify set --against photos"),
    ("convert splits/val {o}v --to record --quiet && verify {o}v --against photos", "convert photos {o}v --append --new-classes append", (0, 1)),
    ("convert photos {o} --to record --part slurm", "convert photos {o} --to record --part 0/3"),
    ("convert both.tar.xz {o} --to lmdb", "! (cat < photos.tar.gz) | shale convert - {o} --to lmdb --classes-from classes.txt"),
    ("convert http://host/x.tar {o} --to lmdb", "convert photos {o} --to lmdb"),
    ("convert twolabels {o} --to lmdb", "convert twolabels {o} --to lmdb --classes-from names2.txt"),
    ("ls newline --keys raw", "ls newline --keys nul"),
    ("convert x.npy {o} --to lmdb --keys raw --select y.npy", "convert x.npy {o} --to lmdb --keys rows --select y.npy"),
    ("convert newline {o} --to record --select escaped.txt", "convert newline {o} --to record --select escaped.txt --keys raw"),
    ("convert newline {o} --to record --select escaped.txt", "convert newline {o} --to record --select escaped.txt --keys escaped"),
    (SET + " && convert photos {o}s --append", "! shale ls set --keys escaped > {o}x && shale convert photos {o}s --append --exclude {o}x", (0, 1)),
    ("convert photos {o}.npz --encode raw --resize exact=4x4 --split train=0.5,val=0.5", "convert photos {o} --to npy --encode raw --resize exact=4x4 --split train=0.5,val=0.5"),
    ("convert photos {o}.h5 --layout vlen --verify", "convert photos {o}.h5 --layout vlen"),
    ("resample x.npy {o}.npy --indices rows.npy --rows 2", "resample x.npy {o}.npy --indices rows.npy"),
    ("convert deep16 {o} --to lmdb --resize exact=4x4 --encode jpeg", "convert deep16 {o} --to lmdb --resize exact=4x4 --encode jpeg --depth 8"),
    ("convert deep16 {o} --to lmdb --resize exact=4x4 --encode jpeg", "convert deep16 {o} --to lmdb --resize exact=4x4 --encode png"),
    ("convert deep {o} --to lmdb --resize exact=4x4 --encode raw", "convert deep {o} --to lmdb --resize exact=4x4 --encode raw --depth 16"),
    ("convert photos {o} --to lmdb --encode jpeg --depth 16 --resize exact=4x4", "convert photos {o} --to lmdb --encode png --depth 16 --resize exact=4x4", (0, 4)),
    ("convert image=left mask=right {o} --to lmdb --resize image:exact=4x4 --masks label", "convert image=left mask=right {o} --to lmdb --resize image:exact=4x4 --masks mask"),
    ("convert image=left mark=gray {o} --to lmdb --resize exact=4x4", "convert image=left mark=gray {o} --to lmdb --resize exact=4x4 --masks mark"),
    ("convert image=left mark=indexed {o} --to lmdb --resize exact=4x4", "convert image=left mark=indexed {o} --to lmdb --resize exact=4x4 --masks mark"),
    ("cp own.lmdb {o}.lmdb && verify {o}.lmdb --against nine.npy", "verify {o}.lmdb --against photos", 0),
    ("convert paired {o}.tar {o} --to lmdb", "convert paired {o} --to lmdb"),
    ("convert photos {o} --to lmdb --split train=0.5,val=0.2", "convert photos {o} --to lmdb --split train=70%,val=30%"),
    ("convert frames {o}.lmdb --layout coclr --split train=0.5,val=0.5", "convert frames {o}.lmdb --layout coclr --group frames --split train=0.5,val=0.5"),
    ("convert x=x.npy y=y.npy {o}.pt --with-index", "! shale convert x=x.npy y=y.npy {o}.pt && shale index {o}.pt"),
    ("convert beside {o} --to lmdb", "convert beside {o} --to lmdb --allow-empty", 4),
    ("convert void {o} --to lmdb", "convert void {o} --to lmdb --allow-empty"),
    ("convert loose.tar.gz {o} --to lmdb", "convert loose.tar.gz {o} --to lmdb --labels left.csv"),
    ("cp -r set {o}d && rm {o}d/dataset.json && repair {o}d --from photos", "repair {o}d --from set"),
    ("index set/shard-000000.tfrecord", "index set"),
    ("index fortran.npy", "convert fortran.npy {o} --to npy"),
    ("convert videos.txt {o} --to lmdb --group frames", "convert frames {o} --to lmdb --group frames"),
    ("convert image=left mark=half {o} --to lmdb --resize exact=4x4", "convert image=left mark=half {o} --to lmdb --resize exact=4x4 --masks mark", (0, 4)),
    ("convert -x {o} --to lmdb", "! shale convert --help"),
    (SET + " && convert birds {o}b --to record --quiet && convert {o}b {o}s --append", "! shale convert birds {o}s --append --new-classes append"),
    ("convert photos {o} --to lmdb --depth 16", "convert photos {o} --to lmdb --depth 16 --encode png", (0, 4)),
    ("convert named-splits {o} --to lmdb", "convert named-splits {o} --to lmdb --classes-from classes.txt"),
    ("convert named {o}s --to record --quiet && convert named2 {o}s --append", "convert named2 {o}s --append --new-classes append"),
    ("convert void {o} --to lmdb --ext jpg", "convert void {o} --to lmdb --ext jpg --allow-empty"),
    ("cat newline --key 'c/a\\nb.jpg'", "! shale ls newline && shale cat newline 0"),
    (SET + " && convert more {o}b --to record --classes-from names3.txt --quiet && convert {o}b {o}s --append", "convert {o}b {o}s --append --new-classes append"),
    ("cp -r bad {o}in && (shale convert {o}in {o}s --to record --max-errors 3 --quiet || test $? = 4) && convert {o}in {o}s --to record --max-errors 1", "! rm {o}in/cats/cut.jpg {o}in/cats/empty.jpg {o}in/dogs/text.png && shale convert {o}in {o}s --to record --overwrite"),
    ("verify set --against wide", "! shale info set && shale info wide"),
    (
        "mkdir {o} && cp photos/cats/a.jpg {o} && echo '{\"file_name\": \"a.jpg\", \"score\": 0.5}' > {o}/metadata.jsonl && convert {o} {o}s --to record --quiet"
        " && convert {o} {o}.tfrecord --quiet && verify {o}.tfrecord --against {o}s",
        "convert {o} {o}.tfrecord --with-index --overwrite && verify {o}.tfrecord --against {o}s",
    ),
    ("convert frames {o}f --to lmdb --group frames --quiet && verify {o}f --against - < list.txt", "verify {o}f --against frames"),
    ("cp -r photos {o}p && convert {o}p {o}s --to record --quiet && cp more/cats/other.jpg {o}p/cats && verify {o}s --against {o}p", "convert more {o}s --append"),
    ("convert photos {o} --to lmdb --select keys2.txt --split train=keys2.txt,val=keys3.txt", "! shale convert photos {o} --to lmdb --split train=keys2.txt,val=keys3.txt"),
    ("cp -r set {o}d && " + FLIP + " {o}d/shard-000000.tfrecord && convert {o}d {o} --to record", "convert {o}d {o} --to record --on-error skip", 4),
    ("cp -r set {o}d && rm {o}d/shard-000000.index.npy && convert {o}d {o} --to lmdb", "index {o}d"),
    ("convert photos {o} --to record --split a=0.5,b=0.5 --part 0/1 --quiet && info {o}", "merge {o}/a {o}m"),
    # ---- notes
    ("convert photos {o} --to lmdb", "convert photos {o} --to lmdb --shuffle --overwrite"),
    ("convert paired {o} --to lmdb", "convert paired {o} --to lmdb --pairs off --overwrite"),
    ("convert photos {o}.tfrecord", "convert photos {o}.tfrecord --with-index --overwrite"),
    # ---- memory
    ("convert wide.npy {o} --to record --memory 16MiB", "convert wide.npy {o} --to record --memory {memory}"),
    ("convert wide.npy {o}.npy --memory 16MiB", "convert wide.npy {o}.npy --memory {memory}"),
    ("verify wide --deep --memory 16MiB", "verify wide --deep --memory {memory}"),
    ("verify wide --against wide.npy --memory 16MiB", "verify wide --against wide.npy --memory {memory}"),
    ("convert wide.tar.gz {o} --to record --ext mp4 --classes-from a.txt --memory 16MiB", "convert wide.tar.gz {o} --to record --ext mp4 --classes-from a.txt --memory {memory}"),
]


class Hints(FaultCase):
    base = IN_MEMORY

    @classmethod
    def setUpClass(cls):
        cls.commands = re.findall(r"^  ([a-z]+) {2,}", subprocess.run([SHALE], capture_output=True, text=True, check=True).stdout, re.MULTILINE)

    def setUp(self):
        super().setUp()
        (self.folder / ".bin").mkdir()
        (self.folder / ".bin/shale").symlink_to(SHALE)
        self.make_inputs(self.folder.path)

    def make_inputs(self, root):
        make_inputs(root)
        for name, content in {
            **{f"paired/c/{n}{suffix}": content for n in (1, 2) for suffix, content in ((".jpg", RGB_JPEG), (".txt", b"words"))},
            **{f"frames/{video}/{n}.jpg": RGB_JPEG for video in ("a/x", "a/y", "b/z", "b/w") for n in (1, 2)},
            **{f"{side}/{n}.png": png(5, 5, seed=n) for side in ("left", "right") for n in (1, 2)},
            "more/cats/other.jpg": RGB_JPEG,
            "birds/birds/one.jpg": RGB_JPEG,
            "mnist/train-images-idx3-ubyte": b"\0\0\x08\3" + bytes((0, 0, 0, 2)) * 3 + bytes(8),
            "mnist/train-labels-idx1-ubyte": b"\0\0\x08\1\0\0\0\2ab",
            "hidden/cats/1.jpg": RGB_JPEG,
            "hidden/.dogs/2.jpg": RGB_JPEG,
            "loose/cats/1.jpg": RGB_JPEG,
            "loose/dogs/note.txt": b"words",
            "none/note.txt": b"words",
            "table.xlsx": b"PK\3\4and so on",
            "pipes.csv": b"path|label\n1.jpg|dog\n2.jpg|cat\nsub/3.png|dog\n",
            "semicolons.csv": b"path;label\n1.jpg;dog\n2.jpg;cat\nsub/3.png;dog\n",
            "tabs.csv": b"name\tkind\tage\n1.jpg\tdog\t3\n2.jpg\tcat\t4\nsub/3.png\tdog\t5\n",
            "object.json": b'{"1.jpg": "dog", "2.jpg": "cat", "sub/3.png": "dog"}',
            "lines.jsonl": b'{"path": "1.jpg", "label": "dog"}\n{"path": "2.jpg", "label": "cat"}\n{"path": "sub/3.png", "label": "dog"}\n',
            "names.jsonl": b'{"name": "1.jpg", "kind": "dog"}\n{"name": "2.jpg", "kind": "cat"}\n{"name": "sub/3.png", "kind": "dog"}\n',
            "left.csv": b"path,label\n1.png,dog\n2.png,cat\n",
            "list.txt": b"photos/cats/a.jpg\nphotos/dogs/d.jpg\n",
            "keys.txt": b"cats/1.jpg\n",
            "rows.txt": b"nothing\n",
            "a.txt": b"a\n",
            "beside/1.jpg": RGB_JPEG,
            "beside/more/note.txt": b"w",
            "void/cats/1.jpg": RGB_JPEG,
            "void/dogs/.keep": b"",
            "twolabels/1.jpg": RGB_JPEG,
            "twolabels/2.jpg": GRAY_JPEG,
            "twolabels/metadata.csv": b"file_name,label\n1.jpg,1\n2.jpg,dog\n",
            "names2.txt": b"1\ndog\n",
            "escaped.txt": b"c/a\\nb.jpg\n",
            "gray/1.png": png(5,5,seed=1),
            "gray/2.png": png(5,5,seed=2),
            "deep16/c/1.png": DEEP,
            "deep/c/1.png": DEEP,
            "deep/c/2.png": png(4, 4),
            "indexed/1.png": PALETTE,
            "indexed/2.png": PALETTE,
            "half/1.png": png(5,5,seed=1),
            "empty-video/a/x/1.jpg": RGB_JPEG,
            "empty-video/a/y/note.txt": b"w",
            "empty-video/b/z/1.jpg": RGB_JPEG,
            "twometa/c/1.jpg": RGB_JPEG,
            "twometa/metadata.csv": b"file_name,caption\nc/1.jpg,a\n",
            "twometa/metadata.jsonl": b'{"file_name": "c/1.jpg", "caption": "a"}\n',
            "mixed/c/1.jpg": RGB_JPEG,
            "mixed/c/2.jpg": RGB_JPEG,
            "mixed/metadata.csv": b"file_name,file name\nc/1.jpg,1\nc/2.jpg,x\n",
            "dotted/c/1.jpg": RGB_JPEG,
            "dotted/c/1.a.txt": b"a",
            "dotted/c/1.b.txt": b"b",
            "strange/c/1.jpg": RGB_JPEG,
            "strange/metadata.csv": b"file_name,caption\nc/9.jpg,1\n",
            "metaflat/1.jpg": RGB_JPEG,
            "metaflat/metadata.csv": b"file_name,label\n1.jpg,dog\n",
            "metaflat/labels.csv": b"path,label\n1.jpg,dog\n",
            "named/1.jpg": RGB_JPEG,
            "named/metadata.csv": b"file_name,label\n1.jpg,dogs\n",
            "half-empty/cats/1.jpg": RGB_JPEG,
            "half-empty/dogs/note.txt": b"w",
            "captioned/1.jpg": RGB_JPEG,
            "captioned/2.jpg": GRAY_JPEG,
            "captioned/1.txt": b"w",
            "wide.csv": b"path,a.b,c\n1.jpg,1,2\n2.jpg,1,2\nsub/3.png,2,2\n",
            "faces.txt": b"3\nBald Male\n1.jpg 1 -1\n2.jpg -1 1\nsub/3.png 1 1\n",
            "windows.csv": b"D:\\w\\1.jpg,1\nD:\\w\\2.jpg,2\nD:\\w\\sub\\3.png,1\n",
            "vector.csv": b"path,a,b\n1.jpg,1,2\n2.jpg,1,\nsub/3.png,2,2\n",
            "headed.csv": b"bild,art\n1,dog\n2,cat\n3,dog\n",
            "yolo/1.txt": b"0 0.1 0.2 0.3 0.4\n",
            "polygons/sub/3.txt": b"0 0.1 0.2 0.3 0.4 0.5 0.6\n",
            "panoptic.json": b'{"images": [{"id": 1, "file_name": "1.jpg"}, {"id": 2, "file_name": "2.jpg"}, {"id": 3, "file_name": "sub/3.png"}], '
            b'"annotations": [{"image_id": 1, "segments_info": [{"id": 3}]}]}',
            "zeros.csv": b"path,label\n1.jpg,01\n2.jpg,1\nsub/3.png,01\n",
            "numbers.txt": b"01\n1\n",
            "digits/1/a.jpg": RGB_JPEG,
            "digits/1/b.jpg": RGB_JPEG,
            "digits/2/a.jpg": RGB_JPEG,
            "digits.txt": b"1\n2\n",
            "class.txt": b"cats\n",
            "keys2.txt": b"cats/a.jpg\n",
            "b.txt": b"b\n",
            "rotten/c/1.jpg": b"",
            "rotten/c/2.jpg": b"x",
            "both.tar.xz": b"\xfd7zXZ\0x",
            **{f"named-splits/{split}/1.jpg": RGB_JPEG for split in ("val", "test")},
            **{f"named-splits/{split}/metadata.csv": b"file_name,label\n1.jpg,dogs\n" for split in ("val", "test")},
            "named2/2.jpg": RGB_JPEG,
            "named2/metadata.csv": b"file_name,label\n2.jpg,birds\n",
            "names3.txt": b"cats\ndogs\nfish\n",
            "keys3.txt": b"dogs/d.jpg\n",
            "rows.npy": npy("<i8", (3,), b"".join(n.to_bytes(8, "little") for n in (4, 0, 4))),
            "wide.npy": npy("|u1", (2, 20 << 20), bytes(40 << 20)),
        }.items():
            write(root / name, content)
        with zipfile.ZipFile(root / "photos.zip", "w") as archive:
            for name in sorted((root / "photos").rglob("*.jpg")):
                archive.write(name, name.relative_to(root))
        with zipfile.ZipFile(root / "unequal.npz", "w") as archive:
            archive.writestr("a.npy", npy("|u1", (3,), b"abc"))
            archive.writestr("b.npy", npy("|u1", (2,), b"ab"))
        for name, folder in (("photos.tar.gz", "photos"), ("loose.tar.gz", "left")):
            with tarfile.open(root / name, "w:gz") as archive:
                for path in sorted((root / folder).rglob("*.[jpP]*")):
                    archive.add(path, path.relative_to(root / folder))
        write(f"{root}/awkward/c/a\nb.jpg")
        write(f"{root}/awkward/c/a\\nb.jpg", GRAY_JPEG)
        with tarfile.open(root / "wide.tar.gz", "w:gz", compresslevel=1) as archive:
            add_bytes(archive, "a/x.mp4", bytes(9 << 20))
        self.shell(
            "convert photos set --to record --quiet && convert photos set2 --to record --quiet && convert flat flatset --to record --labels labels.csv --quiet"
            " && convert photos one.tfrecord --quiet && convert x.npy one.h5 --quiet && convert photos own.lmdb --quiet && convert wide.npy wide --to npy --quiet"
            " && convert awkward newline --to record --quiet && mkdir records && cp one.tfrecord records/one.tfrecord && convert more records/two.tfrecord --quiet && convert plain plain.lmdb --quiet".replace(
                "convert plain plain.lmdb", "convert x.npy plain --to lmdb --quiet && convert photos plain.lmdb --layout xunge"
            )
        )

    def shell(self, line):
        line = " && ".join(f"shale {part}" if part.split()[0] in (*self.commands, "help", "--help", "convrt", "nothing") else part for part in line.split(" && "))
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "SHALE_", "OMPI", "PMI"))}
        environment["PATH"] = f"{self.folder}/.bin:{environment['PATH']}"
        done = subprocess.run(["sh", "-ec", line], cwd=self.folder.path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        done.story = f"{line}: exit {done.returncode}\n{done.stdout[:3000]}{done.stderr}"
        return done

    def test_what_a_hint_says_can_be_done_and_helps(self):
        self.told = ""
        for number, (command, then, *codes) in enumerate(FOLLOWED):
            with self.subTest(command=command, then=then):
                self.follow(f"o{number}", command, then, codes[0] if codes else 0)
        self.check_all_are_followed()

    def check_all_are_followed(self):
        """Each hint of the sources that names an option or a command is told by a row above, or has a reason in NOT_FOLLOWED."""
        hints = hints_that_name(self.commands)
        told = "\n".join(re.findall(r"^(?:hint|note|next): .*", self.told, re.MULTILINE))
        excused = [hint for group in NOT_FOLLOWED.values() for hint in group]
        missing = [hint for hint in hints if not re.search(pattern_of(hint), told)]
        new = [f"{hints[hint]}: {hint}" for hint in missing if hint not in excused]
        self.assertEqual(new, [], "nothing follows these hints: add rows to FOLLOWED, or a reason to NOT_FOLLOWED (hint_texts.py)")
        stale = [hint for hint in excused if hint not in missing]
        self.assertEqual(stale, [], "no longer in the sources, or followed by now: remove them from NOT_FOLLOWED (hint_texts.py)")

    def follow(self, name, command, then, codes):
        *before, command = command.replace("{o}", name).split(" && ")
        if before:
            done = self.shell(" && ".join(before))
            self.assertEqual(done.returncode, 0, done.story)
        told = self.shell(command)
        self.told += told.stderr + told.stdout
        memory = re.search(r"--memory:? (\d+MiB)", told.stderr)
        then = then.replace("{o}", name).replace("{memory}", memory[1] if memory else "{memory}")
        then = then.removeprefix("! ")
        done = self.shell(then)
        story = f"{told.story}\n{done.story}"
        self.assertRegex(told.stderr + told.stdout, r"(?m)^(hint|note|next): ", story)
        for mark in BUG_MARKS:
            self.assertNotIn(mark, told.stderr + done.stderr, story)
        # What changed between the two commands is what he was told.
        options, options_then = (set(re.findall(r"(?<![\w-])--[a-z-]+", line)) for line in (command, then))
        if command.split()[0] == then.split()[0]:
            for option in (options ^ options_then) - {"--quiet", "--overwrite" if told.returncode == 0 else ""}:
                self.assertIn(option, told.stderr + told.stdout, f"nothing names {option}\n{story}")
        for word in {line.split()[0] for line in re.split(r" && (?:shale )?", then)} & set(self.commands) - {"convert", command.split()[0]}:
            self.assertIn(f"shale {word}", told.stderr + told.stdout, f"nothing names 'shale {word}'\n{story}")
        self.assertIn(done.returncode, codes if isinstance(codes, tuple) else (codes,), story)
        refused = told.stderr.startswith("shale: ") and told.stderr.splitlines()[0]
        if refused:
            self.assertNotIn(refused, done.stderr, story)
