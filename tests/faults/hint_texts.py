"""The hints of the sources that name an option or a command, as patterns: what test_hints.py compares with what it has followed."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/house"))
import cpp_text

LITERAL = r'(?:"(?:\\.|[^"\\\n])*"\s*)+'
# Where hints stand: .hint(...), a constant or a function that is named so, and the last word of a row of what does not go together.
CALL = r"\bhint\("
NAMED = r"\bk\w*Hint\w*\b[^;{}]*=|\b\w*[hH]int\w*\([^;{}]*\)[^;{}]*\{"
EXCLUSION = rf'^    \{{"[^\n]*, ({LITERAL})(?:, false)?\}},$'


def spans(text):
    """Yields (begin, end) of what may hold hints."""
    code = cpp_text.code_only(text)
    for match in re.finditer(CALL, code):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        yield match.end(), end
    for match in re.finditer(NAMED, code):
        yield match.end(), code.find(";" if match[0].endswith("=") else "\n}", match.end())
    table = text.find("kExclusions[]")
    for match in re.compile(EXCLUSION, re.MULTILINE).finditer(text, table) if table >= 0 else ():
        yield match.start(1), match.end(1)


def hints_that_name(commands):
    """Text of a hint -> its file: each literal that names an option, or one of these commands."""
    names = re.compile(rf"(?<![\w-])--[a-z]|\bshale (?:{'|'.join(commands)})\b")
    found = {}
    for pattern in ("lib/**/*.[ch]pp", "formats/**/*.[ch]pp", "tools/*.[ch]pp"):
        for path in sorted(ROOT.glob(pattern)):
            text = cpp_text.without_comments(path.read_text(encoding="utf-8"))
            for begin, end in spans(text):
                for match in re.finditer(LITERAL, text[begin:end]):
                    hint = cpp_text.literal_value(match[0])
                    if names.search(hint):
                        found.setdefault(hint, path.relative_to(ROOT).as_posix())
    return found


def pattern_of(hint):
    """What the literal becomes when it is printed: anything where it has a {}."""
    return ".*?".join(re.escape(part) for part in re.split(r"\{[^{}]*\}", hint.replace("{{", "{").replace("}}", "}").replace('\\"', '"')))


# Why no row of FOLLOWED leads to a hint, and what tests it instead: the hints.
NOT_FOLLOWED = {
    "of files of other tools: done in tests/interop/test_tfrecord_dialects.py, test_set_index.py": (
        "or pass --rename {}, for the names of TensorFlow's image sets",
        "move it to another folder; 'shale index' then looks at the files again",
    ),
    "of Parquet files of others: done in tests/interop/test_parquet_hub_folders.py, test_parquet_foreign.py": (
        "write it again with another codec: python3 -c \\\"import pyarrow.parquet as q; q.write_table(q.read_table('{}'), 'x.parquet')\\\" && shale info x.parquet",
        "name the files of one, as in 'shale info \\\"{}\\\"'; 'shale convert' makes a dataset of each",
        "name the files of one split, as in 'shale info \\\"{}\\\"'",
        "name one of them, as in 'shale info {}'",
        "leave out --sample: the whole file is read then",
    ),
    "of tar archives of samples: done in tests/interop/test_webdataset_foreign.py": (
        "restore it from an intact copy; if it is compressed, decompress it; 'shale convert {} OUT --to record --parse webdataset --on-error skip' takes what is whole of an archive of samples",
    ),
    "of tar shards: done in tests/interop/test_webdataset_written.py, tests/cli/cases/convert_ignored.txt": (
        "pass --layout {}, or rename one of the two in the source",
        "readers of tar shards take them for one; choose another name: --rename",
        "choose a format without this limit, such as --to record, or shorter keys",
    ),
    "of parts, lists of findings and of checksums: done in tests/interop/test_sums.py": (
        "run '{}' to make them, or leave out --sample",
        "choose another --report",
        "pass --export sha256sum",
        "run 'shale verify {}' to see what is damaged",
    ),
    "needs a stream, a dataset that is appended to, or files of many arrays (tests/interop/test_pair_patterns.py)": (
        "pass --shard-samples, or leave it out",
        "pass --shard-samples, or unpack the archive",
        "pass --pairs bytes to take every file as the bytes that it is",
        "save one of the two under another name, or pass --pairs bytes to take every file as the bytes that it is",
        "save them as dense arrays in C order (of tensors: x.contiguous()), or pass --pairs bytes to take every file as the bytes that it is",
        "leave it out of --label-column: only values without parts are taken",
    ),
    "needs tars with odd names, which tests/interop/test_native_indexes.py writes": (
        "names of up to 100 bytes that every reader takes: 'shale convert TAR... OUT --to webdataset', if keys are short; or leave this index out",
        "name one or more of them: --native wids,dali",
        "run 'shale index' twice: with --native, and without",
        "pass --to webdataset, or leave out --native",
    ),
    "needs many gray images beside one with colors (tests/interop/test_raw_pixels.py)": ("pass --color gray or --color rgb for all",),
    "needs files of numbers without a header, which tests/interop/test_raw_numbers.py writes": (
        "check the type and the length of a row in --raw, and the bytes before the first row in --raw-offset; else the file was truncated",
        ", and --on-error skip takes the rows that are whole",
        "leave out --raw; or pass --raw-offset BYTES as well, to read what is behind its header",
        "if it holds numbers without a header, pass --raw with their type, and the length of a row: --raw uint16,400",
        "leave it out, or pass --raw with the type of the numbers",
    ),
    "of splits by groups, and of labels in names: done in tests/cli/cases/convert_label_fields.txt, convert_label_names.txt": (
        "none of them is: name the samples of each part in a file, --split train=FILE,val=FILE",
        "pass --split-group with one of: ",
    ),
    "needs archives of files, which tests/interop/test_zip_archives.py writes": ("run 'shale convert {} OUT --to {}",),
    "needs samples without an image or with several, of an input with names": ("name the field of the images with --fields",),
    "needs files that other writers make, or is told by shale.Dataset (tests/interop/test_set_index.py)": (
        "'shale convert' reads the set",
    ),
    "needs files with class names, which h5py writes (tests/interop/test_file_sets.py)": (
        "the files of a set must number their classes alike; convert this file on its own, or all of them without 'label', by naming the other fields with --fields",
    ),
    "needs named databases, feature lists or episodes, which others write (tests/interop/test_lmdb_keys.py, test_tfrecord_dialects.py, test_tfds_written.py)": (
        "name one database, or leave out --parse: several are joined by key",
        "'shale convert' takes it by itself, without --parse: each value becomes a sample",
        "name one database, or leave out --parse: each value is then one field",
        "run 'shale info {} --database {}'{}",
        "pass --parse plain: each record is then one field of bytes, 'value'",
        "leave out --parse episodes: each record is then a sample",
        "'shale convert {} OUT --to record --parse episodes' makes samples of them",
    ),
    "needs an index that was copied under another name (test_one_file.py follows it)": (
        "move {0}.{1}, {0}{2} and {0}{3} away: it is read without them, and 'shale index' makes others",
    ),
    "needs a damaged source, parts, or values of several kinds (test_repair_kinds.py, test_against.py, tests/interop/test_hdf5_reader.py, test_tensor_files.py)": (
        "pick one of them: --fields {}",
        "choose --to record, lmdb or hdf5, or leave the field out: --fields",
        "pass the --split and the --seed that it was converted with; if these are the same, the source has changed: pass it as it was, or a copy of the dataset",
        "'shale merge {} OUTPUT' joins them; or name one of them: {}",
        "run 'shale verify {}' to list what is damaged there",
        "'shale convert' takes the datasets that belong together with --fields, or one dataset per sample with --parse samples; 'shale info' prints the commands",
        "the source is damaged: 'shale verify {}' lists what",
    ),
    "needs a file that another library or tool writes (tests/interop, test_archives.py, test_streams.py)": (
        "unpack the archive where the link leads somewhere and convert the folder, or make the archive again without links: 'tar --dereference', or 'zip' without -y",
        ", or compress it again without --long and --ultra",
        "decompress it on the way: '{} -dc FILE | shale convert - OUTPUT ...'",
        "list what it holds with 'tar --list'",
        "run 'shale convert {} OUT --to FORMAT'",
        "'shale convert' makes one sample of it with --parse samples, and one of each row with --parse episodes",
        "the files of a set must have the same datasets, types and shapes; make one sample of each file with --parse samples",
        "take the fields that are the same in both with 'shale convert': --fields {}; or make one sample of each file with --parse samples",
        "name the datasets that you need with --fields",
        "take one of the two, by its path: --fields {}",
        "pass them to 'shale convert', info, ls, cat, verify or report; or index each file on its own",
        "what a field holds has one type and one number of axes in all groups: leave it out with --fields",
        "'shale convert' reads a group or a dataset per sample with --parse samples; else store one dataset per field, with the samples as its first dimension",
        "'shale convert' reads the list if the datasets are chunked or compressed; what has values of different lengths is converted file by file, with --append",
        "choose other fields with --fields, or write .npy or .npz",
        "name the other fields with --fields",
        "they may be samples, which 'shale convert' reads with --parse samples, or columns of one table, which it takes with --fields",
        "'shale convert' takes those of one with --fields; 'shale info' prints the commands",
        "'shale info' lists the datasets",
        "leave out --axis",
        "the files of a set must number their classes alike; convert this file on its own, or all of them without 'label', by naming the other fields with --fields",
        "'shale convert --fields' reads those that belong together",
        "archives that were joined by cat end with the first for most tools: divide the file here, or join them with 'tar --concatenate'",
        "leave it out with --fields, or choose another format",
        "choose --to record or lmdb, or leave the field out: --fields",
        "'shale convert' reads it, unpacked in a temporary folder; or rewrite it in one piece: h5repack -f NONE -l CONTI OLD.h5 NEW.h5",
        "convert the image to one of these, or choose --layout vlen, which keeps what it is",
        "restore the file from an intact copy; --parse plain reads the values as they are",
        "choose one: --parse {}",
    ),
    "needs an input that changes, or a run that was stopped (test_resume.py, test_resume_refused.py, test_streams.py)": (
        "send the same stream again, or pass --overwrite to start again with this one",
        "write none behind them, append them, or pass --overwrite",
        "restore it and run the same command again, or pass --overwrite to start again with the input as it is now",
        "restore the file as it was (size and time of modification), or pass --overwrite to start again with the input as it is now",
        "make it again; of an unfinished run: pass --overwrite to start again",
        "wait until nothing writes to it, then run the same command again, or pass --overwrite to start again with the archive as it is now",
        "pass --overwrite to discard that run and start again",
        "finish it with that version, or pass --overwrite to discard it",
        "run that command again to finish it, or pass --overwrite to discard it",
    ),
    "needs little memory, a full disk or a limit of the process (test_environment.py, test_limits.py, test_bad_output.py)": (
        "pass a larger --memory, or compress it again without --long and --ultra",
        "raise --memory, or divide the video",
        "pass a larger --memory; at most 512 KiB of a row fit",
        "no --memory helps: leave out its largest column, of annotations with --label-column",
        "raise --memory, or leave its largest member out of --label-column",
        "raise --memory",
        "remove files from this file system, choose another one, or write fewer files with a larger --shard-size",
        "raise the limit (ulimit -f); where shards are written, --shard-size makes smaller files",
        "use --io auto or --io buffered",
        "pass integer labels with --labels, or a larger --memory",
        "raise --memory, or name the samples of each list in files",
        "pass a larger --memory if you trust it",
        "pass a larger --memory: at least four times the size of a chunk",
        "pass a smaller --memory or fewer --jobs, or raise the limit (ulimit -v, cgroup)",
    ),
    "needs another user, a terminal, a job array or a FIFO (test_whose.py, tests/slurm)": (
        "pass --index-dir with a directory that can be written to",
        "send the input there: 'curl URL | shale convert - OUT ...'",
        "pass --part slurm/N with the number of all parts: task I then makes part I",
        "redirect stdout to a file or a pipe, or pass --json to see what the sample contains",
    ),
    "needs damage that other checks find first, or a program that reads rows (test_damage.py, tests/interop/test_dataset_errors.py)": (
        "'shale verify' names the blocks that changed",
        "run 'shale verify' on the input to locate the damage",
        "run 'shale verify' on the input to list all the damage",
        "run 'shale verify' to list every damaged block, and the rows in it",
        "run 'shale verify' to find out which of the two is damaged",
        "write it again with 'shale convert ... --overwrite', or restore it from an intact copy",
    ),
    "needs values or lists of gigabytes, or of very many columns": (
        "keep what is used in training, or pass --pairs off to leave all out",
        "convert it, and read the result: shale convert {} OUT --to record",
        "write shards: choose an output without a suffix, and pass --to",
        "leave the sample out, or choose a format without this limit: --to hdf5",
        "choose a format without this limit, such as --to hdf5, or leave the sample out",
        "divide the list, and convert the lists one after the other with --append",
    ),
    "needs images or tables that are odd in one way more (tests/interop/test_image_depth.py, tests/unit/folders)": (
        "pass --depth 16 for raw values of uint16, or --encode png for masks",
        "pass --masks {} if it is a mask, or leave its files out",
        "pass --encode png, or convert the images one by one",
        "remove or rename one of the two, or pass --pairs off",
        "rename the files with one of the two suffixes, or pass --pairs off",
        "rename the files with this suffix, or pass --pairs off",
        "partners share the part of the name before the first dot; rename the files, or pass --pairs off",
        "write one with the rows of all, or pass --pairs off to leave them out",
        "rename the column, or pass --pairs off to leave all out",
        "save all as one type with as many axes, or pass --pairs bytes, which takes every file as the bytes that it is",
        "' has an array that can be read; pass --pairs bytes to take every file as the bytes that it is, or --pairs off to leave out those beside images",
        "pass --classes-from with all classes, or leave it out",
    ),
    "needs a request that only a program makes, or an input that the command line refuses before (tests/unit)": (
        "pick others with --fields",
        "choose another name: --rename",
        "shards that 'shale convert' wrote are read by the directory they are in",
        "make the label one of the classes', or leave the sample out with --exclude",
        "pass --keys rows, or --keys raw for keys",
        "leave out --rows: the list determines how many",
        "it was written by {}; 'shale formats' lists what this one reads",
        "convert the folder of frames with --group frames",
        "--json lists the fields that it has",
        "this version reads image folders, flat folders with --labels, .tar and .zip archives of both, arrays (.npy, .npz, .pt, .safetensors, idx, pickled ones), shale datasets, and LMDB, HDF5, TFRecord, Parquet and WebDataset files",
    ),
}
