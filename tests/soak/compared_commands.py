"""The commands that compare_builds.py runs with both programs: groups that share a folder, each a list of the words of its commands.

Of the words "<", a file: stdin is that file. "!", file, byte: flips a bit of it. "rm", file: removes it.
"""


def convert(text):
    return ["convert", *text.split(), "--progress", "none", "--jobs", "2"]


def group(*lines):
    """One command per line; `convert` is meant where a line begins with no other command."""
    others = ("verify", "resample", "merge", "repair", "index", "info", "ls", "cat", "report", "parts", "formats", "help", "<", "!", "rm")
    commands = []
    for line in lines:
        words = line.split()
        commands.append(words if words[0] in others else convert(line))
    return commands


FORMATS = ("record", "lmdb", "hdf5")
OUTPUTS = ("npy", "npz", "lmdb", "h5", "tfrecord", "pt", "safetensors")

GROUPS = [
    # ---- every format: photos, read in every way
    *(
        group(
            f"in/photos out --to {name}",
            f"in/photos out --to {name}",
            "verify out --json",
            "verify out --deep --against in/photos",
            "info out",
            "info out --json",
            "ls out --tsv",
            "cat out 3 --field label",
            "cat out --key b/001.jpg --json",
            "report out -o report.html --json",
            "rm out/shard-000000.index.npy",
            "verify out",
            "index out",
            "verify out",
        )
        for name in FORMATS
    ),
    *(group(f"in/photos out --to {name} --shard-samples 7 --shuffle --seed 3 --verify", "ls out") for name in FORMATS),
    *(group(f"in/photos out --to {name} --shard-size 20KiB --json") for name in FORMATS),
    *(group(f"in/photos one.{suffix}", f"in/photos one.{suffix} --with-index --overwrite", f"verify one.{suffix}") for suffix in ("lmdb", "h5", "tfrecord")),
    *(group(f"x=in/x.npy y=in/y.npy one.{suffix}", f"info one.{suffix} --json", f"one.{suffix} back.npz") for suffix in OUTPUTS if suffix != "npy"),
    *(group(f"x=in/x.npy y=in/y.npy out --to {name}", "verify out --against x=in/x.npy --against y=in/y.npy", "info out --json") for name in (*FORMATS, "npy")),
    # ---- folders
    group("in/odd out --to record", "in/odd out --to record --hidden skip", "report out -o r.html --json"),
    group("in/odd out --to record --hidden keep", "ls out"),
    group("in/bad out --to record", "in/bad out --to record --max-errors 5 --verify"),
    group("in/bad out --to lmdb --on-error keep", "verify out --deep"),
    group("in/bad out --to lmdb --on-error fail"),
    group("in/bad out --to hdf5 --dry-run", "in/photos out --to hdf5 --dry-run --json"),
    group("in/flat out --to record --labels in/labels.csv", "verify out --against in/flat --labels in/labels.csv", "ls out --tsv"),
    group("in/flat out --to record --labels in/labels.tsv", "info out"),
    group("in/flat out --to record --labels in/labels.jsonl", "info out"),
    group("in/flat out --to record --labels in/columns.csv --label-column kind --key-column file", "info out"),
    group("in/flat out --to record --labels in/few.csv"),
    group("in/flat out --to record"),
    group("in/photos out --to record --classes-from in/classes.txt", "ls out"),
    group("in/pairs out --to record", "info out --json", "verify out --against in/pairs", "cat out 0 --field txt"),
    group("in/pairs out --to record --pairs off", "verify out --against in/pairs"),
    group("in/pairs out --to lmdb --pairs on", "info out"),
    group("image=in/image mask=in/mask out --to record", "info out", "verify out --against image=in/image --against mask=in/mask"),
    group("image=in/image mask=in/mask out --to record --resize shorter=12", "info out"),
    group("in/tabled out --to record", "info out --json", "ls out", "verify out --against in/tabled"),
    group("in/frames out --to record --group frames", "info out", "cat out 1 --element 2 --json", "verify out --against in/frames"),
    group("in/frames out.lmdb --layout coclr --group frames", "info out.lmdb --json"),
    group("in/frames out --layout coclr-k400 --group frames --split train=0.5,val=0.5"),
    group("in/photos out --layout lsun", "in/photos out --layout lsun"),
    *(group(f"in/photos one.lmdb --layout {name}", "info one.lmdb", "index one.lmdb --crc", "verify one.lmdb") for name in ("xunge", "caffe")),
    *(group(f"in/photos one.h5 --layout {name} --encode raw --resize exact=8x8", "info one.h5") for name in ("flat", "vlen", "fixed")),
    group("in/sounds out --to record --ext wav", "info out"),
    group("in/photos out --to record --listing list", "in/photos other --to record --listing list"),
    group("in/photos in/more out --to record"),
    group("in/nothing out --to record", "in/photos out", "in/photos out --to nonsense", "in/photos out --to npy"),
    group("in/photos out --to record --shard-size 100"),
    # ---- image work
    group("in/odd out --to record --hidden skip --resize shorter=10 --encode jpeg --quality 80", "info out", "verify out --against in/odd"),
    group("in/odd out --to record --hidden skip --encode raw --resize exact=8x8", "info out"),
    group("in/odd out --to lmdb --hidden skip --crop center=6x6 --encode png --apply-rotation --strip-metadata", "info out"),
    group("in/photos out --to record --resize longer=20 --only-larger", "in/photos out --to record --resize fit=20x20"),
    # ---- archives and streams
    group("in/photos.tar out --to record", "verify out --against in/photos.tar", "verify out --against in/photos"),
    group("in/photos.tar.gz out --to record", "verify out --against in/photos"),
    group("< in/photos.tar convert - out --to record --progress none", "info out", "< in/photos.tar verify out --against -"),
    group("< in/list.txt convert - out --to record --progress none", "ls out", "< in/list.txt convert - two --to lmdb --shuffle --progress none"),
    group("in/photos.tar out --to record --shuffle --split train=0.8,val=0.2"),
    # ---- choices, splits, parts, appending
    group("in/photos out --to record --select in/select.txt", "ls out", "verify out --against in/photos"),
    group("in/photos out --to record --exclude in/select.txt --shuffle", "ls out"),
    group("x=in/x.npy y=in/y.npy out --to record --select in/rows.npy --shuffle", "ls out"),
    group("in/photos out --to record --split train=0.7,val=0.3 --seed 4", "in/photos out --to record --split train=0.7,val=0.3 --seed 4"),
    group("in/photos out --to record --split train=in/train.txt,val=in/val.txt", "info out"),
    group("in/splits out --to lmdb", "info out", "verify out/train"),
    group("in/splits out --to lmdb --shuffle --part 1/2", "in/splits out --to lmdb --shuffle --part 0/2", "parts out/train"),
    *(
        group(
            *(f"in/photos out --to {name} --part {part}/3 --shuffle" for part in range(3)),
            "parts out",
            "parts out --missing",
            "merge out all",
            "merge out all",
            "verify all --against in/photos",
            "info all --json",
        )
        for name in FORMATS
    ),
    group("x=in/x.npy out --to npy --part 0/2", "parts out", "merge out all", "x=in/x.npy out --to npy --part 1/2", "merge out all --move", "info all"),
    *(
        group(f"in/photos out --to {name}", "in/more out --append", "in/more out --append", "in/other out --append", "in/other out --append --new-classes append", "verify out", "info out")
        for name in FORMATS
    ),
    group("x=in/x.npy y=in/y.npy out --to npy --shard-samples 90", "x=in/x.npy y=in/y.npy out --append", "info out", "verify out"),
    group("in/photos out --to record", "in/more out --to record", "in/more out --to record --overwrite", "verify out --against in/more"),
    group("in/photos out --to record", "out again --to lmdb", "again back --to record", "verify back --against in/photos", "verify back --against out"),
    group("in/photos out --to record", "out some --to hdf5 --fields label", "out flat.npy --fields label", "info some"),
    # ---- arrays
    *(group(f"in/{name}.npy out.npy", "verify out.npy", f"in/{name}.npy out --to npy", f"verify out --against in/{name}.npy") for name in ("x", "big", "fortran", "many")),
    *(group(f"in/{name}.npz out --to record", "info out", f"in/{name}.npz one.h5", f"verify out --against in/{name}.npz") for name in ("both", "packed")),
    group("x=in/x.npy y=in/y.npy one.npz --compress deflate", "x=in/x.npy y=in/z.npy one.npz", "in/x.npy in/y.npy out --to npy"),
    group("in/x.npy one.npy --shuffle --seed 5", "in/fortran.npy two.npy --shuffle --memory 16MiB"),
    *(
        group(f"resample in/x.npy out.npy {words} --seed 9 --save-indices i.npy --progress none")
        for words in ("", "--rows 50", "--replace --rows 300", "--weights in/weights.npy", "--permute --also in/y.npy=also.npy")
    ),
    group("resample in/x.npy out.npy --indices in/indices.npy --progress none", "resample in/x.npy out.npy --rows 500", "resample in/x.npy out --to record --rows 20"),
    group("resample in/fortran.npy out.npy --memory 16MiB --progress none", "resample in/x.npy out.npy --dry-run --overwrite", "resample x=in/x.npy y=in/y.npy out --to hdf5"),
    # ---- files of other tools
    *(
        group(f"index in/{name} --index-dir i --crc", f"info in/{name} --index-dir i", f"verify in/{name} --index-dir i", f"ls in/{name} --index-dir i", f"in/{name} out --to record --index-dir i", "info out")
        for name in ("sets.h5", "vlen.h5", "plain.lmdb", "msgpack.lmdb", "pickle.lmdb", "folder2lmdb.lmdb")
    ),
    *(group(f"in/{name}.lmdb out --to record --parse {how}", "info out") for name, how in (("msgpack", "plain"), ("msgpack", "msgpack"), ("pickle", "pickle"), ("plain", "msgpack"))),
    group("in/sets.h5 out --to npy --fields images,labels", "info out", "in/sets.h5 one.npy --fields chunked", "in/sets.h5 out2 --to record --shuffle"),
    # ---- damage
    *(
        group(
            f"in/photos out --to {name} --shard-samples 10",
            f"in/photos copy --to {name} --shard-samples 10",
            f"! out/shard-000001.{suffix} 9000",
            "verify out",
            "verify out --deep --json",
            "out again --to record",
            "repair out --from copy --dry-run",
            "repair out --from in/photos",
            "verify out",
            "rm out/shard-000002." + suffix,
            "rm out/shard-000000.blocks.npy",
            "verify out --quick",
            "repair out --from copy",
            "verify out --deep",
        )
        for name, suffix in (("record", "tfrecord"), ("lmdb", "lmdb"), ("hdf5", "h5"))
    ),
    group("in/photos out --to record", "! out/dataset.json 60", "verify out", "info out", "out b --to lmdb"),
    group("in/photos one.lmdb --with-index", "! one.lmdb 9000", "verify one.lmdb", "one.lmdb out --to record", "one.lmdb out --to record --on-error skip"),
    # ---- refusals
    group(
        "in/photos out.npy",
        "in/photos out.pt",
        "in/photos out.h5 --shard-size 1MiB",
        "in/photos out.h5 --append",
        "in/photos out --to record --with-index",
        "in/photos out --to record --compress deflate",
        "in/photos out.h5 --layout caffe",
        "in/photos out.lmdb --layout fixed",
        "in/photos out --layout lsun --verify",
        "in/photos out --to record --seed 3",
        "in/photos out --to record --part 5/3",
        "in/photos out --to record --append",
        "in/photos out --to record --select in/select.txt --split train=0.5,val=0.5",
        "in/x.npy out --to npy --labels in/labels.csv",
        "in/x.npy out.npy --on-error fail",
        "in/plain.lmdb out --to record --hidden keep",
        "in/photos out --to record --label-column x",
        "in/photos out --to record --index-dir x",
        "in/photos out --to record --fields image",
        "in/photos out --to record --encode raw --on-error keep",
        "in/photos in/photos/out --to record",
        "in/photos.tar out --to record --group frames",
        "< in/photos.tar convert - out --to record --shuffle",
        "< in/list.txt convert - out --to record --labels in/labels.csv",
        "in/photos - --to record",
        "s3://bucket/x out --to record",
        "in/photos out --to record --new-classes append",
        "in/photos out --to record --split train=0.9,val=0.4",
        "in/splits out --to record --append",
        "in/splits out --to record --select in/select.txt",
        "in/photos out --to npz",
        "in/photos out.ldb",
        "resample in/photos out.npy",
        "resample in/x.npy out.npy --replace --permute",
        "merge in/photos all",
        "repair in/photos --from in/more",
        "formats",
    ),
]
