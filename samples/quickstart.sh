#!/usr/bin/env bash
# From nothing to a verified dataset on a Debian 12 machine: installs what is missing, builds shale, packs an image folder,
# flips one bit in a copy and lets shale find it.
#   samples/quickstart.sh [FOLDER]     FOLDER: class folders with images; without it, a small one is generated
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
photos=
if (($#)); then
  photos=$(realpath "$1")
fi
cd "$root"
work=build/quickstart
log=build/quickstart/build.log

say() {
  printf '\n# %s\n' "$1"
}

# Shows a command, runs it, and insists on one of the exit codes before the "--".
run() {
  local -a allowed=()
  local code=0
  while [[ $1 != -- ]]; do
    allowed+=("$1")
    shift
  done
  shift
  printf '$ %s\n' "$*"
  "$@" || code=$?
  if [[ " ${allowed[*]} " != *" $code "* ]]; then
    printf "quickstart: '%s' ended with exit code %d, expected %s\n" "$*" "$code" "${allowed[*]}" >&2
    exit 1
  fi
}

# Quiet when it works; the whole log when it does not.
build() {
  if ! { cmake --preset release -DSHALE_TESTS=OFF && cmake --build --preset release --target shale make_images --parallel "$(nproc)"; } \
    >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
}

mkdir -p "$work"
tests/install-deps.sh --program
printf '# building shale (a few minutes the first time, seconds after that)\n'
build
PATH=$root/build/release:$PATH

# Only what this script made is removed: a second run tells the same story.
rm -rf "$work"/{dataset,lmdb,hdf5,damaged,train.lmdb*}
if [[ -z $photos ]]; then
  say "generate 200 JPEGs in five class folders"
  rm -rf "$work/photos"
  photos=$work/photos
  run 0 -- make_images "$photos"
fi

say "pack them into shards, with an index, block hashes and a manifest: TFRecord, LMDB, HDF5"
run 0 4 -- shale convert "$photos" "$work/dataset" --to record
run 0 4 -- shale convert "$photos" "$work/lmdb" --to lmdb --quiet
run 0 4 -- shale convert "$photos" "$work/hdf5" --to hdf5 --quiet

say "show what the dataset holds"
run 0 -- shale info "$work/dataset"

say "check that every byte is as written, and that every source file is in it"
run 0 -- shale verify "$work/dataset" --against "$photos"

say "the other two hold the same samples, by their digests"
run 0 -- shale verify "$work/lmdb" --against "$work/dataset"
run 0 -- shale verify "$work/hdf5" --against "$work/dataset"

say "index an LMDB file; shale index also reads files that other tools wrote"
run 0 -- cp "$work/lmdb/shard-000000.lmdb" "$work/train.lmdb"
run 0 -- shale index "$work/train.lmdb"

say "flip one bit in a copy: shale reports where"
run 0 -- cp -r "$work/dataset" "$work/damaged"
run 0 -- python3 samples/flip_bit.py "$work/damaged/shard-000000.tfrecord"
run 3 -- shale verify "$work/damaged"

cat <<END

# next
your own photos:   samples/quickstart.sh FOLDER
the whole tool:    build/release/shale --help
six lines of Python that read any sample:  docs/index.md
PyTorch:           pip install . && python samples/train_resnet.py build/quickstart/dataset   (docs/python.md)
LMDB and HDF5 files you already have:      docs/foreign.md
all tests:         tests/run.sh
END
