#!/usr/bin/env bash
# Checks lib, formats, tools and python/bindings with clang-tidy and the checks of .clang-tidy: tests/clang-tidy.sh [some]
# some: every sixth folder, from where SHALE_TEST_SEED says, and up to three that the last ten commits changed (.ci/run).
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
if [[ ${1-} == some ]]; then
  # A clone without its history has no HEAD~10, and nothing counts as changed there.
  mapfile -t changed < <(git diff --name-only HEAD~10 -- '*.cpp' 2>/dev/null)
  mapfile -t units < <(
    printf '%s\n' "${units[@]}" | awk -v seed="${SHALE_TEST_SEED:-0}" 'NR % 6 == seed % 6'
    printf '%s\n' "${changed[@]}" | grep . | grep -lFf - "${units[@]}" | shuf -n 3 --random-source=<(yes "${SHALE_TEST_SEED:-0}")
  )
fi
if ! printf '%s\n' "${units[@]}" | sort -u | xargs -P "$(nproc)" -n 1 clang-tidy -p build/tidy -quiet >"$log" 2>&1; then
  grep -v ' warnings generated' "$log"
  exit 1
fi
