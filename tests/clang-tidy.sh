#!/usr/bin/env bash
# Checks lib, formats, tools and python/bindings with clang-tidy and the checks of .clang-tidy: tests/clang-tidy.sh [half]
# half: the folders that the last ten commits changed, and every second one of the others, from where SHALE_TEST_SEED says (.ci/run).
# Builds nothing. The preset tidy joins the files of a folder into one, so that the headers are read once: minutes become one.
# SHALE_PEERS names the Python environment with nanobind (build/peers: tests/install-deps.sh --peers).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
peers=${SHALE_PEERS:-$root/build/peers}

cmake --preset tidy -DSHALE_PYTHON=ON "-DPython_EXECUTABLE=$peers/bin/python" >/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# nanobind's own sources are in the list too.
mapfile -t units < <(sed -nE 's/^ *"file": "(.*\/(CMakeFiles\/shale[a-z_]*\.dir|tools)\/.*)",?$/\1/p' build/tidy/compile_commands.json)
if [[ ${1-} == half ]]; then
  mapfile -t changed < <(git log -10 --name-only --pretty= -- '*.cpp' && git diff --name-only HEAD -- '*.cpp')
  mapfile -t units < <(
    printf '%s\n' "${units[@]}" | awk -v seed="${SHALE_TEST_SEED:-0}" 'NR % 2 == seed % 2'
    printf '%s\n' "${changed[@]}" | grep . | grep -lFf - "${units[@]}"
  )
fi
if ! printf '%s\n' "${units[@]}" | sort -u | xargs -P "$(nproc)" -n 1 clang-tidy -p build/tidy -quiet >"$log" 2>&1; then
  grep -v ' warnings generated' "$log"
  exit 1
fi
